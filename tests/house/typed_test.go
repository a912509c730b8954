package house

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// typedPackage is a package of the module with its types.
type typedPackage struct {
	goPackage
	types *types.Package
	info  types.Info
	files *token.FileSet
}

// checker checks the types of each package of the module from source, once. Packages
// outside the module are read from the export data of the compiler (`go list -export`).
type checker struct {
	files   *token.FileSet
	listed  map[string]goPackage
	checked map[string]*typedPackage
	others  types.Importer
}

func (c *checker) Import(path string) (*types.Package, error) {
	if made, known := c.checked[path]; known {
		return made.types, nil
	}
	if p, own := c.listed[path]; own {
		made, err := c.check(p)
		if err != nil {
			return nil, err
		}
		return made.types, nil
	}
	return c.others.Import(path)
}

// check parses and checks a package of the module.
func (c *checker) check(p goPackage) (*typedPackage, error) {
	if made, known := c.checked[p.ImportPath]; known {
		return made, nil
	}
	var parsed []*ast.File
	for _, name := range p.files(false) {
		file, err := parser.ParseFile(c.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, file)
	}
	return c.checkFiles(p, parsed)
}

func (c *checker) checkFiles(p goPackage, parsed []*ast.File) (*typedPackage, error) {
	made := &typedPackage{goPackage: p, files: c.files, info: types.Info{Uses: map[*ast.Ident]types.Object{}}}
	settings := types.Config{Importer: c, FakeImportC: true}
	if len(p.CgoFiles) > 0 {
		// The checker knows no C declarations. The errors that this causes are ignored.
		settings.Error = func(error) {}
	}
	var err error
	made.types, err = settings.Check(p.ImportPath, c.files, parsed, &made.info)
	if err != nil && settings.Error == nil {
		return nil, err
	}
	c.checked[p.ImportPath] = made
	return made, nil
}

// exportData returns, for each package outside the module that the packages import, the
// file with its export data.
func exportData(packages []goPackage) (map[string]string, error) {
	var imports []string
	for _, p := range packages {
		for _, imported := range p.Imports {
			if imported != "C" && !strings.HasPrefix(imported, module) {
				imports = append(imports, imported)
			}
		}
	}
	slices.Sort(imports)
	arguments := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	command := exec.Command("go", append(arguments, slices.Compact(imports)...)...)
	command.Dir = filepath.Join("..", "..")
	output, err := command.Output()
	if err != nil {
		return nil, err
	}
	written := map[string]string{}
	for line := range strings.Lines(string(output)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		written[path] = file
	}
	return written, nil
}

// checking checks the whole module once, for all rules that need types.
var checking = sync.OnceValues(func() (*checker, error) {
	packages, err := listing()
	if err != nil {
		return nil, err
	}
	written, err := exportData(packages)
	if err != nil {
		return nil, err
	}
	c := &checker{files: token.NewFileSet(), listed: map[string]goPackage{}, checked: map[string]*typedPackage{}}
	c.others = importer.ForCompiler(c.files, "gc", func(path string) (io.ReadCloser, error) {
		if file := written[path]; file != "" {
			return os.Open(file)
		}
		return nil, fmt.Errorf("the compiler wrote nothing of %s", path)
	})
	for _, p := range packages {
		c.listed[p.ImportPath] = p
	}
	for _, p := range packages {
		if _, err := c.check(p); err != nil {
			return nil, err
		}
	}
	return c, nil
})

// typedPackagesOf returns the packages of the module with their types, without tests.
func typedPackagesOf(t *testing.T) []*typedPackage {
	t.Helper()
	c, err := checking()
	require.NoError(t, err)
	require.NotEmpty(t, c.listed)
	return slices.Collect(maps.Values(c.checked))
}

// imaginaryPackages checks packages of one file each. A package may import those before it.
func imaginaryPackages(t *testing.T, sources ...string) []*typedPackage {
	t.Helper()
	all, err := checking()
	require.NoError(t, err)
	c := &checker{files: token.NewFileSet(), checked: map[string]*typedPackage{}, others: all.others}
	made := make([]*typedPackage, len(sources))
	for i, source := range sources {
		file, err := parser.ParseFile(c.files, "", source, parser.SkipObjectResolution)
		require.NoError(t, err)
		made[i], err = c.checkFiles(goPackage{ImportPath: file.Name.Name}, []*ast.File{file})
		require.NoError(t, err)
	}
	return made
}
