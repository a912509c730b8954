package header

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func TestIndex(t *testing.T) {
	index, err := ReadIndex(fromMemory("f", []byte(`{"metadata": {"total_size": 1.5e3, "a": [null, true, {"b": "}"}]},
		"weight_map": {"x": "2.bin", "y": "1.bin", "z": "2.bin"}}`)))
	require.NoError(t, err)
	assert.Equal(t, []string{"2.bin", "1.bin"}, index.Files)
	assert.Equal(t, map[string]int{"x": 0, "y": 1, "z": 0}, index.FileOf)
}

func TestRefusedIndexes(t *testing.T) {
	for text, says := range map[string]string{
		`{"weight_map": {"x": "../2.bin"}}`:               "not the name of a file beside",
		`{"weight_map": {"x": "a/b"}}`:                    "not the name of a file beside",
		`{"weight_map": {"x": ""}}`:                       "not the name of a file beside",
		`{"weight_map": {"x": "a", "x": "b"}}`:            `weight_map."x": the key occurs twice`,
		`{"weight_map": {}, "weight_map": {}}`:            "weight_map occurs twice",
		`{"weight_map": {}}`:                              "names no file",
		`{"a": 1}`:                                        "weight_map is missing",
		`{"a": 01, "weight_map": {"x": "a"}}`:             "no value",
		`{"a": nul, "weight_map": {"x": "a"}}`:            "no value",
		`{"weight_map": {"x": 3}}`:                        `expected '"'`,
		`{"weight_map": {"x": "a"}} 1`:                    "something follows",
		`{"a": ` + strings.Repeat("[", 100):               "in fewer than 64 levels",
		"{\"weight_map\": {\"\xff\": \"a\"}}":             "is not UTF-8",
		`{"a": "` + "\n" + `", "weight_map": {"x": "a"}}`: "control sign",
		`{"a": "\q", "weight_map": {"x": "a"}}`:           "unknown escape",
		`{"a": "\u12", "weight_map": {"x": "a"}}`:         "four digits",
		`{"a": "` + strings.Repeat("x", 3):                "does not end",
		`{"a" 3}`:                                         "expected ':'",
		`{"a": 3 "b": 4}`:                                 "expected ','",
		`[]`:                                              "expected '{'",
	} {
		_, err := ReadIndex(fromMemory("f", []byte(text)))
		require.ErrorIs(t, err, device.CodeInvalidFormat, text)
		assert.ErrorContains(t, err, says, text)
	}
}
