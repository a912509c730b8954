package weights

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// safetensors returns a file with one-dimensional tensors of bytes. The sizes are given, and each
// tensor has a value of its own.
func safetensors(tensors map[string]int, order []string) []byte {
	entries, at := map[string]any{}, 0
	var data []byte
	for i, name := range order {
		size := tensors[name]
		entries[name] = map[string]any{"dtype": "U8", "shape": []int{size}, "data_offsets": []int{at, at + size}}
		for range size {
			data = append(data, byte(i+1))
		}
		at += size
	}
	text, err := json.Marshal(entries)
	if err != nil {
		panic(err)
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(out, text...), data...)
}

// folder writes files and returns the path of their folder.
func folder(t *testing.T, files map[string][]byte) string {
	t.Helper()
	path := t.TempDir()
	for name, data := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(path, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(path, name), data, 0o600))
	}
	return path
}

func names(s *Source) (list []string) {
	for i := range s.Tensors() {
		list = append(list, s.Tensors()[i].Name)
	}
	return list
}

func opened(t *testing.T, path string) *Source {
	t.Helper()
	s, err := Open(path, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

var (
	one = safetensors(map[string]int{"a": 2, "b": 3}, []string{"a", "b"})
	two = safetensors(map[string]int{"c": 4}, []string{"c"})
)

func TestOpensFilesFoldersAndIndexes(t *testing.T) {
	path := folder(t, map[string][]byte{
		"1.safetensors": one, "2.safetensors": two, "config.json": []byte("{}"),
		"model.safetensors.index.json": []byte(`{"weight_map": {"c": "2.safetensors", "a": "1.safetensors", "b": "1.safetensors"}}`),
	})
	assert.Equal(t, []string{"a", "b"}, names(opened(t, filepath.Join(path, "1.safetensors"))))
	assert.ElementsMatch(t, []string{"a", "b", "c"}, names(opened(t, path)))
	s := opened(t, filepath.Join(path, "model.safetensors.index.json"))
	c, err := s.Find("c")
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(path, "2.safetensors"), c.File())
	assert.Equal(t, uint64(4), c.Size)
	_, err = s.Find("d")
	require.ErrorIs(t, err, device.CodeNotFound)
	// Without an index the source of a folder is all of its files.
	require.NoError(t, os.Remove(filepath.Join(path, "model.safetensors.index.json")))
	assert.Equal(t, []string{"a", "b", "c"}, names(opened(t, path)))
}

func TestOpensRawFilesAndMemory(t *testing.T) {
	path := folder(t, map[string][]byte{"w.bin": make([]byte, 24)})
	s, err := Open(filepath.Join(path, "w.bin"), Options{Raw: &RawShape{Type: dtype.F32, Shape: []uint64{2, 3}}})
	require.NoError(t, err)
	assert.Equal(t, []string{"w"}, names(s), "the name of the file")
	require.NoError(t, s.Close())
	_, err = Open(filepath.Join(path, "w.bin"), Options{Raw: &RawShape{Type: dtype.F32, Shape: []uint64{2, 4}}})
	require.ErrorIs(t, err, device.CodeInvalidFormat)
	s, err = OpenMemory("memory", one, Options{})
	require.NoError(t, err)
	assert.Equal(t, "memory", s.Tensors()[0].File())
	_, err = OpenMemory("memory", one[:len(one)-1], Options{})
	require.ErrorIs(t, err, device.CodeInvalidFormat)
	assert.ErrorContains(t, err, "memory")
}

func TestRefusedSources(t *testing.T) {
	index := func(text string) map[string][]byte {
		return map[string][]byte{"1.safetensors": one, "2.safetensors": two, "model.safetensors.index.json": []byte(text)}
	}
	for name, refused := range map[string]struct {
		files map[string][]byte
		code  device.Code
		says  string
	}{
		"a tensor in two files":                 {map[string][]byte{"1.safetensors": one, "2.safetensors": one}, device.CodeInvalidFormat, "the tensor is in"},
		"a tensor in another file":              {index(`{"weight_map": {"a": "2.safetensors", "b": "1.safetensors"}}`), device.CodeInvalidFormat, `"a": the index has the tensor in another file`},
		"a tensor where it is not":              {index(`{"weight_map": {"a": "1.safetensors", "c": "1.safetensors"}}`), device.CodeInvalidFormat, `"c": the tensor is not in 1.safetensors`},
		"a file that is not there":              {index(`{"weight_map": {"a": "3.safetensors"}}`), device.CodeNotFound, "3.safetensors"},
		"a file outside":                        {index(`{"weight_map": {"a": "../1.safetensors"}}`), device.CodeInvalidFormat, "beside the index"},
		"no file of tensors":                    {map[string][]byte{"config.json": nil}, device.CodeNotFound, "no file of tensors"},
		"external data not there":               {map[string][]byte{"model.onnx": read(t, "external.onnx")}, device.CodeNotFound, "x.bin"},
		"external data too short":               {map[string][]byte{"model.onnx": read(t, "external.onnx"), "weights/x.bin": make([]byte, 79)}, device.CodeInvalidFormat, "bytes 64 to 80 of"},
		"a tensor that the index has elsewhere": {index(`{"weight_map": {"c": "2.safetensors", "a": "1.safetensors", "b": "2.safetensors"}}`), device.CodeInvalidFormat, `"b"`},
	} {
		path := folder(t, refused.files)
		before := descriptors(t)
		_, err := Open(path, Options{})
		require.ErrorIs(t, err, refused.code, name)
		assert.ErrorContains(t, err, refused.says, name)
		assert.Equal(t, before, descriptors(t), "%s: a file stayed open", name)
	}
	_, err := Open(filepath.Join(t.TempDir(), "none"), Options{})
	require.ErrorIs(t, err, device.CodeNotFound)
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err = Open(pipe, Options{})
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	_, err = OpenMemory("memory", read(t, "external.onnx"), Options{})
	require.ErrorIs(t, err, device.CodeUnsupported)
}

// ggufPart returns a file of one tensor with the metadata of one of several files.
func ggufPart(tensor string, number, count, tensors uint16) []byte {
	text := func(out []byte, s string) []byte {
		return append(binary.LittleEndian.AppendUint64(out, uint64(len(s))), s...)
	}
	out := append([]byte("GGUF"), 3, 0, 0, 0)
	out = binary.LittleEndian.AppendUint64(out, 1)
	out = binary.LittleEndian.AppendUint64(out, 3)
	for _, v := range []struct {
		key   string
		value uint16
	}{{partNumber, number}, {partCount, count}, {partTotal, tensors}} {
		out = append(text(out, v.key), 2, 0, 0, 0, byte(v.value), byte(v.value>>8))
	}
	out = append(text(out, tensor), 1, 0, 0, 0)
	out = binary.LittleEndian.AppendUint64(out, 4) // one dimension of size 4
	out = append(out, 0, 0, 0, 0)                  // F32
	out = binary.LittleEndian.AppendUint64(out, 0)
	for len(out)%32 != 0 {
		out = append(out, 0)
	}
	return append(out, make([]byte, 16)...)
}

func TestModelsInSeveralGGUFFiles(t *testing.T) {
	files := func(first, second []byte) map[string][]byte {
		return map[string][]byte{"m-00001-of-00002.gguf": first, "m-00002-of-00002.gguf": second}
	}
	path := folder(t, files(ggufPart("a", 0, 2, 2), ggufPart("b", 1, 2, 2)))
	assert.Equal(t, []string{"a", "b"}, names(opened(t, path)))
	assert.Equal(t, []string{"a", "b"}, names(opened(t, filepath.Join(path, "m-00002-of-00002.gguf"))))
	for says, refused := range map[string]map[string][]byte{
		"split.no: is 1: want 0":                          files(ggufPart("a", 1, 2, 2), ggufPart("b", 0, 2, 2)),
		"split.count: is 3: want 2":                       files(ggufPart("a", 0, 3, 2), ggufPart("b", 1, 2, 2)),
		"split.tensors.count: is 3, and the files hold 2": files(ggufPart("a", 0, 2, 3), ggufPart("b", 1, 2, 3)),
		"the tensor is in":                                files(ggufPart("a", 0, 2, 2), ggufPart("a", 1, 2, 2)),
		"does not end in -00001-of-00002.gguf":            {"m.gguf": ggufPart("a", 0, 2, 2)},
	} {
		_, err := Open(folder(t, refused), Options{})
		require.ErrorIs(t, err, device.CodeInvalidFormat, says)
		assert.ErrorContains(t, err, says)
	}
	_, err := Open(folder(t, map[string][]byte{"m-00001-of-00002.gguf": ggufPart("a", 0, 2, 2)}), Options{})
	require.ErrorIs(t, err, device.CodeNotFound)
	_, err = Open(folder(t, map[string][]byte{"m.gguf": ggufPart("a", 0, 1, 1), "n.gguf": ggufPart("a", 0, 1, 1)}), Options{})
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	assert.ErrorContains(t, err, "holds 2 models")
}

func TestONNXWithExternalData(t *testing.T) {
	path := folder(t, map[string][]byte{"model.onnx": read(t, "external.onnx"), "weights/x.bin": make([]byte, 80)})
	s := opened(t, path)
	e, err := s.Find("e")
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(path, "weights/x.bin"), e.File())
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("header/testdata", name))
	require.NoError(t, err)
	return data
}

// descriptors returns how many files the process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", os.Getpid()))
	require.NoError(t, err)
	return len(entries)
}
