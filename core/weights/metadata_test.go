package weights

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The text has the values of encoding/json: for the files of all formats, and for names with any bytes.
func TestMetadataAsText(t *testing.T) {
	same := func(s *Source, what string) {
		t.Helper()
		want, err := json.Marshal(s.Metadata())
		require.NoError(t, err)
		text, err := s.MetadataJSON()
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(text), what)
		require.Len(t, text, len(want), "the same texts and numbers, in another order")
		at := 0
		for i := range s.Tensors() {
			key := string(appendKey(nil, 0, s.Tensors()[i].Name))
			next := strings.Index(string(text)[at:], key)
			require.GreaterOrEqual(t, next, 0, "%s: %q", what, s.Tensors()[i].Name)
			at += next
		}
	}
	inputs := filepath.Join("header", "testdata")
	entries, err := os.ReadDir(inputs)
	require.NoError(t, err)
	count := 0
	for _, entry := range entries {
		s, err := Open(filepath.Join(inputs, entry.Name()), Options{})
		if err != nil {
			continue // a hostile file
		}
		same(s, entry.Name())
		require.NoError(t, s.Close())
		count++
	}
	assert.Greater(t, count, 10)
	sizes := map[string]int{}
	for i, name := range []string{"a", "b\"c", "<&>", "\\", "\x7f", "ä", "\u2028", "\x00\n", "model.10", "model.9", "😀", "~", " "} {
		sizes[name] = i
	}
	var order []string
	for name := range sizes {
		order = append(order, name)
	}
	same(opened(t, filepath.Join(folder(t, map[string][]byte{"m.safetensors": safetensors(sizes, order)}), "m.safetensors")), "names")
	same(opened(t, filepath.Join(folder(t, map[string][]byte{"m.safetensors": safetensors(nil, nil)}), "m.safetensors")), "no tensor")
}
