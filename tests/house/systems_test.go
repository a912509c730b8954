package house

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// elsewhere is a package as `go list` describes it for another system.
type elsewhere struct {
	Dir        string
	ImportPath string
	GoFiles    []string
	ImportMap  map[string]string
}

// elsewhereOf lists the host backend and all packages that it needs on another system. A
// package comes after those that it imports.
func elsewhereOf(t *testing.T, system string, options ...string) []elsewhere {
	t.Helper()
	arguments := append([]string{"list", "-deps", "-json=Dir,ImportPath,GoFiles,ImportMap"}, options...)
	command := exec.Command("go", append(arguments, "./drivers/host/...")...)
	command.Dir = filepath.Join("..", "..")
	command.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	output, err := command.Output()
	require.NoError(t, err)
	var packages []elsewhere
	for decoder := json.NewDecoder(strings.NewReader(string(output))); decoder.More(); {
		var p elsewhere
		require.NoError(t, decoder.Decode(&p))
		packages = append(packages, p)
	}
	return packages
}

// typeErrors checks the types of packages from their sources. Nothing is compiled: it takes
// seconds, and a compilation of the standard library for another system takes a minute. The
// bodies of functions outside the module are not checked. A package that imports one with
// errors is not checked either, as in a build.
func typeErrors(t *testing.T, packages []elsewhere) []string {
	t.Helper()
	var found []string
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	files := token.NewFileSet()
	for _, p := range packages {
		// go list names the generated main package of a test, whose file does not exist.
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") {
			continue
		}
		own := strings.HasPrefix(p.ImportPath, module)
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			parsed = append(parsed, file)
		}
		imports := importerFunc(func(path string) (*types.Package, error) {
			if mapped, is := p.ImportMap[path]; is {
				path = mapped
			}
			if made := checked[path]; made != nil {
				return made, nil
			}
			return nil, errNotChecked
		})
		var errors []string
		settings := types.Config{
			Importer: imports, IgnoreFuncBodies: !own, Sizes: types.SizesFor("gc", "amd64"),
			Error: func(err error) { errors = append(errors, err.Error()) },
		}
		made, _ := settings.Check(strings.Fields(p.ImportPath)[0], files, parsed, nil)
		switch {
		case len(errors) == 0:
			checked[p.ImportPath] = made
		case !strings.Contains(errors[0], errNotChecked.Error()):
			found = append(found, errors...)
		}
	}
	return found
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }

var errNotChecked = fmt.Errorf("has errors itself")

// The host backend and its tests compile for macOS.
func TestHostBackendIsOfMacOSToo(t *testing.T) {
	packages := elsewhereOf(t, "darwin", "-test")
	var files []string
	for _, p := range packages {
		files = append(files, p.GoFiles...)
	}
	require.Contains(t, files, "native_darwin.go")
	require.Contains(t, files, "calls_test.go")
	require.Empty(t, typeErrors(t, packages))
}

// A build for Windows has exactly one error, which states the reason.
func TestHostBackendSaysThatItIsNotOfWindows(t *testing.T) {
	errors := typeErrors(t, elsewhereOf(t, "windows"))
	require.Len(t, errors, 1)
	require.Contains(t, errors[0], "needs_a_unix_system_and_does_not_build_for_windows")
}

// The check finds an error in a function of the module, and follows it to no other package.
func TestTypeErrorsAreFound(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"bad.go":  "package bad\n\nfunc F() int { return wrong }\n",
		"user.go": "package user\n\nimport \"ferrum_mem/bad\"\n\nvar X = bad.F() + nothing\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	errors := typeErrors(t, []elsewhere{
		{Dir: folder, ImportPath: "ferrum_mem/bad", GoFiles: []string{"bad.go"}},
		{Dir: folder, ImportPath: "ferrum_mem/user", GoFiles: []string{"user.go"}},
	})
	require.Len(t, errors, 1)
	require.Contains(t, errors[0], "undefined: wrong")
}
