package main

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// converting runs weights convert with --json.
func converting(t *testing.T, args ...string) conversion {
	t.Helper()
	o := invoke(t, append([]string{"weights", "convert", "--json"}, args...)...)
	require.Equal(t, exitDone, o.status, o.err)
	var c conversion
	decoder := json.NewDecoder(strings.NewReader(o.out))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&c))
	return c
}

// sumsIn reads a safetensors file on its own, and returns the CRC-32 of the bytes of each tensor.
func sumsIn(t *testing.T, path string) map[string]uint32 {
	t.Helper()
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	end := 8 + binary.LittleEndian.Uint64(file)
	var entries map[string]struct {
		Offsets [2]uint64 `json:"data_offsets"`
	}
	require.NoError(t, json.Unmarshal(file[8:end], &entries))
	delete(entries, "__metadata__")
	sums := map[string]uint32{}
	for name, of := range entries {
		sums[name] = crc32.ChecksumIEEE(file[end+of.Offsets[0] : end+of.Offsets[1]])
	}
	return sums
}

// Files of each format are converted to safetensors, directly and through a NumPy archive. The
// packages that wrote the files have stated the bytes of each tensor.
func TestConvertsEveryFormat(t *testing.T) {
	for name, file := range expectedFiles(t) {
		folder := t.TempDir()
		args := []string{}
		want := map[string]uint32{}
		for tensor, of := range file.Tensors {
			if want[tensor] = of.CRC32; of.Type == "q8_0" {
				args = append(args, "--exclude", tensor) // safetensors has no such type
				delete(want, tensor)
			}
		}
		direct := filepath.Join(folder, "direct.safetensors")
		c := converting(t, append(args, weightFiles+name, direct)...)
		info, err := os.Stat(direct)
		require.NoError(t, err)
		assert.Equal(t, conversion{Path: weightFiles + name, Output: direct, Format: "safetensors", TensorCount: len(want), Files: []string{direct}, SizeBytes: uint64(info.Size())}, c)
		assert.Equal(t, want, sumsIn(t, direct), name)
		hasBF16 := false
		for _, of := range file.Tensors {
			hasBF16 = hasBF16 || of.Type == "bf16"
		}
		if hasBF16 {
			continue // NumPy has no such type
		}
		archive, back := filepath.Join(folder, "by.npz"), filepath.Join(folder, "back.safetensors")
		converting(t, direct, archive)
		converting(t, archive, back)
		assert.Equal(t, want, sumsIn(t, back), name)
	}
}

func TestConvertKeepsWhatItCan(t *testing.T) {
	folder := t.TempDir()
	out := filepath.Join(folder, "m.safetensors")
	converting(t, weightFiles+"plain.safetensors", out)
	assert.Equal(t, map[string]string{"format": "np"}, inspecting(t, out)[0].Extra.Texts)

	// Blocks are copied unchanged from GGUF to GGUF, and are dequantised for other formats.
	copied := filepath.Join(folder, "m.gguf")
	converting(t, weightFiles+"model.gguf", copied)
	r := inspecting(t, copied)[0]
	assert.Equal(t, "q8_0", r.Extra.Tensors["packed"].DType)
	assert.Equal(t, inspecting(t, weightFiles+"model.gguf")[0].Extra.Texts["general.architecture"], r.Extra.Texts["general.architecture"])
	assert.NotEmpty(t, r.Extra.Texts)
	o := invoke(t, "weights", "convert", weightFiles+"model.gguf", out, "--replace")
	assert.Equal(t, exitUsage, o.status)
	assert.Contains(t, o.err, `"packed": cannot be written as safetensors`)
	converting(t, weightFiles+"model.gguf", out, "--replace", "--dtype", "f32")
	assert.Equal(t, "f32", inspecting(t, out)[0].Extra.Tensors["packed"].DType)

	one := filepath.Join(folder, "one.bin")
	o = invoke(t, "weights", "convert", weightFiles+"plain.safetensors", one, "--filter", "ids", "--format", "raw")
	assert.Equal(t, exitDone, o.status, o.err)
	assert.Equal(t, one+": raw, 1 tensor, 48 B\n", o.out)
	array := filepath.Join(folder, "one.npy")
	converting(t, one, array, "--raw", "i64:1x6")
	assert.Equal(t, []uint64{1, 6}, inspecting(t, array)[0].Tensors["one"])
}

func TestConvertsToSeveralFiles(t *testing.T) {
	folder := t.TempDir()
	out := filepath.Join(folder, "m.safetensors")
	c := converting(t, weightFiles+"plain.safetensors", out, "--max-file-size", "1KiB")
	require.Greater(t, len(c.Files), 2)
	assert.Equal(t, out+".index.json", c.Files[len(c.Files)-1])
	size := uint64(0)
	for _, file := range c.Files {
		info, err := os.Stat(file)
		require.NoError(t, err)
		size += uint64(info.Size())
	}
	assert.Equal(t, size, c.SizeBytes)
	r := inspecting(t, folder)[0]
	assert.Len(t, r.Extra.Files, len(c.Files)-1)
	assert.Equal(t, map[string]string{"format": "np"}, r.Extra.Texts)
	o := invoke(t, "weights", "convert", weightFiles+"plain.safetensors", out, "--max-file-size", "1KiB", "--replace")
	assert.Equal(t, exitDone, o.status, o.err)
	assert.Contains(t, o.out, out+".index.json: safetensors, 8 tensors, ")
	assert.Contains(t, o.out, " files\n")
}

func TestConvertRejects(t *testing.T) {
	folder := checkpoint(t)
	present := writeFile(t, "present.safetensors", "what was here")
	target := filepath.Join(t.TempDir(), "m.safetensors")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{folder}, "accepts 2 arg(s)"},
		{[]string{folder, present}, present + ": the file exists already"},
		{[]string{folder, target + ".pt"}, "the ending is not one of"},
		{[]string{folder, target, "--format", "pytorch"}, `--format "pytorch" is not one of`},
		{[]string{folder, target, "--format", "raw"}, "a raw file holds one tensor, not 3"},
		{[]string{folder, target, "--dtype", "i8"}, `--dtype "i8"`},
		{[]string{folder, target, "--filter", "x"}, `"x"`},
		{[]string{folder, target, "--max-file-size", "much"}, `--max-file-size "much" is not a size`},
		{[]string{folder, target, "--max-file-size", "0"}, `--max-file-size "0" is not a size`},
		{[]string{filepath.Join(folder, "gone"), target}, filepath.Join(folder, "gone")},
		{[]string{folder, filepath.Join(folder, "no", "m.safetensors")}, filepath.Join(folder, "no")},
	} {
		o := invoke(t, append([]string{"weights", "convert"}, c.args...)...)
		assert.Equal(t, exitUsage, o.status, "%v: %s", c.args, o.err)
		assert.Contains(t, o.err, c.says)
		assert.Empty(t, o.out)
		assert.NoFileExists(t, target)
	}
	text, err := os.ReadFile(present)
	require.NoError(t, err)
	assert.Equal(t, "what was here", string(text))
	o := invoke(t, "weights", "convert", hugeFile(t, "U8", 1<<43), target)
	assert.Equal(t, exitMachine, o.status)
	assert.Contains(t, o.err, filepath.Dir(target)+": the file takes 8")
	assert.NoFileExists(t, target)
}
