package house

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reference states that a file of a package uses a name that another file declares. There
// is at most one reference for each pair of files.
type reference struct{ from, to string }

// nothing is an importer that returns empty packages. The check needs only the names of the
// package itself.
type nothing struct{}

func (nothing) Import(path string) (*types.Package, error) {
	imported := types.NewPackage(path, filepath.Base(path))
	imported.MarkComplete()
	return imported, nil
}

// referencesOf finds the references between the files of a folder that are built on this
// system.
func referencesOf(t *testing.T, folder string) map[reference]bool {
	t.Helper()
	built, err := build.ImportDir(folder, 0)
	require.NoError(t, err)
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range append(built.GoFiles, built.CgoFiles...) {
		file, err := parser.ParseFile(files, filepath.Join(folder, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		parsed = append(parsed, file)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	settings := types.Config{Importer: nothing{}, FakeImportC: true, Error: func(error) {}}
	// Names of other packages cause errors. They are ignored, because only the package's
	// own names matter here.
	made, _ := settings.Check(built.Name, files, parsed, &info)
	found := map[reference]bool{}
	for name, used := range info.Uses {
		if used.Pkg() != made || !used.Pos().IsValid() || !declaredAtTop(made, used) {
			continue
		}
		from, to := fileOf(files, name.Pos()), fileOf(files, used.Pos())
		if from != to {
			found[reference{from, to}] = true
		}
	}
	return found
}

// declaredAtTop states whether an object is a name of the package, or a method or field of
// one of its types.
func declaredAtTop(made *types.Package, used types.Object) bool {
	switch object := used.(type) {
	case *types.Func:
		return true
	case *types.Var:
		return object.IsField() || object.Parent() == made.Scope()
	default:
		return used.Parent() == made.Scope()
	}
}

func fileOf(files *token.FileSet, position token.Pos) string {
	return filepath.Base(files.Position(position).Filename)
}

// readingOrder matches the list of files under this heading in a package comment.
var readingOrder = regexp.MustCompile(`(?s)# Files in reading order\n(.*?)(?:\n#|\z)`)

// doc.go lists the files of a package in reading order: a file mostly uses names of files
// before it. At most a tenth of the references may go against the order.
func TestFilesAreReadInOrder(t *testing.T) {
	for _, p := range packagesOf(t) {
		names := p.files(false)
		for i, path := range names {
			names[i] = filepath.Base(path)
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == "doc.go" })
		if len(names) < 4 || !within(p.room(), "core") && !within(p.room(), "drivers") && p.room() != loader {
			continue
		}
		_, file := parse(t, filepath.Join(p.Dir, "doc.go"))
		section := readingOrder.FindStringSubmatch(file.Doc.Text())
		if !assert.NotNil(t, section, "doc.go of %s lists no files in reading order", p.room()) {
			continue
		}
		order := regexp.MustCompile(`\w+\.go\b`).FindAllString(section[1], -1)
		if !assert.ElementsMatch(t, names, order, "files of %s, and those that its doc.go lists", p.room()) {
			continue
		}
		all := referencesOf(t, p.Dir)
		var against []string
		for r := range all {
			if slices.Index(order, r.from) < slices.Index(order, r.to) {
				against = append(against, r.from+" uses "+r.to)
			}
		}
		slices.Sort(against)
		assert.LessOrEqual(t, len(against)*10, len(all), "references in %s go against the order: %s", p.room(), strings.Join(against, ", "))
	}
}
