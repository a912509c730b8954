package house

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A struct of DLPack keeps a block until its last user ends. One file of the library, one of
// the Python package and one of the Rust crate handle them, and every type that other packages
// use as an array calls it. The header names the structs.
func TestDLPackIsProducedInOnePlace(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	var producers []string
	for _, path := range tree(t, root) {
		content, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) || err == nil && !sourceCode(path, string(content)) {
			continue
		}
		require.NoError(t, err)
		test, err := filepath.Match("*test*", filepath.Base(path))
		require.NoError(t, err)
		// The names are split, so that this file does not match.
		if text := bytes.ToLower(content); !test && (bytes.Contains(text, []byte("dl"+"tensor")) || bytes.Contains(text, []byte("dlmanaged"+"tensor"))) {
			producers = append(producers, path)
		}
	}
	require.Equal(t, []string{"bindings/python/src/ferrum_mem/_dlpack.py", "bindings/rust/ferrum-mem/src/tensor/dlpack.rs", "capi/dlpack.c", "include/ferrum_mem/tensor.h"}, producers)
}
