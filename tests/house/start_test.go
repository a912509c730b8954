package house

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// heavy lists packages that the library must not link. A program that loads the library
// would wait for their initialisation and for the relocations of their types.
var heavy = []string{
	"crypto/tls", "encoding/gob", "encoding/xml", "expvar", "flag", "go/ast", "html", "html/template", "log", "log/slog",
	"math/big", "net", "net/http", "os/signal", "os/user", "regexp", "runtime/pprof", "runtime/trace", "testing",
	"text/tabwriter", "text/template",
}

// ofTheLibrary returns the packages of the module that are linked into the library.
func ofTheLibrary(t *testing.T) []goPackage {
	t.Helper()
	packages := packagesOf(t)
	at := slices.IndexFunc(packages, func(p goPackage) bool { return p.room() == "capi" })
	require.GreaterOrEqual(t, at, 0)
	return slices.DeleteFunc(slices.Clone(packages), func(p goPackage) bool {
		return p.room() != "capi" && !slices.Contains(packages[at].Deps, p.ImportPath)
	})
}

func TestTheLibraryLinksNothingHeavy(t *testing.T) {
	linked := ofTheLibrary(t)
	require.Greater(t, len(linked), 10)
	for _, p := range linked {
		for _, name := range heavy {
			assert.NotContains(t, p.Deps, name, "%s is linked into the library, by %s", name, p.room())
		}
	}
}

// Go builds a non-empty map of a package variable when the library is loaded, even if no
// program uses the map.
func TestTheLibraryLoadsWithoutMakingTables(t *testing.T) {
	for _, p := range ofTheLibrary(t) {
		for _, path := range p.files(false) {
			files, file := parse(t, path)
			for _, declaration := range file.Decls {
				if variables, ok := declaration.(*ast.GenDecl); ok && variables.Tok == token.VAR {
					for _, table := range tablesIn(variables) {
						t.Errorf("%s:%d: a table that is made while the library is loaded: make it a switch, an array, or a function",
							filepath.Join(p.room(), filepath.Base(path)), files.Position(table.Pos()).Line)
					}
				}
			}
		}
	}
}

// tablesIn finds the maps with entries in the values of variables, at any depth outside
// functions.
func tablesIn(variables *ast.GenDecl) []ast.Node {
	var tables []ast.Node
	ast.Inspect(variables, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CompositeLit:
			if _, isMap := n.Type.(*ast.MapType); isMap && len(n.Elts) > 0 {
				tables = append(tables, n)
			}
		}
		return true
	})
	return tables
}

func TestTablesAreFound(t *testing.T) {
	_, file := parse(t, filepath.Join("testdata", "tables.go"))
	found := 0
	for _, declaration := range file.Decls {
		if variables, ok := declaration.(*ast.GenDecl); ok && variables.Tok == token.VAR {
			found += len(tablesIn(variables))
		}
	}
	require.Equal(t, 2, found)
}
