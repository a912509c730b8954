package ir

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/*.json and the example of docs/model_definition.md")

const page = "../../docs/model_definition.md"

// example is the model of the page.
func example() *Model {
	s := newSketch()
	s.Metadata = Metadata{Name: "example", Version: "1", ModelType: "example", Family: FamilyTransformer}
	s.Architecture.Name = "example"
	s.input("ids", "i64[?, ?]", "batch", "sequence")
	s.parameter("table", "f32[16, 8]")
	s.parameter("weight", "f32[4, 8]")
	s.node("embedded", "Gather", "", "f32[?, ?, 8]", "table", "ids")
	s.node("product", "ferrum.linear", "", "f32[?, ?, 4]", "embedded", "weight")
	s.node("probabilities", "Softmax", `{"axis":-1}`, "f32[?, ?, 4]", "product")
	s.Graph.Outputs = []string{"probabilities"}
	for i := range s.Parameters {
		s.Parameters[i].Source = s.Parameters[i].Name
	}
	s.Parameters[1].Initialization = Initialization{Strategy: StrategyNormal, Std: 0.02}
	return &s.Model
}

// The files of testdata are exports of the models of the tests. Tests in other languages read them.
func TestFilesOfTheModels(t *testing.T) {
	for name, m := range map[string]*Model{"example": example(), "small": small(), "full": full()} {
		path, text := "testdata/"+name+".json", exported(t, m)
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		stored, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, text, string(stored), "%s is stale: go test ./core/ir -run Model -update", path)
	}
}

// The example of the page is the export of a valid model, and its table the one that the command prints.
func TestExampleOfThePage(t *testing.T) {
	content, err := os.ReadFile(page)
	require.NoError(t, err)
	m := example()
	require.Empty(t, m.Validate())
	g, err := m.Resolve()
	require.NoError(t, err)
	shapes, err := g.Infer(map[string]uint64{"batch": 2, "sequence": 5})
	require.NoError(t, err)
	text := string(content)
	for _, part := range [][3]string{
		{"<!-- example -->\n```json\n", exported(t, m), "```\n<!-- end -->"},
		{"--dim batch=2 --dim sequence=5\n", string(columns(t, g, shapes)), "```\n\n## Its parts"},
	} {
		head, rest, has := strings.Cut(text, part[0])
		require.True(t, has, part[0])
		_, tail, has := strings.Cut(rest, part[2])
		require.True(t, has, part[2])
		text = head + part[0] + part[1] + part[2] + tail
	}
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(text), 0o644))
		return
	}
	require.Equal(t, text, string(content), "the page is stale: go test ./core/ir -run Page -update")
}

// The schema has exactly the fields, types and names that Parse knows.
func TestSchemaKnowsTheFieldsOfParse(t *testing.T) {
	text, err := os.ReadFile("../../docs/model_definition.schema.json")
	require.NoError(t, err)
	type object struct {
		Required             []string
		AdditionalProperties *bool
		Properties           map[string]struct{ Enum []string }
		Enum                 []string
	}
	var schema struct {
		object
		Definitions map[string]object
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	schema.Definitions["model"] = schema.object
	for name, f := range map[string]*form{
		"model": modelForm, "metadata": metadataForm, "architecture": architectureForm, "dimensions": dimensionsForm, "parameter": parameterForm,
		"part": partForm, "initialization": initializationForm, "layer": layerForm, "tensor": tensorForm, "graph": graphForm, "node": nodeForm, "edge": edgeForm,
	} {
		o := schema.Definitions[name]
		assert.ElementsMatch(t, f.required, o.Required, name)
		var fields []string
		for field := range o.Properties {
			fields = append(fields, field)
		}
		assert.ElementsMatch(t, slices.Concat(f.required, f.optional), fields, name)
		require.NotNil(t, o.AdditionalProperties, name)
		assert.False(t, *o.AdditionalProperties, name)
	}
	assert.ElementsMatch(t, typeNames(), schema.Definitions["dtype"].Enum)
	assert.Equal(t, families(), schema.Definitions["metadata"].Properties["architecture_family"].Enum)
	var strategies []string
	for _, s := range Strategies() {
		strategies = append(strategies, string(s))
	}
	assert.Equal(t, strategies, schema.Definitions["initialization"].Properties["strategy"].Enum)
}
