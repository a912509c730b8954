package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rawSize matches a size that a format writes in bytes only: "%d bytes".
var rawSize = regexp.MustCompile(`%d bytes\b`)

// rawSizes returns the text literals of a file that write a size in bytes only.
func rawSizes(t *testing.T, path string, content any) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, content, 0)
	require.NoError(t, err)
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && rawSize.MatchString(text.Value) {
			found = append(found, files.Position(text.Pos()).String()+": "+text.Value)
		}
		return true
	})
	return found
}

// A message for people has sizes in a readable unit: device.Size with the verb %v.
func TestMessagesHaveSizesInReadableUnits(t *testing.T) {
	root := filepath.Join("..", "..")
	checked := 0
	for _, path := range tree(t, root) {
		room, _, _ := strings.Cut(path, "/")
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || (room != "core" && room != "drivers" && room != "capi") {
			continue
		}
		checked++
		for _, found := range rawSizes(t, filepath.Join(root, path), nil) {
			assert.Fail(t, "a size in bytes only", "%s: use %%v and device.Size", found)
		}
	}
	assert.Greater(t, checked, 400)
}

func TestTheCheckOfSizesFindsThem(t *testing.T) {
	source := "package p\nvar a = \"a block of %d bytes\"\nvar b = `%d bytes`\nvar c = \"%d bytesize, %v, %d pages\"\n"
	assert.Len(t, rawSizes(t, "p.go", source), 2)
}
