package ir_test

import (
	"fmt"
	"os"

	"ferrum_mem/core/ir"
)

func Example() {
	text, err := os.ReadFile("testdata/example.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := ir.Parse(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	shapes, err := m.Infer(map[string]uint64{"batch": 2, "sequence": 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, at := range shapes.Graph.Order {
		fmt.Println(m.Graph.Nodes[at].ID, shapes.Nodes[at].Outputs[0])
	}

	m.Layers[2].Type = "ferrum.liner"
	for _, issue := range m.Validate() {
		fmt.Println(issue.Severity, issue.ConfigPath, issue.SuggestedFix)
	}
	// Output:
	// ids i64[2, 5]
	// embedded f32[2, 5, 8]
	// product f32[2, 5, 4]
	// probabilities f32[2, 5, 4]
	// error layers[2].layer_type use "ferrum.linear"
}
