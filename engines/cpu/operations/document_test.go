//go:build cgo && (amd64 || arm64) && linux

package operations

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

var update = flag.Bool("update", false, "write the table of docs/operators.md")

// The table of the CPU engine in docs/operators.md has the types of the plans: the calls are those that
// TestEveryTypeAndPattern compares with the reference. `go test ./engines/cpu/operations -run Document
// -update` writes it.
func TestDocument(t *testing.T) {
	const path, begin, end = "../../../docs/operators.md", "<!-- cpu engine -->\n", "<!-- end -->"
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	head, rest, has := strings.Cut(string(content), begin)
	require.True(t, has, begin)
	_, tail, has := strings.Cut(rest, end)
	require.True(t, has, end)
	text := head + begin + table(t) + end + tail
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return
	}
	require.Equal(t, text, string(content), "docs/operators.md is stale: go test ./engines/cpu/operations -run Document -update")
}

// table lists for each operator the types of its first input, by the kernels that compute them. A type
// that some calls compute without a general kernel is in the first list.
func table(t *testing.T) string {
	t.Helper()
	e := opened(t, 1)
	text := "| operator | kernels of the instruction sets | only general kernels |\n|---|---|---|\n"
	eachOperator(t, func(t *testing.T, s *operator.Schema) {
		isFast := map[dtype.DType]bool{}
		smallCalls(t, s, func(c call, _ map[string]dtype.DType) {
			c.wanted = nil
			x := c.prepare(t, []pattern{inOrder}, inOrder)
			from := c.inputs[0].Type
			if s.Name == "Cast" && x.request.Outputs[0].Type == from {
				return // a copy
			}
			p, err := e.Plan(x.request)
			require.NoError(t, err)
			isFast[from] = isFast[from] || !p.(*plan).program.IsGeneral()
		})
		var fast, slow []string
		for _, kind := range s.Inputs[0].Types.List() {
			if isFast[kind] {
				fast = append(fast, kind.String())
			} else {
				slow = append(slow, kind.String())
			}
		}
		text += "| " + s.FullName() + " | " + strings.Join(fast, " ") + " | " + strings.Join(slow, " ") + " |\n"
	})
	return text
}
