package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// verifying runs weights verify with --json.
func verifying(t *testing.T, args ...string) (verification, outcome) {
	t.Helper()
	o := invoke(t, append([]string{"weights", "verify", "--json"}, args...)...)
	var v verification
	decoder := json.NewDecoder(strings.NewReader(o.out))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&v), o.err)
	return v, o
}

func sumOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func TestVerifiesEveryFormat(t *testing.T) {
	for name := range expectedFiles(t) {
		v, o := verifying(t, weightFiles+name)
		assert.Equal(t, exitDone, o.status)
		assert.True(t, v.OK)
		require.Len(t, v.Sources, 1)
		require.Len(t, v.Sources[0].Files, 1)
		assert.Nil(t, v.Sources[0].Error)
		assert.Equal(t, sumOf(t, weightFiles+name), v.Sources[0].Files[0].SHA256, name)
		assert.Equal(t, weightFiles+name, v.Sources[0].Files[0].File)
	}
	raw := writeFile(t, "w.bin", "12345678")
	v, _ := verifying(t, raw, "--raw", "f32:2")
	assert.True(t, v.OK)
	v, o := verifying(t, raw, "--raw", "f32:3")
	assert.Equal(t, exitNo, o.status)
	require.NotNil(t, v.Sources[0].Error)
	assert.Contains(t, *v.Sources[0].Error, raw)
}

// --sums accepts the list that the command prints for a whole checkpoint.
func TestVerifyComparesSums(t *testing.T) {
	folder := checkpoint(t)
	o := invoke(t, "weights", "verify", folder)
	require.Equal(t, exitDone, o.status, o.err)
	first, second := filepath.Join(folder, "1.safetensors"), filepath.Join(folder, "2.safetensors")
	assert.ElementsMatch(t, []string{sumOf(t, first) + "  " + first, sumOf(t, second) + "  " + second}, strings.Split(strings.TrimSuffix(o.out, "\n"), "\n"))
	list := writeFile(t, "SHA256SUMS", o.out)
	assert.Equal(t, exitDone, invoke(t, "weights", "verify", folder, "--sums", list).status)

	// One changed byte of a tensor changes no header.
	text, err := os.ReadFile(second)
	require.NoError(t, err)
	before := sumOf(t, second)
	text[len(text)-1]++
	require.NoError(t, os.WriteFile(second, text, 0o600))
	assert.Equal(t, exitDone, invoke(t, "weights", "verify", folder).status)
	o = invoke(t, "weights", "verify", folder, "--sums", list)
	assert.Equal(t, exitNo, o.status)
	assert.Equal(t, "ferrum-mem: "+second+": the SHA-256 is "+sumOf(t, second)+", not "+before+"\n", o.err)
	v, o := verifying(t, first, folder, "--sums", list)
	assert.Equal(t, exitNo, o.status)
	assert.Empty(t, o.err)
	assert.Equal(t, []bool{false, true, false}, []bool{v.OK, v.Sources[0].OK, v.Sources[1].OK})
	assert.Contains(t, *v.Sources[1].Error, second)

	short := writeFile(t, "SHORT", sumOf(t, first)+" *1.safetensors\n")
	o = invoke(t, "weights", "verify", folder, "--sums", short)
	assert.Equal(t, exitNo, o.status)
	assert.Contains(t, o.err, second+": the list of sums does not have the file")
	twice := writeFile(t, "TWICE", sumOf(t, first)+"  a/x\n"+sumOf(t, second)+"  b/x\n")
	o = invoke(t, "weights", "verify", folder, "--sums", twice)
	assert.Equal(t, exitUsage, o.status)
	said(t, o, twice+": line 2: ")
	long := writeFile(t, "LONG", strings.Repeat("x", 1<<20))
	said(t, invoke(t, "weights", "verify", folder, "--sums", long), long+": line 1: is too long")
}

// A wrong header is a result that names the file, and the tensor if its entry is wrong.
func TestVerifyFindsBrokenFiles(t *testing.T) {
	whole := safetensorsFile(t, []string{"a", "layer.b"}, 2, 3)
	folder := checkpoint(t)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "2.safetensors"), []byte(safetensorsFile(t, []string{"other"}, 4)), 0o600))
	for _, c := range []struct{ path, says string }{
		{badFile(t, "m.safetensors", whole[:len(whole)-1]), "m.safetensors"},
		{badFile(t, "m.safetensors", whole+"x"), "m.safetensors"},
		{badFile(t, "m.safetensors", strings.Replace(whole, "[2,5]", "[1,4]", 1)), `"layer.b"`},
		{folder, `weight_map."c"`},
	} {
		v, o := verifying(t, c.path)
		assert.Equal(t, exitNo, o.status, c.path)
		require.NotNil(t, v.Sources[0].Error, c.path)
		assert.Contains(t, *v.Sources[0].Error, c.says)
		assert.Contains(t, *v.Sources[0].Error, c.path)
		assert.Empty(t, v.Sources[0].Files)
		o = invoke(t, "weights", "verify", c.path)
		assert.Equal(t, exitNo, o.status)
		said(t, o, c.path)
	}
}
