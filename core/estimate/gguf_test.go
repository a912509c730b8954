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

// generate.py in testdata/gguf wrote the files there with the wheel gguf. reader.json has
// what the wheel's own reader returns for the files.

func ggufPath(name string) string { return filepath.Join("testdata", "gguf", name) }

func TestGGUFFilesAsTheReferenceReaderHasThem(t *testing.T) {
	var told map[string]struct {
		Tensors  int
		Elements uint64
		Bytes    uint64
		ByName   map[string][3]any `json:"by_name"`
	}
	text, err := os.ReadFile(ggufPath("reader.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &told))
	require.NotEmpty(t, told)
	kinds := map[string]bool{}
	for name, want := range told {
		h, err := readGGUFFile(ggufPath(name))
		require.NoError(t, err)
		require.Len(t, h.tensors, want.Tensors, name)
		var elements, size uint64
		for _, x := range h.tensors {
			found := want.ByName[x.Name]
			assert.Equal(t, [3]any{x.DType, float64(x.Elements), float64(x.End - x.Begin)}, found, "%s of %s", x.Name, name)
			elements += x.Elements
			size += x.End - x.Begin
			kinds[x.DType] = true
		}
		assert.Equal(t, want.Elements, elements, name)
		assert.Equal(t, want.Bytes, size, name)
	}
	for number := range uint32(100) {
		if kind := ggufTypeOf(number); kind.elements > 0 {
			assert.True(t, kinds[kind.name], "no file has the type %s", kind.name)
		}
	}
}

func TestGGUFModels(t *testing.T) {
	for _, c := range []struct {
		file, family   string
		parameters     uint64
		kvToken, state uint64
		context        uint64
	}{
		{"llama-types.gguf", "llama", 53944 - 4*6 - 8, 2 * 2 * 2 * 16 * 2, 0, 256},
		{"gpt-oss.gguf", "gpt_oss", 26816, 2 * 2 * 2 * 16 * 2, 0, 256},
		{"deepseek2.gguf", "deepseek_v2", 26816, 2 * (32 + 8) * 2, 0, 256},
		{"granitehybrid.gguf", "granitemoehybrid", 51520, 1 * 2 * 2 * 16 * 2, 3 * ((128+2*16)*4*2 + 128*16*4), 256},
	} {
		x, err := Open(ggufPath(c.file))
		require.NoError(t, err, c.file)
		assert.Equal(t, c.family, x.Model.Type)
		assert.Equal(t, c.context, x.Model.Positions)
		assert.EqualValues(t, 32, x.Model.Vocab)
		p := planOf(t, x, Serving{Context: 256, Batch: 1})
		assert.Equal(t, c.parameters, p.Parameters, c.file)
		assert.Equal(t, 256*c.kvToken, p.KVCacheBytes, c.file)
		assert.Equal(t, c.state, p.StateBytes, c.file)
		r, err := x.Report(Serving{Context: 256, Batch: 1})
		require.NoError(t, err)
		assert.Equal(t, "gguf", r.Source)
		assert.Equal(t, "as in the files", r.WeightDType)
		assert.Equal(t, "f16", r.KVDType)
		assert.Contains(t, r.Notes[0], "their metadata imply", "a few tensors are no whole model")
	}
	x, err := Open(ggufPath("gpt-oss.gguf"))
	require.NoError(t, err)
	assert.Equal(t, Stretch{"yarn", 64}, x.Model.Stretch)
	assert.EqualValues(t, 1, x.Model.SlidingLayers)
	assert.EqualValues(t, 64, x.Model.Window)
	x, err = Open(ggufPath("unknown.gguf"))
	require.NoError(t, err)
	assert.Nil(t, x.Model)
	assert.Equal(t, []string{`the architecture "somethingelse" is unknown: the numbers do not include KV cache and activations`}, x.Notes)
	assert.EqualValues(t, 16256, planOf(t, x, Serving{Context: 1, Batch: 1}).WeightsBytes)
}

// Buffers are counted apart from the weights: integers and the frequencies of positions.
func TestGGUFBuffers(t *testing.T) {
	k, _, err := openGGUF(ggufPath("llama-types.gguf"))
	require.NoError(t, err)
	const integers = 6 * (1 + 2 + 4 + 8)
	assert.EqualValues(t, integers+8*4, k.BufferBytes)
	assert.EqualValues(t, 4*6+8, k.BufferElements)
	assert.EqualValues(t, 28564-integers-8*4, k.WeightBytes)
	assert.EqualValues(t, 53944-4*6-8, k.FloatElements)
	assert.False(t, k.Packed())
}

func TestGGUFInSeveralFiles(t *testing.T) {
	for _, part := range []string{"split-00001-of-00003.gguf", "split-00002-of-00003.gguf", "split-00003-of-00003.gguf"} {
		x, err := Open(ggufPath(part))
		require.NoError(t, err)
		assert.Equal(t, Checkpoint{Files: 3, Tensors: 8, GGUF: true, FloatElements: 26816, FloatBytes: 16256, WeightBytes: 16256}, *x.Checkpoint)
		assert.Equal(t, "llama", x.Model.Type, "the first has the metadata")
		assert.EqualValues(t, 32, x.Model.Vocab)
	}
	folder := t.TempDir()
	copied := func(from, to string) {
		text, err := os.ReadFile(ggufPath(from))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, to), text, 0o600))
	}
	copied("split-00001-of-00003.gguf", "m-00001-of-00003.gguf")
	copied("split-00002-of-00003.gguf", "m-00002-of-00003.gguf")
	_, err := Open(folder)
	assert.Equal(t, device.CodeNotFound, device.CodeOf(err))
	assert.ErrorContains(t, err, filepath.Join(folder, "m-00003-of-00003.gguf")+": there is no such file", "with its whole path")
	copied("split-00002-of-00003.gguf", "m-00003-of-00003.gguf")
	_, err = Open(folder)
	assert.ErrorContains(t, err, "m-00003-of-00003.gguf: split.no: is 1 and not 2")
	copied("split-00003-of-00003.gguf", "m-00003-of-00003.gguf")
	x, err := Open(folder)
	require.NoError(t, err, "a folder with the files of one model")
	assert.Equal(t, 3, x.Checkpoint.Files)
	copied("gpt-oss.gguf", "other.gguf")
	_, err = Open(folder)
	assert.Equal(t, device.CodeInvalidArgument, device.CodeOf(err))
	assert.ErrorContains(t, err, folder+": holds 2 models in GGUF files: name one of the files")
	copied("split-00001-of-00003.gguf", "renamed.gguf")
	_, err = Open(filepath.Join(folder, "renamed.gguf"))
	assert.ErrorContains(t, err, "renamed.gguf: split.count: is 3, where the name of the file does not end in -00001-of-00003.gguf")
}

// If the architecture of a file is not known, the configuration beside the file describes
// the model.
func TestGGUFWithAConfigurationBesideIt(t *testing.T) {
	folder := t.TempDir()
	text, err := os.ReadFile(ggufPath("unknown.gguf"))
	require.NoError(t, err)
	path := filepath.Join(folder, "m.gguf")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, ConfigName), configText(t, nil), 0o600))
	for _, from := range []string{path, folder} {
		x, err := Open(from)
		require.NoError(t, err)
		assert.Equal(t, "llama", x.Model.Type)
		assert.EqualValues(t, 26816, planOf(t, x, Serving{Context: 1, Batch: 1}).Parameters)
	}
}

// gguf writes headers for tests.
type gguf struct {
	keys, tensors         bytes.Buffer
	keyCount, tensorCount uint64
	data                  int
}

func (g *gguf) text(to *bytes.Buffer, text string) {
	_ = binary.Write(to, binary.LittleEndian, uint64(len(text)))
	to.WriteString(text)
}

func (g *gguf) bits(key string, kind uint32, value any) *gguf {
	g.keyCount++
	g.text(&g.keys, key)
	_ = binary.Write(&g.keys, binary.LittleEndian, kind)
	_ = binary.Write(&g.keys, binary.LittleEndian, value)
	return g
}

func (g *gguf) set(key string, value any) *gguf {
	switch v := value.(type) {
	case int:
		return g.bits(key, ggufUint32, uint32(v))
	case float64:
		return g.bits(key, ggufFloat32, float32(v))
	case string:
		g.bits(key, ggufString, []byte{})
		g.text(&g.keys, v)
	case []int:
		g.bits(key, ggufList, uint32(ggufInt32))
		_ = binary.Write(&g.keys, binary.LittleEndian, uint64(len(v)))
		for _, n := range v {
			_ = binary.Write(&g.keys, binary.LittleEndian, int32(n))
		}
	}
	return g
}

func (g *gguf) tensor(name string, kind uint32, at uint64, sides ...uint64) *gguf {
	g.tensorCount++
	g.text(&g.tensors, name)
	_ = binary.Write(&g.tensors, binary.LittleEndian, uint32(len(sides)))
	_ = binary.Write(&g.tensors, binary.LittleEndian, sides)
	_ = binary.Write(&g.tensors, binary.LittleEndian, kind)
	_ = binary.Write(&g.tensors, binary.LittleEndian, at)
	return g
}

func (g *gguf) bytes() []byte {
	var all bytes.Buffer
	all.WriteString("GGUF")
	_ = binary.Write(&all, binary.LittleEndian, uint32(3))
	_ = binary.Write(&all, binary.LittleEndian, g.tensorCount)
	_ = binary.Write(&all, binary.LittleEndian, g.keyCount)
	all.Write(g.keys.Bytes())
	all.Write(g.tensors.Bytes())
	all.Write(make([]byte, (32-all.Len()%32)%32+g.data))
	return all.Bytes()
}

func readGGUFBytes(text []byte) (*ggufHeader, error) {
	return readGGUF("m.gguf", bytes.NewReader(text), int64(len(text)))
}

func TestGGUFErrorsNameThePlace(t *testing.T) {
	good := new(gguf).set("general.architecture", "llama").tensor("w", 0, 0, 4, 2)
	good.data = 32
	_, err := readGGUFBytes(good.bytes())
	require.NoError(t, err)
	with := func(change func(*gguf)) []byte {
		g := new(gguf)
		g.data = 64
		change(g)
		return g.bytes()
	}
	for says, text := range map[string][]byte{
		"does not begin with GGUF":                                         []byte("GGML0000000000000000000000000000"),
		"the file of 3 bytes ends inside its header":                       []byte("GGU"),
		"the file of 30 bytes ends inside its header":                      good.bytes()[:30],
		"a: the key is there twice":                                        with(func(g *gguf) { g.set("a", 1).set("a", 2) }),
		"a: 99 is not a kind of value":                                     with(func(g *gguf) { g.bits("a", 99, []byte{}) }),
		"a key before byte 32 is empty":                                    with(func(g *gguf) { g.set("", 1) }),
		"general.alignment: is not a multiple of 8":                        with(func(g *gguf) { g.set("general.alignment", 12) }),
		"w: the tensor is there twice":                                     with(func(g *gguf) { g.tensor("w", 0, 0, 1).tensor("w", 0, 32, 1) }),
		"w: has 5 dimensions and not at most 4":                            with(func(g *gguf) { g.tensor("w", 0, 0, 1, 1, 1, 1, 1) }),
		"w: rows of 40 elements are no whole blocks of 32, which Q4_0 has": with(func(g *gguf) { g.tensor("w", 2, 0, 40, 4) }),
		"w: begins at 8, no multiple of the alignment of 32":               with(func(g *gguf) { g.tensor("w", 0, 8, 1) }),
		"w: begins at 0, inside the tensor before it, which ends at 4":     with(func(g *gguf) { g.tensor("v", 0, 0, 1).tensor("w", 0, 0, 2) }),
		"w: ends at 68 of the 64 bytes of data":                            with(func(g *gguf) { g.tensor("w", 0, 0, 17) }),
		"the name of tensor 0 is empty":                                    with(func(g *gguf) { g.tensor("", 0, 0, 1) }),
		"m.gguf: a: lists are nested deeper than 4": with(func(g *gguf) {
			g.bits("a", ggufList, uint32(ggufList))
			for range 8 {
				_ = binary.Write(&g.keys, binary.LittleEndian, uint64(1))
				_ = binary.Write(&g.keys, binary.LittleEndian, uint32(ggufList))
			}
			g.keys.Write(make([]byte, 64))
		}),
	} {
		_, err := readGGUFBytes(text)
		assert.Equal(t, device.CodeInvalidFormat, device.CodeOf(err), "%s: %v", says, err)
		assert.ErrorContains(t, err, "m.gguf: ")
		assert.ErrorContains(t, err, says)
	}
	for says, text := range map[string][]byte{
		"version 1 of the format":              append([]byte("GGUF\x01\x00\x00\x00"), make([]byte, 64)...),
		"bytes in big-endian order":            append([]byte("GGUF\x00\x00\x00\x03"), make([]byte, 64)...),
		"w: type 9 of the format is not known": with(func(g *gguf) { g.tensor("w", 9, 0, 32) }),
	} {
		_, err := readGGUFBytes(text)
		assert.Equal(t, device.CodeUnsupported, device.CodeOf(err))
		assert.ErrorContains(t, err, says)
	}
	_, err = readGGUFBytes(with(func(g *gguf) { g.tensor("w", 0, 0, 1<<40, 1<<40) }))
	assert.Equal(t, device.CodeOverflow, device.CodeOf(err))
}

// The reader allocates nothing for a stated count or length until it has found the data in
// the file.
func TestGGUFCountsAreNotTrusted(t *testing.T) {
	header := func(tensors, keys uint64) []byte {
		text := append([]byte("GGUF"), 3, 0, 0, 0)
		text = binary.LittleEndian.AppendUint64(text, tensors)
		return binary.LittleEndian.AppendUint64(text, keys)
	}
	list := func(kind uint32, count uint64) []byte {
		g := new(gguf).bits("a", ggufList, kind)
		_ = binary.Write(&g.keys, binary.LittleEndian, count)
		return g.bytes()
	}
	for says, text := range map[string][]byte{
		"18446744073709551615 tensors are more than": header(math.MaxUint64, 0),
		"18446744073709551615 keys are more than":    header(0, math.MaxUint64),
		"ends inside its header":                     append(header(0, 1), bytes.Repeat([]byte{255}, 2)...),
		"a key at byte 32 has":                       append(header(0, 1), bytes.Repeat([]byte{255}, 8)...),
	} {
		_, err := readGGUFBytes(text)
		assert.ErrorContains(t, err, says)
	}
	for _, kind := range []uint32{ggufUint8, ggufString, ggufFloat64, ggufList, ggufInt32} {
		for _, count := range []uint64{1 << 20, 1 << 40, math.MaxUint64} {
			_, err := readGGUFBytes(list(kind, count))
			assert.ErrorContains(t, err, "ends inside its header", "%d of kind %d", count, kind)
		}
	}
	// This file of 1 TiB exists only as a reader and takes no memory.
	huge := binary.LittleEndian.Uint64([]byte("GGUF\x03\x00\x00\x00"))
	h, err := readGGUF("m.gguf", sparse(huge), 1<<40)
	require.NoError(t, err)
	assert.Empty(t, h.tensors)
	_, err = readGGUF("m.gguf", failing{}, 100)
	assert.Equal(t, device.CodeIO, device.CodeOf(err))
	long := new(gguf).bits("a", ggufString, []byte{})
	_ = binary.Write(&long.keys, binary.LittleEndian, uint64(200_000_000))
	_, err = readGGUF("m.gguf", bytes.NewReader(long.bytes()), 1<<40)
	assert.ErrorContains(t, err, "the header is longer than 95.37 MiB (100000000 bytes)")
}

func TestGGUFMetadataErrorsNameTheKey(t *testing.T) {
	base := func() *gguf {
		return new(gguf).set("general.architecture", "llama").set("llama.embedding_length", 64).set("llama.block_count", 2).
			set("llama.vocab_size", 9)
	}
	for says, g := range map[string]*gguf{
		"general.architecture: is missing or not a text":                 new(gguf).set("a", 1),
		"llama.embedding_length: is missing or 0":                        new(gguf).set("general.architecture", "llama"),
		"num_attention_heads: is missing, and a \"llama\" model":         base(),
		"llama.attention.head_count: is neither a whole number":          base().set("llama.attention.head_count", "x"),
		"llama.attention.head_count_kv: 3 does not divide the 8":         base().set("llama.attention.head_count", 8).set("llama.attention.head_count_kv", 3).set("llama.feed_forward_length", 8),
		"llama.feed_forward_length: is neither a whole number":           base().set("llama.feed_forward_length", []int{-1, 1}),
		"deepseek2.attention.key_length: is 4, no more than the 8":       new(gguf).set("general.architecture", "deepseek2").set("deepseek2.embedding_length", 64).set("deepseek2.block_count", 2).set("deepseek2.rope.dimension_count", 8).set("deepseek2.attention.key_length", 4),
		"nemotron_h.attention.head_count_kv: has 1 letters for 2 layers": new(gguf).set("general.architecture", "nemotron_h").set("nemotron_h.embedding_length", 64).set("nemotron_h.block_count", 2).set("nemotron_h.vocab_size", 9).set("nemotron_h.attention.head_count", 8).set("nemotron_h.attention.head_count_kv", []int{8}).set("nemotron_h.feed_forward_length", []int{8}),
	} {
		h, err := readGGUFBytes(g.bytes())
		require.NoError(t, err, says)
		_, _, err = h.model()
		assert.Equal(t, device.CodeInvalidFormat, device.CodeOf(err), "%v", err)
		assert.ErrorContains(t, err, "m.gguf: "+says)
	}
}

func FuzzGGUF(f *testing.F) {
	for _, name := range []string{"llama-types.gguf", "split-00002-of-00003.gguf", "gpt-oss.gguf", "granitehybrid.gguf", "deepseek2.gguf"} {
		text, err := os.ReadFile(ggufPath(name))
		require.NoError(f, err)
		// The reader does not read the data, so the first half of a file is a seed as well.
		f.Add(text[:len(text)/2])
		f.Add(text)
	}
	f.Add(new(gguf).set("general.architecture", "nemotron_h").set("nemotron_h.attention.head_count_kv", []int{0, 8}).bytes())
	f.Add([]byte("GGUF\x03\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := readGGUF("fuzzed", bytes.NewReader(text), int64(len(text)))
		if err == nil {
			k := &Checkpoint{}
			if err := k.addGGUF(h.tensors); err != nil || k.FloatBytes+k.BufferBytes > uint64(len(text)) {
				t.Fatalf("%+v in a file of %d: %v", k, len(text), err)
			}
			_, _, err = h.model()
		}
		if err == nil {
			return
		}
		if code := device.CodeOf(err); code == device.CodeUnsupported && strings.Contains(err.Error(), "fuzzed: ") {
			return
		}
		mustBeTyped(t, err)
	})
}
