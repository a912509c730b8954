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

// backendNames returns the names of the backends in the public headers, in lower case.
func backendNames(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	for _, path := range tree(t, root) {
		if !strings.HasPrefix(path, "include/") {
			continue
		}
		header, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`(?m)^#define FERRUM_BACKEND_([A-Z0-9]+) [1-9]`).FindAllStringSubmatch(string(header), -1) {
			names = append(names, strings.ToLower(found[1]))
		}
	}
	require.Greater(t, len(names), 4)
	return names
}

// mayNameBackends returns the reason why a file may name most of the backends close
// together, or "" if it may not.
func mayNameBackends(path string) string {
	switch path {
	case "drivers/list.go":
		return "the list of the drivers"
	case "bindings/python/src/ferrum_mem/_enums_by_hand.py":
		return "the enumeration of Python, held to the header below"
	case "core/discover/choose_test.go":
		return "the order of preference, each backend on a machine of its own"
	}
	return ""
}

// sourceCode states whether a file is source code that is not generated.
func sourceCode(path, text string) bool {
	switch filepath.Ext(path) {
	case ".go", ".c", ".h", ".cpp", ".hpp", ".py", ".rs", ".sh", ".pyi":
	default:
		if path != "Makefile" {
			return false
		}
	}
	head := strings.ToLower(text[:min(len(text), 300)])
	return !strings.Contains(head, "generated from") && !strings.Contains(head, "code generated")
}

var (
	comments = regexp.MustCompile(`^\s*(//|/?\*|#[^d])`)
	// word is a name inside a string, a constant or a path.
	word = regexp.MustCompile(`[A-Za-z0-9]+`)
)

// listOfBackends searches for lines close together that name all backends, or all except
// one. It returns the number of the first line, or 0 if there is no such place.
func listOfBackends(names []string, text string) int {
	const near = 5
	last := map[string]int{}
	for i, line := range strings.Split(text, "\n") {
		if comments.MatchString(line) {
			continue
		}
		for _, found := range word.FindAllString(line, -1) {
			for _, name := range names {
				if strings.TrimSuffix(strings.ToLower(found), "probe") == name {
					last[name] = i + 1
				}
			}
		}
		first, count := i+1, 0
		for _, at := range last {
			if at > i+1-near {
				first, count = min(first, at), count+1
			}
		}
		if count >= len(names)-1 {
			return first
		}
	}
	return 0
}

// drivers/list.go lists the backends, and the header names them. Any other list could miss
// a new backend.
func TestBackendsAreListedOnce(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	names, seen := backendNames(t, root), 0
	for _, path := range tree(t, root) {
		content, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) || err == nil && !sourceCode(path, string(content)) {
			continue
		}
		require.NoError(t, err)
		line := listOfBackends(names, string(content))
		if mayNameBackends(path) != "" {
			assert.NotZero(t, line, "%s may name the backends, and does not", path)
			seen++
			continue
		}
		assert.Zero(t, line, "%s:%d: a list of backends: derive it from the header or from drivers/list.go", path, line)
	}
	require.Equal(t, 3, seen)
}

// The enumeration of Python has every backend. That of Rust is generated from the header.
func TestEnumerationsHaveEveryBackend(t *testing.T) {
	root := filepath.Join("..", "..")
	path := "bindings/python/src/ferrum_mem/_enums_by_hand.py"
	content, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	for _, name := range backendNames(t, root) {
		assert.Regexp(t, `= _abi\.FERRUM_BACKEND_`+strings.ToUpper(name)+`\b`, string(content), path)
	}
}

func TestListsOfBackendsAreFound(t *testing.T) {
	names := []string{"host", "one", "two", "three", "four"}
	found := func(text string) int { return listOfBackends(names, text) }
	assert.Equal(t, 1, found(`x := []string{"host", "one", "two", "three"}`))
	assert.Equal(t, 2, found("import (\n\"drivers/one/oneprobe\"\n\"drivers/two\"\n\"drivers/threeprobe\"\nfourProbe.X, fourprobe.X"))
	assert.Equal(t, 1, found("X_HOST = 1\nX_ONE\n"+"BackendType::Two,\nthree"))
	assert.Zero(t, found(`x := []string{"host", "one", "two"}`))
	assert.Zero(t, found(`// host, one, two, three and four`))
	assert.Zero(t, found("host, one\n"+strings.Repeat("\n", 9)+"two, three, four"))
}
