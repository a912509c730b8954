package estimate

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// withHeader returns a file with that header and data bytes of data.
func withHeader(header string, data int) []byte {
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(file, header...), make([]byte, data)...)
}

type entry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// file builds a file with its tensors one after the other, as the format requires.
type file struct {
	entries map[string]any
	end     int
}

func (f *file) add(name, dtype string, shape ...int) *file {
	if f.entries == nil {
		f.entries = map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	}
	size := int(elementBits(dtype))
	for _, n := range shape {
		size *= n
	}
	f.entries[name] = entry{dtype, append([]int{}, shape...), [2]int{f.end, f.end + size/8}}
	f.end += size / 8
	return f
}

func (f *file) bytes(t testing.TB) []byte {
	header, err := json.Marshal(f.entries)
	require.NoError(t, err)
	return withHeader(string(header)+"   ", f.end)
}

func (f *file) write(t testing.TB, folder, name string) string {
	path := filepath.Join(folder, name)
	require.NoError(t, os.WriteFile(path, f.bytes(t), 0o600))
	return path
}

func readBytes(name string, text []byte) ([]Tensor, error) {
	return ReadHeader(name, bytes.NewReader(text), int64(len(text)))
}

func TestHeader(t *testing.T) {
	f := new(file).add("a", "F32", 2, 3).add("b", "BF16").add("empty", "I64", 0).add("c.d", "F4", 2, 2)
	tensors, err := readBytes("m", f.bytes(t))
	require.NoError(t, err)
	assert.ElementsMatch(t, []Tensor{
		{Name: "a", DType: "F32", Dimensions: 2, Elements: 6, Begin: 0, End: 24},
		{Name: "b", DType: "BF16", Elements: 1, Begin: 24, End: 26},
		{Name: "empty", DType: "I64", Dimensions: 1, Begin: 26, End: 26},
		{Name: "c.d", DType: "F4", Dimensions: 2, Elements: 4, Begin: 26, End: 28},
	}, tensors)
	tensors, err = readBytes("m", withHeader("{}", 0))
	require.NoError(t, err)
	assert.Empty(t, tensors)
}

func TestHeaderErrorsNameTheField(t *testing.T) {
	const a = `"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	for name, c := range map[string]struct {
		header string
		data   int
		says   string
	}{
		"empty":             {"", 0, "is not JSON at byte 0"},
		"list":              {"[]", 0, `the header does not begin with "{"`},
		"cut off":           {`{"a":{`, 0, "is not JSON"},
		"trailing":          {`{} {}`, 0, "something follows"},
		"twice":             {`{` + a + `,` + a + `}`, 8, `"a": the key is there twice`},
		"not an object":     {`{"a":[]}`, 0, `a does not begin with "{"`},
		"deep":              {`{"a":` + strings.Repeat(`{"dtype":`, 1000), 0, "a.dtype: is an object and not"},
		"deep list":         {`{"a":{"shape":` + strings.Repeat(`[`, 100000), 0, "a.shape[0]: is an object and not a whole number"},
		"unknown field":     {`{"a":{"dtyp":"F32"}}`, 0, "a.dtyp: is not a field"},
		"field twice":       {`{"a":{"dtype":"F32","dtype":"F32"}}`, 0, "a.dtype: the key is there twice"},
		"no dtype":          {`{"a":{"shape":[2],"data_offsets":[0,8]}}`, 8, "a.dtype: is missing"},
		"no shape":          {`{"a":{"dtype":"F32","data_offsets":[0,8]}}`, 8, "a.shape: is missing"},
		"no offsets":        {`{"a":{"dtype":"F32","shape":[2]}}`, 8, "a.data_offsets: is missing"},
		"odd dtype":         {`{"a":{"dtype":"F31"}}`, 0, `a.dtype: is the text "F31"`},
		"number as dtype":   {`{"a":{"dtype":32}}`, 0, "a.dtype: is the number 32"},
		"shape null":        {`{"a":{"shape":null}}`, 0, `a.shape does not begin with "["`},
		"negative":          {`{"a":{"shape":[2,-1]}}`, 0, "a.shape[1]: is the number -1"},
		"fraction":          {`{"a":{"shape":[2.0]}}`, 0, "a.shape[0]: is the number 2.0"},
		"huge number":       {`{"a":{"shape":[99999999999999999999]}}`, 0, "a.shape[0]: is the number 99999999999999999999"},
		"many dimensions":   {`{"a":{"shape":[` + strings.Repeat("1,", 16) + `1]}}`, 0, "a.shape: has more than 16 entries"},
		"three offsets":     {`{"a":{"data_offsets":[0,8,9]}}`, 8, "a.data_offsets: has more than 2 entries"},
		"one offset":        {`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8]}}`, 8, "a.data_offsets: has 1 entries"},
		"backwards":         {`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8, "a.data_offsets: 8 to 0 do not lie in the 8 bytes"},
		"beyond the file":   {`{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}`, 8, "a.data_offsets: 0 to 16 do not lie in the 8 bytes"},
		"wrong length":      {`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8, "a.data_offsets: 8 bytes, where 3 elements of F32 take 12"},
		"half a byte":       {`{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}`, 2, "a.data_offsets: 2 bytes, where 3 elements of F4 take 12 bits"},
		"overlap":           {`{` + a + `,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12, "b.data_offsets: begins at 4, inside"},
		"same place":        {`{` + a + `,"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8, "data_offsets: begins at 0, inside"},
		"hole":              {`{` + a + `,"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}`, 16, "b.data_offsets: begins at 12, but the tensor before it ends at 8"},
		"hole at the start": {`{"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8, "b.data_offsets: begins at 4, but the tensor before it ends at 0"},
		"data left over":    {`{` + a + `}`, 9, "the tensors end at 8 of the 9 bytes"},
		"empty name":        {`{"":{}}`, 0, "the name of tensor 0 is empty"},
		"metadata":          {`{"__metadata__":{"a":1}}`, 0, "__metadata__.a: is not a text"},
		"metadata null":     {`{"__metadata__":null}`, 0, `__metadata__ does not begin with "{"`},
		"metadata twice":    {`{"__metadata__":{},"__metadata__":{}}`, 0, `"__metadata__": the key is there twice`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readBytes("m.safetensors", withHeader(c.header, c.data))
			assert.Equal(t, device.CodeInvalidFormat, device.CodeOf(err))
			assert.ErrorContains(t, err, "m.safetensors: ")
			assert.ErrorContains(t, err, c.says)
		})
	}
	_, err := readBytes("m", withHeader(`{"a":{"dtype":"F32","shape":[9223372036854775807,4],"data_offsets":[0,0]}}`, 0))
	assert.Equal(t, device.CodeOverflow, device.CodeOf(err))
	assert.ErrorContains(t, err, "m: a.shape: ")
}

func TestHeaderLengthIsNotTrusted(t *testing.T) {
	for _, length := range []uint64{9, 1 << 40, math.MaxInt64, math.MaxUint64} {
		text := append(binary.LittleEndian.AppendUint64(nil, length), "{}      "...)
		_, err := readBytes("m", text)
		assert.Equal(t, device.CodeInvalidFormat, device.CodeOf(err))
		assert.ErrorContains(t, err, "goes beyond the file of 16")
	}
	_, err := readBytes("m", []byte("1234567"))
	assert.ErrorContains(t, err, "m: has 7 bytes, too few")
	// This file of 1 TiB exists only as a reader. ReadHeader allocates nothing for the
	// length that the file states.
	_, err = ReadHeader("m", sparse(MaxHeaderBytes+1), 1<<40)
	assert.ErrorContains(t, err, "the header of 95.37 MiB (100000001 bytes) is longer than 95.37 MiB (100000000 bytes)")
	_, err = ReadHeader("m", failing{}, 100)
	assert.Equal(t, device.CodeIO, device.CodeOf(err))
}

// sparse is a file whose first 8 bytes are its value, followed by zeros.
type sparse uint64

func (s sparse) ReadAt(p []byte, at int64) (int, error) {
	clear(p)
	if at == 0 {
		copy(p, binary.LittleEndian.AppendUint64(nil, uint64(s)))
	}
	return len(p), nil
}

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, os.ErrClosed }

func TestCheckpointCountsWeightsAndBuffersApart(t *testing.T) {
	path := new(file).add("w", "BF16", 10, 10).add("n", "F32", 10).add("position_ids", "I64", 1, 5).
		add("x.rotary_emb.inv_freq", "F32", 4).add("h.0.attn.bias", "F32", 1, 1, 3, 3).add("h.0.attn.c_attn.bias", "F32", 3).
		add("flag", "BOOL", 2).add("q", "I32", 6).write(t, t.TempDir(), "m.safetensors")
	k, err := OpenCheckpoint(path)
	require.NoError(t, err)
	assert.Equal(t, Checkpoint{
		Files: 1, Tensors: 8, FloatElements: 113, FloatBytes: 252, PackedBytes: 24, WeightBytes: 276,
		BufferElements: 5 + 4 + 9 + 2, BufferBytes: 40 + 16 + 36 + 2,
	}, *k)
	assert.False(t, k.Packed())
	assert.True(t, (&Checkpoint{FloatBytes: 1, PackedBytes: 2}).Packed())
}

func writeIndex(t *testing.T, folder string, weights any) string {
	text, err := json.Marshal(map[string]any{"metadata": map[string]int{"total_size": 1}, "weight_map": weights})
	require.NoError(t, err)
	path := filepath.Join(folder, IndexName)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

func TestCheckpointOfSeveralFiles(t *testing.T) {
	folder := t.TempDir()
	new(file).add("a", "F32", 10).write(t, folder, "one.safetensors")
	new(file).add("b", "F32", 20).write(t, folder, "two.safetensors")
	k, err := OpenCheckpoint(folder)
	require.NoError(t, err)
	assert.EqualValues(t, 30, k.FloatElements, "every file, where there is no index")

	index := writeIndex(t, folder, map[string]string{"a": "one.safetensors"})
	for _, path := range []string{index, folder} {
		k, err = OpenCheckpoint(path)
		require.NoError(t, err)
		assert.Equal(t, 1, k.Files, "those of the index, where there is one")
		assert.EqualValues(t, 10, k.FloatElements)
	}
	for says, weights := range map[string]any{
		"weight_map.b: the tensor is not in one.safetensors":           map[string]string{"a": "one.safetensors", "b": "one.safetensors"},
		`weight_map.a: "../one.safetensors" is not the name of a file`: map[string]string{"a": "../one.safetensors"},
		`weight_map.a: "/etc/passwd" is not the name of a file`:        map[string]string{"a": "/etc/passwd"},
		`weight_map.a: ".." is not the name of a file`:                 map[string]string{"a": ".."},
		`weight_map.a: "" is not the name of a file`:                   map[string]string{"a": ""},
		"weight_map.a: is the number 1 and not a text":                 map[string]int{"a": 1},
		"weight_map: is a list and not an object":                      []int{1},
		"weight_map: is missing":                                       nil,
		"weight_map: names no file":                                    map[string]string{},
	} {
		_, err := OpenCheckpoint(writeIndex(t, folder, weights))
		assert.Equal(t, device.CodeInvalidFormat, device.CodeOf(err), says)
		assert.ErrorContains(t, err, IndexName+": "+says)
	}
	_, err = OpenCheckpoint(writeIndex(t, folder, map[string]string{"a": "three.safetensors"}))
	assert.Equal(t, device.CodeNotFound, device.CodeOf(err))
	assert.ErrorContains(t, err, "three.safetensors")

	require.NoError(t, os.Remove(index))
	new(file).add("a", "F32", 1).write(t, folder, "three.safetensors")
	_, err = OpenCheckpoint(folder)
	assert.ErrorContains(t, err, "three.safetensors: a: the tensor is in one.safetensors too")
}

func TestCheckpointThatIsNotThere(t *testing.T) {
	empty := t.TempDir()
	for _, path := range []string{empty, filepath.Join(empty, "x.safetensors"), filepath.Join(empty, IndexName)} {
		_, err := OpenCheckpoint(path)
		assert.Equal(t, device.CodeNotFound, device.CodeOf(err), path)
	}
	require.NoError(t, os.Mkdir(filepath.Join(empty, "model.safetensors"), 0o700))
	_, err := OpenCheckpoint(empty)
	assert.ErrorContains(t, err, "there is no safetensors file", "a folder of that name holds none")
}
