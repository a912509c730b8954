package house

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var includeOfOwn = regexp.MustCompile(`(?m)^#include "([^"]+)"`)

// mayInclude states whether a C file of a part of capi may include a file. included is the
// path in the #include line. Allowed are the public header, files of the same part, and
// files of the parts that belowInCapi lists for it.
func mayInclude(part, included string) bool {
	if included == "ferrum_mem.h" {
		return true
	}
	folder := path.Dir(path.Join(part, included))
	return folder == part || slices.Contains(belowInCapi[part], folder)
}

// Shims include the thread caches and the published counters, never the other way round.
// The functions of the library that the caches call are declared in library.h.
func TestIncludeArrowsOfCapi(t *testing.T) {
	root := filepath.Join("..", "..")
	found := 0
	for _, file := range tree(t, root) {
		part := filepath.Dir(file)
		if !within(part, "capi") || part == "capi" || !slices.Contains([]string{".c", ".h"}, filepath.Ext(file)) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		for _, line := range includeOfOwn.FindAllStringSubmatch(string(content), -1) {
			own := line[1]
			_, err := os.Stat(filepath.Join(root, part, own))
			assert.True(t, (own == "ferrum_mem.h" || err == nil) && mayInclude(part, own), "%s must not include %s", file, own)
			found++
		}
	}
	assert.Positive(t, found)
	assert.False(t, mayInclude("capi/threadcache", "../guard.h"))
	assert.False(t, mayInclude("capi/threadcache", "../mirrors/mirror.h"))
	assert.True(t, mayInclude("capi/mirrors", "../threadcache/cache.h"))
}
