package estimate

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
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
	size := map[string]int{"BOOL": 1, "I8": 1, "F16": 2, "BF16": 2, "I32": 4, "F32": 4, "I64": 8}[dtype]
	for _, n := range shape {
		size *= n
	}
	f.entries[name] = entry{dtype, append([]int{}, shape...), [2]int{f.end, f.end + size}}
	f.end += size
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
		assert.Equal(t, 1, k.Files, "only the files of the index are counted")
		assert.EqualValues(t, 10, k.FloatElements)
	}
	_, err = OpenCheckpoint(writeIndex(t, folder, map[string]string{"a": "../one.safetensors"}))
	assert.Equal(t, device.CodeInvalidFormat, device.CodeOf(err))
	assert.ErrorContains(t, err, "is not the name of a file beside the index")
	_, err = OpenCheckpoint(writeIndex(t, folder, map[string]string{"a": "three.safetensors"}))
	assert.Equal(t, device.CodeNotFound, device.CodeOf(err))
	assert.ErrorContains(t, err, "three.safetensors")

	require.NoError(t, os.Remove(index))
	new(file).add("a", "F32", 1).write(t, folder, "three.safetensors")
	_, err = OpenCheckpoint(folder)
	assert.ErrorContains(t, err, `three.safetensors: "a": the tensor is in `)
}

func TestCheckpointThatIsNotThere(t *testing.T) {
	empty := t.TempDir()
	for _, path := range []string{empty, filepath.Join(empty, "x.safetensors"), filepath.Join(empty, IndexName)} {
		_, err := OpenCheckpoint(path)
		assert.Equal(t, device.CodeNotFound, device.CodeOf(err), path)
	}
	require.NoError(t, os.Mkdir(filepath.Join(empty, "model.safetensors"), 0o700))
	_, err := OpenCheckpoint(empty)
	assert.ErrorContains(t, err, "there is no file of tensors", "a folder of that name holds none")
}
