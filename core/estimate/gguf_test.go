package estimate

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
	"ferrum_mem/tests/mutation"
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
		text, err := os.ReadFile(ggufPath(name))
		require.NoError(t, err)
		s, err := weights.OpenMemory(name, text, weights.Options{})
		require.NoError(t, err)
		require.Len(t, s.Tensors(), want.Tensors, name)
		var elements, size uint64
		for _, x := range s.Tensors() {
			found := want.ByName[x.Name]
			assert.Equal(t, [3]any{x.TypeName, float64(x.Elements), float64(x.Size)}, found, "%s of %s", x.Name, name)
			elements += x.Elements
			size += x.Size
			kinds[x.TypeName] = true
		}
		assert.Equal(t, want.Elements, elements, name)
		assert.Equal(t, want.Bytes, size, name)
	}
	for number := range uint32(100) {
		if kind, known := dtype.GGUF(number); known {
			name := strings.ToUpper(kind.String())
			assert.True(t, kinds[name], "no file has the type %s", name)
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
	assert.ErrorContains(t, err, "m-00003-of-00003.gguf: split.no: is 1: want 2")
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

// The kinds of values that the tests write.
const (
	ggufUint32  = 4
	ggufInt32   = 5
	ggufFloat32 = 6
	ggufString  = 8
	ggufList    = 9
)

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

// readGGUFBytes reads the header of a GGUF file in memory.
func readGGUFBytes(name string, text []byte) (*Checkpoint, *ggufHeader, error) {
	source, err := weights.OpenMemory(name, text, weights.Options{Formats: []weights.Format{header.GGUF}})
	if err != nil {
		return nil, nil, err
	}
	k, err := sumOf(source)
	return k, ggufHeaderOf(source), err
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
		_, h, err := readGGUFBytes("m.gguf", g.bytes())
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
	f.Fuzz(mutation.Also(func(t *testing.T, text []byte) {
		k, h, err := readGGUFBytes("fuzzed", text)
		if err == nil {
			if k.FloatBytes+k.BufferBytes > uint64(len(text)) {
				t.Fatalf("%+v in a file of %d", k, len(text))
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
	}))
}
