package header

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/protobuf"
	"ferrum_mem/tests/mutation"
)

// fromFile reads a file of testdata as an input.
func fromFile(t testing.TB, name string) (Input, []byte) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return fromMemory(name, data), data
}

func fromMemory(name string, data []byte) Input {
	return Input{Name: name, Bytes: bytes.NewReader(data), Size: uint64(len(data))}
}

// gathered returns the bytes of a tensor in the order of its shape, with little-endian elements. It
// is the oracle: a slow reader of one element at a time.
func gathered(t *testing.T, data []byte, of Tensor) []byte {
	t.Helper()
	source := data[of.Offset:]
	if of.Compressed != nil {
		inflated, err := io.ReadAll(flate.NewReader(bytes.NewReader(source[:of.Compressed.Bytes])))
		require.NoError(t, err)
		require.Len(t, inflated, int(of.Compressed.Inflated))
		source = inflated[of.Compressed.Skip:]
	}
	source = source[:of.Size]
	each, width := of.Type.Block()
	if each > 1 {
		return source
	}
	strides := of.Strides
	if strides == nil {
		strides = make([]uint64, len(of.Shape))
		step := uint64(1)
		for i := len(of.Shape) - 1; i >= 0; i-- {
			strides[i], step = step, step*of.Shape[i]
		}
	}
	var out []byte
	for n := range of.Elements {
		place, rest := uint64(0), n
		for i := len(of.Shape) - 1; i >= 0; i-- {
			place += rest % of.Shape[i] * strides[i]
			rest /= of.Shape[i]
		}
		element := slices.Clone(source[place*width : (place+1)*width])
		if of.IsBigEndian {
			slices.Reverse(element)
		}
		out = append(out, element...)
	}
	return out
}

// Files that NumPy, safetensors and pickle wrote have the tensors that were written.
func TestFilesOfOtherWriters(t *testing.T) {
	text, err := os.ReadFile("testdata/expected.json")
	require.NoError(t, err)
	type tensor struct {
		Type  string
		Shape []uint64
		CRC32 uint32
	}
	var files map[string]struct {
		Tensors map[string]tensor
		Extra   map[string]string
	}
	require.NoError(t, json.Unmarshal(text, &files))
	require.Len(t, files, 11)
	for name, expected := range files {
		t.Run(name, func(t *testing.T) {
			in, data := fromFile(t, name)
			h, err := Read(in)
			require.NoError(t, err)
			require.Len(t, h.Tensors, len(expected.Tensors))
			for _, of := range h.Tensors {
				want, ok := expected.Tensors[of.Name]
				require.True(t, ok, of.Name)
				assert.Equal(t, want.Type, of.Type.String(), of.Name)
				assert.Empty(t, len(want.Shape)-len(of.Shape), of.Name)
				assert.Equal(t, append([]uint64{}, want.Shape...), append([]uint64{}, of.Shape...), of.Name)
				assert.Equal(t, want.CRC32, crc32.ChecksumIEEE(gathered(t, data, of)), of.Name)
			}
			for key, value := range expected.Extra {
				assert.Equal(t, value, h.Extra[key], key)
			}
		})
	}
}

func TestRefusedFiles(t *testing.T) {
	for name, want := range map[string]struct {
		code device.Code
		says string
	}{
		"records.npy":         {device.CodeUnsupported, "records of several fields"},
		"objects.npy":         {device.CodeUnsupported, `type "|O"`},
		"hostile_system.pt":   {device.CodeUnsupported, "posix.system"},
		"hostile_eval.pt":     {device.CodeUnsupported, "builtins.eval"},
		"hostile_instance.pt": {device.CodeUnsupported, "operation 0x69"},
		"hostile_doubling.pt": {device.CodeInvalidFormat, "deeper than"},
		"escapes.onnx":        {device.CodeInvalidFormat, `"../x.bin", which is not a path inside`},
		"absolute.onnx":       {device.CodeInvalidFormat, `"/etc/passwd", which is not a path inside`},
		"negative.onnx":       {device.CodeInvalidFormat, `offset of its external data is "-4"`},
		"hostile_cycle.pt":    {device.CodeInvalidFormat, "deeper than"},
	} {
		in, _ := fromFile(t, name)
		_, err := Read(in)
		require.ErrorIs(t, err, want.code, name)
		assert.ErrorContains(t, err, want.says, name)
		assert.ErrorContains(t, err, name)
	}
	_, err := Read(fromMemory("text", []byte("this is no file of tensors")))
	require.ErrorIs(t, err, device.CodeUnsupported)
	_, err = Read(fromMemory("100%d.safetensors", []byte("this is no file of tensors")))
	assert.ErrorContains(t, err, "100%d.safetensors: ")
	_, err = Read(fromMemory("empty", nil))
	require.ErrorIs(t, err, device.CodeUnsupported)
}

// A file that is cut at any byte is rejected with a typed error. If only bytes of tensors are
// missing, the comparison of the offsets with the file finds it.
func TestTruncatedFiles(t *testing.T) {
	entries, err := os.ReadDir("testdata")
	require.NoError(t, err)
	for _, entry := range entries {
		if ending := filepath.Ext(entry.Name()); entry.IsDir() || ending == ".py" || ending == ".json" {
			continue
		}
		_, data := fromFile(t, entry.Name())
		for end := range len(data) {
			h, err := Read(fromMemory("cut", data[:end]))
			if err == nil && h.Format == GGUF { // a GGUF file ends with padding
				last := byPlace(h.Tensors)[len(h.Tensors)-1]
				require.LessOrEqual(t, last.Offset+last.Size, uint64(end))
				continue
			}
			var typed *device.Error
			require.ErrorAs(t, err, &typed, "%s cut at %d", entry.Name(), end)
		}
	}
}

// safetensorsFile returns a file with a header and a given number of bytes of data.
func safetensorsFile(header string, bytes int) []byte {
	data := []byte{byte(len(header)), byte(len(header) >> 8), 0, 0, 0, 0, 0, 0}
	return append(append(data, header...), make([]byte, bytes)...)
}

func TestRefusedSafetensors(t *testing.T) {
	for header, says := range map[string]string{
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`: `"a": the key occurs twice`,
		`{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}`:                                        `"a".dtype: the key occurs twice`,
		`{"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}}`:                                                      `"F99" is not a type`,
		`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`:                                                      "has 4 bytes, where 2 elements of F32 take 8",
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}}`:                                                      "do not lie in the 4 bytes",
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`:                                                      "do not lie in the 4 bytes",
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}}`:                                                        "has 1 entries: want 2",
		`{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}`:                                                    "expected a whole number",
		`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`:                                                     "expected a whole number",
		`{"a":{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,4]}}`:                                   "beyond 64 bits",
		`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}`:                                  "more elements than 64 bits count",
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}}`:                                             `"a"."more": is not a field`,
		`{"a":{"dtype":"F32","shape":[1]}}`:                                                                           `"a".data_offsets: is missing`,
		`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`:                                                       "end at 2 of the 4 bytes",
		`{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}`:   "inside the tensor before it",
		`{"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}`:                                                       "leaves a hole after 0",
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} x`:                                                    "something follows",
		`{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,4]}}`:                                                       "3 elements of f4_e2m1",
		`{"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`:                                                       "is empty",
		`{"a\ud800":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`:                                                "half of a surrogate pair",
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]`:                                                        "the end of the header",
		`{"__metadata__":{"a":1}}`:                                                                                    `expected '"'`,
		`{"__metadata__":{"a":"1","a":"2"}}`:                                                                          "occurs twice",
	} {
		_, err := Read(fromMemory("f", safetensorsFile(header, 4)))
		require.Error(t, err, header)
		assert.ErrorContains(t, err, says)
		var typed *device.Error
		require.ErrorAs(t, err, &typed)
	}
	h, err := Read(fromMemory("f", safetensorsFile(`{ "a\u00e4\ud83d\ude00\n" : {"shape":[ ],"dtype":"F32", "data_offsets":[0,4]} }  `, 4)))
	require.NoError(t, err)
	assert.Equal(t, "aä😀\n", h.Tensors[0].Name)
	assert.Equal(t, uint64(1), h.Tensors[0].Elements)
}

// A header with a large stated length costs no memory before the length is compared with the file.
func TestLongClaims(t *testing.T) {
	data := safetensorsFile("{", 4)
	for _, length := range []byte{0x7F, 0xFF} {
		claim := slices.Clone(data)
		claim[7] = length
		_, err := Read(fromMemory("f", claim))
		require.ErrorIs(t, err, device.CodeInvalidFormat)
	}
	_, err := Read(fromMemory("f", []byte(npyMagic+"\x02\x00\xff\xff\xff\xff{")))
	require.ErrorIs(t, err, device.CodeInvalidFormat)
}

func TestONNXOutsideOfTheModel(t *testing.T) {
	in, _ := fromFile(t, "external.onnx")
	h, err := Read(in)
	require.NoError(t, err)
	require.Len(t, h.Tensors, 1)
	assert.Equal(t, &External{Location: "weights/x.bin", Offset: 64, Length: 16}, h.Tensors[0].External)
	assert.Equal(t, uint64(64), h.Tensors[0].Offset)
	assert.Equal(t, uint64(16), h.Tensors[0].Size)
}

func TestONNXListsOfNumbers(t *testing.T) {
	in, _ := fromFile(t, "varints.onnx")
	h, err := Read(in)
	require.NoError(t, err)
	found := map[string][]uint64{}
	for _, of := range h.Tensors {
		require.NotZero(t, of.Varints, of.Name)
		r := protobuf.NewReader(in.messages(), of.Offset, of.Offset+of.Varints)
		for r.At < r.End {
			found[of.Name] = append(found[of.Name], r.Varint())
		}
		require.NoError(t, r.Err)
		require.Len(t, found[of.Name], int(of.Elements))
	}
	assert.Equal(t, []uint64{1<<64 - 1, 0, 1 << 40}, found["i64"])
	assert.Equal(t, []uint64{1<<64 - 128, 0, 1, 127}, found["i8"])
	assert.Equal(t, []uint64{0, 1<<64 - 1}, found["u64"])
	assert.Equal(t, []uint64{0x3C00, 0xC000}, found["f16"])
}

func TestRaw(t *testing.T) {
	h, err := Raw(fromMemory("f", make([]byte, 24)), dtype.F32, []uint64{2, 3})
	require.NoError(t, err)
	assert.Equal(t, uint64(24), h.Tensors[0].Size)
	_, err = Raw(fromMemory("f", make([]byte, 23)), dtype.F32, []uint64{2, 3})
	require.ErrorIs(t, err, device.CodeInvalidFormat)
	_, err = Raw(fromMemory("f", nil), dtype.F32, []uint64{1 << 40, 1 << 40})
	require.ErrorIs(t, err, device.CodeOverflow)
	_, err = Raw(fromMemory("f", nil), dtype.I4, []uint64{3})
	require.ErrorIs(t, err, device.CodeInvalidArgument)
}

// For any file, Read returns tensors inside of the file, or a typed error.
func FuzzRead(f *testing.F) {
	entries, err := os.ReadDir("testdata")
	require.NoError(f, err)
	for _, entry := range entries {
		if entry.IsDir() || strings.HasSuffix(entry.Name(), ".py") {
			continue
		}
		_, data := fromFile(f, entry.Name())
		f.Add(data)
	}
	f.Fuzz(mutation.Also(func(t *testing.T, data []byte) {
		h, err := Read(fromMemory("f", data))
		if err != nil {
			var typed *device.Error
			require.ErrorAs(t, err, &typed)
			return
		}
		for _, of := range h.Tensors {
			if of.External != nil {
				continue
			}
			size := of.Size
			if of.Varints != 0 {
				size = of.Varints
			}
			if of.Compressed != nil {
				size = of.Compressed.Bytes
			}
			require.LessOrEqual(t, of.Offset, uint64(len(data)))
			require.LessOrEqual(t, size, uint64(len(data))-of.Offset, "%+v", of)
		}
	}))
}
