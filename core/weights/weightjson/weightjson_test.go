package weightjson_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
	"ferrum_mem/core/weights/weightjson"
	"ferrum_mem/tests/mutation"
)

func TestDescriptionsAreInTheOrderOfTheFile(t *testing.T) {
	tensors, texts, err := weightjson.ParseDescription("text", []byte(`{
		"tensors": {"Last": {"dtype": "u8", "shape": [2], "offset_bytes": 9},
			"First": {"dtype": "bf16", "shape": [], "offset_bytes": 3, "is_big_endian": true}},
		"texts": {"Key": "Value"}}`))
	require.NoError(t, err)
	assert.Equal(t, []header.Tensor{
		{Name: "First", Type: dtype.BF16, Shape: []uint64{}, Offset: 3, IsBigEndian: true},
		{Name: "Last", Type: dtype.U8, Shape: []uint64{2}, Offset: 9},
	}, tensors)
	assert.Equal(t, map[string]string{"Key": "Value"}, texts)
}

func TestRefusedTextsNameTheirArgument(t *testing.T) {
	for text, says := range map[string]string{
		`{"tensors": {"a": {"dtype": "u8", "Shape": []}}}`: `"Shape"`,
		`{"tensors": {"a": {}, "a": {}}}`:                  `"a" twice`,
		`{"texts": {"a": 1}}`:                              "text is wrong",
		`null x`:                                           "goes on after its end",
		strings.Repeat("[", 17):                            "more than 16",
		"\xff":                                             "UTF-8",
		`{"texts": `:                                       "the text ends there",
	} {
		_, _, err := weightjson.ParseDescription("text", []byte(text))
		require.ErrorIs(t, err, device.CodeInvalidArgument, text)
		assert.Contains(t, err.Error(), says)
		assert.Contains(t, err.Error(), "text ")
	}
	_, err := weightjson.ParseOrder("text", make([]byte, weightjson.MaxBytes+1))
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	assert.Contains(t, err.Error(), "at most 16 MiB")
}

// A cast and the type of a result may have blocks; the type of all floating-point tensors may not.
func TestOrdersOfBlocks(t *testing.T) {
	q80, _ := dtype.GGUF(8)
	order, err := weightjson.ParseOrder("text", []byte(`{"tensors": [{"name": "a", "dtype": "q8_0", "transformations": [{"kind": "cast", "dtype": "q8_0"}]}]}`))
	require.NoError(t, err)
	specs, err := order.Specs(nil, make([]weights.Memory, 1))
	require.NoError(t, err)
	assert.Equal(t, q80, *specs[0].Type)
	assert.Equal(t, q80, specs[0].Transformations[0].Type)
	for _, text := range []string{`{"float_dtype": "q8_0"}`, `{"tensors": [{"name": "a", "dtype": "q8"}]}`} {
		_, err := weightjson.ParseOrder("text", []byte(text))
		require.ErrorIs(t, err, device.CodeInvalidArgument)
		assert.ErrorContains(t, err, "which is not a dtype")
	}
}

func FuzzOrders(f *testing.F) {
	f.Add([]byte(`{"include": ["a*"], "transformations": [{"kind": "slice", "dim": 0, "end": 3}]}`))
	f.Add([]byte(`{"tensors": [{"name": "a", "into": {"address": 1, "size_bytes": 2}}]}`))
	f.Fuzz(mutation.Also(func(t *testing.T, text []byte) {
		if order, err := weightjson.ParseOrder("text", text); err != nil {
			require.ErrorIs(t, err, device.CodeInvalidArgument)
		} else {
			require.NotNil(t, order)
		}
	}))
}
