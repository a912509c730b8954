package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Numbers of functions of the C ABI, and of exports behind them, that are written by hand.
// The generator writes the others. The numbers may only become smaller. Whoever reduces a
// number updates it here. Whoever needs one more function extends the generator instead.
const (
	shimsByHand   = 22
	exportsByHand = 38
	// libraryMethods is the number of exported methods of Library in core/library. Library
	// finds and creates objects; exports call the methods of the objects.
	libraryMethods = 61
)

var (
	shim   = regexp.MustCompile(`(?m)^(?:ferrum_status|uint32_t|const char \*)\s*(ferrum_\w+)\([^;{]*\) \{`)
	export = regexp.MustCompile(`(?m)^//export (fmgo_\w+)`)
)

// byHand returns the functions that match in the hand-written files of capi.
func byHand(t *testing.T, extension string, function *regexp.Regexp) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	var names []string
	for _, path := range tree(t, root) {
		if filepath.Dir(path) != "capi" || filepath.Ext(path) != extension || strings.HasPrefix(filepath.Base(path), "test_") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		if !sourceCode(path, string(content)) {
			continue
		}
		for _, found := range function.FindAllStringSubmatch(string(content), -1) {
			names = append(names, found[1])
		}
	}
	require.NotEmpty(t, names)
	return names
}

func TestFunctionsOfTheBoundaryByHandOnlyBecomeFewer(t *testing.T) {
	shims, exports := byHand(t, ".c", shim), byHand(t, ".go", export)
	assert.Equal(t, shimsByHand, len(shims), "functions of the C ABI by hand: %v", shims)
	assert.Equal(t, exportsByHand, len(exports), "exports by hand: %v", exports)
}

func TestTheLibraryLeavesCallsToItsObjects(t *testing.T) {
	root := filepath.Join("..", "..")
	method := regexp.MustCompile(`(?m)^func \(l \*Library\) ([A-Z]\w*)\(`)
	var names []string
	for _, path := range tree(t, root) {
		if filepath.Dir(path) != "core/library" || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		for _, found := range method.FindAllStringSubmatch(string(content), -1) {
			names = append(names, found[1])
		}
	}
	assert.Len(t, names, libraryMethods, "methods of Library: %v", names)
}

// The functions that the header tags as written by hand in C are exactly those that are.
func TestFunctionsByHandAreTagged(t *testing.T) {
	root := filepath.Join("..", "..")
	var tagged []string
	comment := regexp.MustCompile(`(?s)/\*\*(?:[^*]|\*[^/])*\*/\s*FERRUM_API\s[\w\s*]*?\b(ferrum_\w+)\(`)
	for _, path := range tree(t, root) {
		if filepath.Dir(path) != "include/ferrum_mem" || filepath.Ext(path) != ".h" {
			continue
		}
		header, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		for _, found := range comment.FindAllStringSubmatch(string(header), -1) {
			if regexp.MustCompile(`@by-hand (?:\w+,)*c(?:,\w+)* `).MatchString(found[0]) {
				tagged = append(tagged, found[1])
			}
		}
	}
	assert.ElementsMatch(t, tagged, byHand(t, ".c", shim))
}
