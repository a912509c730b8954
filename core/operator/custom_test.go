package operator_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

// stated is an operator of a program that returns stated outputs.
type stated struct {
	outputs []operator.Value
	err     error
	config  []byte
}

func (s *stated) Defaults() map[string]json.RawMessage {
	return map[string]json.RawMessage{"factor": json.RawMessage("2"), "kept": json.RawMessage(`"a"`)}
}

func (s *stated) Infer(config []byte, _ []operator.Value, _ []bool) ([]operator.Value, error) {
	s.config = config
	return s.outputs, s.err
}

func (s *stated) Parameters([]byte) ([]byte, error) { return nil, nil }

func (s *stated) Initialize([]byte, string, operator.Value, device.Addr) error { return nil }

// vocabulary has operators by their full names.
type vocabulary map[string]*operator.Schema

func (v vocabulary) Find(domain, name string) *operator.Schema {
	return v[operator.FullName(domain, name)]
}

func (v vocabulary) Names() (names []string) {
	for name := range v {
		names = append(names, name)
	}
	return names
}

func TestOperatorsOfAProgramAreFound(t *testing.T) {
	own := vocabulary{"mine.scale": operator.NewCustom("mine", "scale", 1, &stated{})}
	found, err := operator.FindIn(own, "mine", "scale", 0)
	require.NoError(t, err)
	assert.Equal(t, "mine.scale", found.FullName())
	for _, known := range []operator.Vocabulary{nil, own, vocabulary{}} {
		_, err := operator.FindIn(known, "", "MatMul", 0)
		require.NoError(t, err)
		_, err = operator.FindIn(known, "ferrum", "linear", 0)
		require.NoError(t, err)
		_, err = operator.FindIn(known, "other", "scale", 0)
		require.ErrorIs(t, err, device.CodeNotFound)
	}
	_, err = operator.FindIn(own, "mine", "scales", 0)
	require.ErrorIs(t, err, device.CodeNotFound)
	require.ErrorContains(t, err, `"mine.scale"`)
	_, err = operator.FindIn(own, "mine", "scale", 2)
	require.ErrorIs(t, err, device.CodeUnsupported)
}

func TestNamesOfOperatorsOfAProgram(t *testing.T) {
	for _, full := range []string{"mine.scale", "a.b.c-d_E.1"} {
		require.NoError(t, operator.CheckCustomName(full))
	}
	for _, full := range []string{"", "scale", ".scale", "mine.", "ferrum.x", "ai.onnx.x", "a b.c", "ä.b", "a." + string(make([]byte, 200))} {
		require.ErrorIs(t, operator.CheckCustomName(full), device.CodeInvalidArgument, full)
	}
}

func TestAConfigurationReplacesFieldsOfTheDefaults(t *testing.T) {
	own := &stated{outputs: make([]operator.Value, 1)}
	schema := operator.NewCustom("mine", "scale", 1, own)
	o, err := schema.Prepare([]byte(` {"factor": [1, {"a": null}], "more": true}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"factor": [1, {"a": null}], "kept": "a", "more": true}`, string(o.Config()))
	text, err := o.AttributesJSON()
	require.NoError(t, err)
	require.Equal(t, o.Config(), text)
	_, err = o.Infer([]operator.Value{{Type: dtype.F32}}, nil)
	require.NoError(t, err)
	require.Equal(t, o.Config(), own.config)
	for _, wrong := range []string{"[]", "1", "null", "{", "{} {}", `{"a": nan}`, "\xff"} {
		_, err := schema.Prepare([]byte(wrong))
		require.ErrorIs(t, err, device.CodeInvalidArgument, wrong)
	}
}

func TestWhatAnOperatorOfAProgramInfersIsChecked(t *testing.T) {
	x := operator.Value{Type: dtype.F32, Shape: []uint64{2, 3}}
	infer := func(outputs []operator.Value, inputs []operator.Value, wanted []bool) ([]operator.Value, error) {
		o, err := operator.NewCustom("mine", "scale", 2, &stated{outputs: outputs}).Prepare(nil)
		require.NoError(t, err)
		found, err := o.Infer(inputs, wanted)
		if err != nil {
			return nil, err
		}
		return found.Outputs, nil
	}
	two := []operator.Value{x, {Type: dtype.I64}}
	found, err := infer(two, []operator.Value{x, {IsAbsent: true}}, nil)
	require.NoError(t, err)
	require.Equal(t, "f32[2, 3]", found[0].String())
	found, err = infer([]operator.Value{x, {Type: 12345}}, []operator.Value{x}, []bool{true, false})
	require.NoError(t, err)
	require.True(t, found[1].IsAbsent, "an output that is not wanted is not checked")
	huge := operator.Value{Type: dtype.F32, Shape: []uint64{math.MaxInt64, 8}}
	for _, wrong := range []struct {
		code           device.Code
		output, input  operator.Value
		inputs, wanted int
	}{
		{device.CodeInvalidArgument, operator.Value{Type: 12345}, x, 1, 1},
		{device.CodeInvalidArgument, operator.Value{Shape: make([]uint64, 9)}, x, 1, 1},
		{device.CodeOverflow, huge, x, 1, 1},
		{device.CodeOverflow, x, huge, 1, 1},
		{device.CodeInvalidArgument, x, x, 0, 1},
		{device.CodeInvalidArgument, x, x, 5000, 1},
		{device.CodeInvalidArgument, x, x, 1, 3},
		{device.CodeInternal, x, x, 1, 2},
	} {
		inputs, wanted := make([]operator.Value, wrong.inputs), make([]bool, wrong.wanted)
		for i := range inputs {
			inputs[i] = wrong.input
		}
		for i := range wanted {
			wanted[i] = true
		}
		_, err := infer([]operator.Value{wrong.output}, inputs, wanted)
		require.ErrorIs(t, err, wrong.code, "%v", wrong)
		require.ErrorContains(t, err, "scale")
	}
}
