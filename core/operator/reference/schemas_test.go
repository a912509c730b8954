package reference

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

type onnxParameter struct {
	Name     string   `json:"name"`
	Variable string   `json:"variable"`
	Types    []string `json:"types"`
	Form     string   `json:"form"`
}

type onnxForm struct {
	Operator   string          `json:"operator"`
	Opset      int             `json:"opset"`
	Since      int             `json:"since"`
	Inputs     []onnxParameter `json:"inputs"`
	Outputs    []onnxParameter `json:"outputs"`
	Attributes []struct {
		Name       string `json:"name"`
		Type       string `json:"type"`
		IsRequired bool   `json:"is_required"`
		Default    any    `json:"default"`
	} `json:"attributes"`
}

// onnxTypes returns our types among those of ONNX.
func onnxTypes(names []string) []dtype.DType {
	ours := map[string]dtype.DType{
		"float": dtype.F32, "float16": dtype.F16, "bfloat16": dtype.BF16, "double": dtype.F64,
		"float8e4m3fn": dtype.F8E4M3, "float8e5m2": dtype.F8E5M2, "float8e8m0": dtype.F8E8M0,
		"float4e2m1": dtype.F4E2M1, "int4": dtype.I4, "uint4": dtype.U4, "int8": dtype.I8, "uint8": dtype.U8,
		"int16": dtype.I16, "uint16": dtype.U16, "int32": dtype.I32, "uint32": dtype.U32, "int64": dtype.I64,
		"uint64": dtype.U64, "bool": dtype.Bool,
	}
	var types []dtype.DType
	for _, name := range names {
		if t, is := ours[name]; is {
			types = append(types, t)
		}
	}
	slices.Sort(types)
	return types
}

// The forms of the operators are those of the standard at every opset: names, types, defaults and
// the opset that introduced them.
func TestFormsOfONNX(t *testing.T) {
	t.Parallel()
	interpreter, folder := python(t, "onnx"), t.TempDir()
	script(t, interpreter, "onnx_schemas.py", append([]string{folder}, operator.Names(operator.ONNX)...)...)
	text, err := os.ReadFile(filepath.Join(folder, "schemas.json"))
	require.NoError(t, err)
	var list struct {
		Newest int        `json:"newest"`
		Forms  []onnxForm `json:"forms"`
	}
	require.NoError(t, json.Unmarshal(text, &list))
	assert.GreaterOrEqual(t, list.Newest, operator.NewestOpset)
	compared := map[string]int{}
	for _, form := range list.Forms {
		if form.Opset > operator.NewestOpset {
			continue
		}
		schema, err := operator.Find(operator.ONNX, form.Operator, form.Opset)
		require.NoError(t, err)
		assert.Equal(t, form.Since, schema.Since, "%s at opset %d", form.Operator, form.Opset)
		compareParameters(t, form, form.Inputs, schema.Inputs)
		compareParameters(t, form, form.Outputs, schema.Outputs)
		compareAttributes(t, form, schema)
		compared[form.Operator]++
	}
	for _, name := range operator.Names(operator.ONNX) {
		assert.Positive(t, compared[name], "%s", name)
		for opset := operator.OldestOpset; opset <= operator.NewestOpset; opset++ {
			_, err := operator.Find(operator.ONNX, name, opset)
			inONNX := slices.ContainsFunc(list.Forms, func(f onnxForm) bool { return f.Operator == name && f.Opset == opset })
			assert.Equal(t, inONNX, err == nil, "%s at opset %d", name, opset)
		}
	}
}

func compareParameters(t *testing.T, form onnxForm, standard []onnxParameter, ours []operator.Parameter) {
	t.Helper()
	if !assert.Len(t, ours, len(standard), "%s at opset %d", form.Operator, form.Opset) {
		return
	}
	for i, p := range standard {
		o := ours[i]
		assert.Equal(t, p.Name, o.Name, "%s at opset %d", form.Operator, form.Opset)
		assert.Equal(t, p.Variable, o.Variable, "%s of %s at opset %d", p.Name, form.Operator, form.Opset)
		assert.Equal(t, p.Form == "optional", o.IsOptional, "%s of %s at opset %d", p.Name, form.Operator, form.Opset)
		assert.Equal(t, p.Form == "variadic", o.IsVariadic, "%s of %s at opset %d", p.Name, form.Operator, form.Opset)
		types := o.Types.List()
		slices.Sort(types)
		assert.Equal(t, onnxTypes(p.Types), types, "%s of %s at opset %d", p.Name, form.Operator, form.Opset)
	}
}

// dataTypes are the attributes that ONNX stores as integers and that are numbers of data types.
var dataTypes = []string{"to", "stash_type", "softmax_precision"}

func compareAttributes(t *testing.T, form onnxForm, schema *operator.Schema) {
	t.Helper()
	assert.Len(t, schema.Attributes, len(form.Attributes), "%s at opset %d", form.Operator, form.Opset)
	for _, standard := range form.Attributes {
		at := slices.IndexFunc(schema.Attributes, func(a operator.Attribute) bool { return a.Name == standard.Name })
		if !assert.GreaterOrEqual(t, at, 0, "%s of %s at opset %d", standard.Name, form.Operator, form.Opset) {
			continue
		}
		ours := schema.Attributes[at]
		where := standard.Name + " of " + form.Operator
		assert.Equal(t, standard.IsRequired, ours.IsRequired, where)
		kinds := map[string]operator.Kind{"INT": operator.Int, "FLOAT": operator.Float, "INTS": operator.Ints, "STRING": operator.Text}
		kind := kinds[standard.Type]
		if slices.Contains(dataTypes, standard.Name) {
			kind = operator.DataType
		}
		assert.Equal(t, kind, ours.Kind, where)
		initial := ours.Default
		switch value := initial.(type) {
		case int64:
			initial = float64(value)
		case string:
			if ours.Kind == operator.DataType {
				parsed, err := dtype.Parse(value)
				require.NoError(t, err)
				initial = float64(operator.ONNXNumber(parsed))
			}
		}
		assert.Equal(t, standard.Default, initial, where)
	}
}
