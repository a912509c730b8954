package house

import (
	"bytes"
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A developer can keep a file of about 400 lines, or a function of about 70 lines, in mind.
// The bounds are a tenth higher, because splitting a coherent file or function costs more.
const (
	maxFileLines     = 440
	maxFunctionLines = 77
)

func generated(file *ast.File) bool { return ast.IsGenerated(file) }

func TestFilesAndFunctionsAreShort(t *testing.T) {
	for _, p := range packagesOf(t) {
		for _, path := range p.files(true) {
			files, file := parse(t, path)
			if generated(file) {
				continue
			}
			name := filepath.Join(p.room(), filepath.Base(path))
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.LessOrEqual(t, bytes.Count(content, []byte("\n")), maxFileLines, "lines of %s", name)
			for _, declaration := range file.Decls {
				function, ok := declaration.(*ast.FuncDecl)
				if !ok {
					continue
				}
				lines := files.Position(function.End()).Line - files.Position(function.Pos()).Line + 1
				// Functions of tests are exempt: a long table of cases is data and easy to
				// read.
				if strings.HasSuffix(name, "_test.go") {
					continue
				}
				assert.LessOrEqual(t, lines, maxFunctionLines, "lines of %s in %s", function.Name.Name, name)
			}
		}
	}
}

// Every package has a package comment in doc.go. Below core, drivers and engines the comment
// states the order in which its locks are taken.
func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range packagesOf(t) {
		path := filepath.Join(p.Dir, "doc.go")
		if !assert.FileExists(t, path, "%s has no doc.go", p.room()) {
			continue
		}
		_, file := parse(t, path)
		comment := file.Doc.Text()
		assert.NotEmpty(t, comment, "doc.go of %s has no package comment", p.room())
		if within(p.room(), "core") || within(p.room(), "drivers") || within(p.room(), "engines") || p.room() == loader {
			assert.Contains(t, strings.ToLower(comment), "lock", "doc.go of %s says nothing of locks", p.room())
		}
	}
}

// device.Go gives each goroutine an owner and reports its panic. A panic in a bare go
// statement would end the process of the host program.
func TestGoroutinesStartInOnePlace(t *testing.T) {
	for _, p := range packagesOf(t) {
		if p.room() == "core/device" || within(p.room(), "tests") {
			continue
		}
		for _, path := range p.files(false) {
			files, file := parse(t, path)
			ast.Inspect(file, func(node ast.Node) bool {
				if statement, ok := node.(*ast.GoStmt); ok {
					assert.Fail(t, "go statement", "%s: use device.Go", files.Position(statement.Pos()))
				}
				return true
			})
		}
	}
}

// A name without a meaning attracts code that belongs to other packages.
func TestPackagesAreNamedForTheirConcern(t *testing.T) {
	for _, p := range packagesOf(t) {
		for _, empty := range []string{"util", "utils", "common", "misc", "helpers", "shared", "base"} {
			assert.NotEqual(t, empty, filepath.Base(p.ImportPath), "package %s", p.ImportPath)
		}
	}
}
