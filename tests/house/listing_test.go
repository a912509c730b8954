package house

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "ferrum_mem/"

// goPackage is the output of `go list -json` for a package of the module.
type goPackage struct {
	Dir          string
	ImportPath   string
	Imports      []string
	Deps         []string
	TestImports  []string
	XTestImports []string
	GoFiles      []string
	CgoFiles     []string
	TestGoFiles  []string
	XTestGoFiles []string
}

// room returns the path of the package inside the module, such as "core/pool".
func (p goPackage) room() string { return strings.TrimPrefix(p.ImportPath, module) }

// files returns the Go files of the package, with its test files if tests is set.
func (p goPackage) files(tests bool) []string {
	names := slices.Concat(p.GoFiles, p.CgoFiles)
	if tests {
		names = slices.Concat(names, p.TestGoFiles, p.XTestGoFiles)
	}
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = filepath.Join(p.Dir, name)
	}
	return paths
}

var listing = sync.OnceValues(func() ([]goPackage, error) {
	// The tag adds the files of the test-only build to capi.
	command := exec.Command("go", "list", "-json", "-tags", "ferrum_test_exports", "./...")
	command.Dir = filepath.Join("..", "..")
	output, err := command.Output()
	if err != nil {
		return nil, err
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p goPackage
		if err := decoder.Decode(&p); err == io.EOF {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
})

// packagesOf lists the packages of the module. It fails the test if there are none.
func packagesOf(t *testing.T) []goPackage {
	t.Helper()
	packages, err := listing()
	require.NoError(t, err)
	require.NotEmpty(t, packages)
	return packages
}

// parse reads one Go file with its comments.
func parse(t *testing.T, path string) (*token.FileSet, *ast.File) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
	require.NoError(t, err)
	return files, file
}

// within states whether a package is the folder or lies below it.
func within(room, folder string) bool {
	return room == folder || strings.HasPrefix(room, folder+"/")
}
