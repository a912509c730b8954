package reference

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

type onnxCall struct {
	Operator   string          `json:"operator"`
	Opset      int             `json:"opset"`
	Attributes json.RawMessage `json:"attributes"`
	Wanted     int             `json:"wanted"`
	Inputs     []*struct {
		Type  int32    `json:"type"`
		Shape []uint64 `json:"shape"`
		Known []int64  `json:"known"`
	} `json:"inputs"`
	Error   string      `json:"error"`
	Outputs []*[]uint64 `json:"outputs"`
}

// infer returns the shapes of a call.
func (c *onnxCall) infer(t *testing.T) ([]operator.Value, error) {
	t.Helper()
	schema, err := operator.Find(operator.ONNX, c.Operator, c.Opset)
	require.NoError(t, err)
	op, err := schema.Prepare(c.Attributes)
	if err != nil {
		return nil, err
	}
	kinds := map[int32]dtype.DType{1: dtype.F32, 7: dtype.I64, 9: dtype.Bool}
	var inputs []operator.Value
	for _, in := range c.Inputs {
		if in == nil {
			inputs = append(inputs, operator.Value{IsAbsent: true})
			continue
		}
		inputs = append(inputs, operator.Value{Type: kinds[in.Type], Shape: in.Shape, Known: in.Known})
	}
	wanted := make([]bool, c.Wanted)
	for i := range wanted {
		wanted[i] = true
	}
	result, err := op.Infer(inputs, wanted)
	if err != nil {
		return nil, err
	}
	return result.Outputs, nil
}

// stricter has parts of the messages of calls that the inference of ONNX accepts: it does not check
// all that the standard states, or it leaves the check to the computation.
var stricter = []string{
	"does not have the number of elements of shape", // Reshape
	"a size is negative",                            // Expand
	"does not broadcast to",                         // the norms, Gemm, masks
	"do not fit: the inner dimensions",              // Gemm
	"is out of range",                               // the norms, scalars
	"occurs twice",
	"axes: input",
	"at most 8 are possible",
	"a step is 0",
	"K is ",
	"there is no largest element",
	"dimensions: expected ",
	"has another shape than",
	"elements of a head are rotated",
	"does not divide them",
	"must be given together",
	"past and present are not possible",
	"only the last output may be smaller",
	"have different ",
	"have heads of ",
	"must be a multiple of the second",
	`attribute "num_heads"`,
}

// For random calls the shapes are those that ONNX infers, and what ONNX rejects is rejected. The seed
// is fixed: for some wrong calls ONNX ends the process.
func TestShapesOfONNX(t *testing.T) {
	t.Parallel()
	const seed = "1"
	folder := t.TempDir()
	script(t, python(t, "onnx", "numpy"), "onnx_shapes.py", append([]string{folder, seed}, operator.Names(operator.ONNX)...)...)
	text, err := os.ReadFile(filepath.Join(folder, "calls.json"))
	require.NoError(t, err)
	var list struct {
		Calls []onnxCall `json:"calls"`
	}
	require.NoError(t, json.Unmarshal(text, &list))
	rejected, equal := 0, map[string]int{}
	for _, c := range list.Calls {
		outputs, err := c.infer(t)
		inputs, _ := json.Marshal(c.Inputs)
		described := fmt.Sprintf("%s at opset %d %s %s", c.Operator, c.Opset, c.Attributes, inputs)
		if c.Error != "" {
			rejected++
			assert.Error(t, err, "%s: ONNX rejects: %s", described, c.Error)
			continue
		}
		if err != nil {
			isStricter := slices.ContainsFunc(stricter, func(part string) bool { return strings.Contains(err.Error(), part) })
			assert.True(t, isStricter, "%s: ONNX accepts: %s", described, err)
			continue
		}
		for i, o := range c.Outputs {
			if o != nil && assert.Equal(t, fmt.Sprint(*o), fmt.Sprint(outputs[i].Shape), described) {
				equal[c.Operator]++
			}
		}
	}
	assert.Greater(t, rejected, 1000)
	for _, name := range operator.Names(operator.ONNX) {
		assert.Greater(t, equal[name], 20, "%s", name)
	}
}
