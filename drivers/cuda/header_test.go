package cuda

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/drivers/cuda/cudaprobe"
	"ferrum_mem/internal/dl"
)

// headerText is C code that compiles only if this package agrees with the vendor's header.
// It contains the numbers and structs of the package, by the names in their comments, and
// the prototype of each function of the table in its version.
type headerText struct {
	t *testing.T
	strings.Builder
	// said maps C expressions to their values in this package.
	said map[string]int64
}

// vendorFiles are the files that contain nothing except numbers and structs of the vendor.
var vendorFiles = map[string]bool{"layout.go": true, "errors.go": true}

var (
	vendorNumber = regexp.MustCompile(`^CU[A-Z]*_[A-Z0-9_]+$`)
	vendorStruct = regexp.MustCompile(`\bis (CU[A-Za-z0-9_]+)\b`)
	suffix       = regexp.MustCompile(`_v\d+$`)
)

func (h *headerText) equal(expression string, value int64) {
	fmt.Fprintf(h, "_Static_assert(%s == %d, \"%s\");\n", expression, value, expression)
	h.said[expression] = value
}

// source adds the values of a file.
func (h *headerText) source(path string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	require.NoError(h.t, err)
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	// Names of other files are unresolved here. None of them is a value of the vendor.
	check := types.Config{Error: func(error) {}, Sizes: types.SizesFor("gc", "amd64")}
	_, _ = check.Check("cuda", set, []*ast.File{file}, info)
	whole := vendorFiles[filepath.Base(path)]
	for _, declaration := range file.Decls {
		group, is := declaration.(*ast.GenDecl)
		if !is {
			continue
		}
		for _, spec := range group.Specs {
			switch one := spec.(type) {
			case *ast.ValueSpec:
				if group.Tok == token.CONST {
					h.number(set, one, info, whole)
				}
			case *ast.TypeSpec:
				doc := group.Doc.Text() + one.Doc.Text()
				if name := vendorStruct.FindStringSubmatch(doc); name != nil {
					h.layout(name[1], one, info, check.Sizes)
				} else if _, is := one.Type.(*ast.StructType); is {
					require.False(h.t, whole, "%s: %s does not say which struct of the header it is", path, one.Name.Name)
				}
			}
		}
	}
}

func (h *headerText) number(set *token.FileSet, spec *ast.ValueSpec, info *types.Info, whole bool) {
	name := strings.TrimSpace(spec.Comment.Text())
	if !vendorNumber.MatchString(name) {
		require.False(h.t, whole, "%v: %s has no name of the header behind it", set.Position(spec.Pos()), spec.Names[0].Name)
		return
	}
	value, exact := constant.Int64Val(info.Defs[spec.Names[0]].(*types.Const).Val())
	require.True(h.t, exact, name)
	h.equal(name, value)
}

// layout adds the size of a struct, and the offset and size of each named field.
func (h *headerText) layout(name string, spec *ast.TypeSpec, info *types.Info, sizes types.Sizes) {
	layout, is := info.Defs[spec.Name].Type().Underlying().(*types.Struct)
	if !is {
		return
	}
	h.equal("sizeof("+name+")", sizes.Sizeof(layout))
	fields := make([]*types.Var, layout.NumFields())
	for i := range fields {
		fields[i] = layout.Field(i)
	}
	offsets, at := sizes.Offsetsof(fields), 0
	for _, line := range spec.Type.(*ast.StructType).Fields.List {
		for _, field := range line.Names {
			if field.Name != "_" {
				theirs := strings.TrimSpace(line.Comment.Text())
				require.NotEmpty(h.t, theirs, "%s.%s has no name of the header behind it", spec.Name.Name, field.Name)
				h.equal("offsetof("+name+", "+theirs+")", offsets[at])
				h.equal("sizeof((("+name+" *)0)->"+theirs+")", sizes.Sizeof(fields[at].Type()))
			}
			at++
		}
	}
}

func newHeaderText(t *testing.T) *headerText { return &headerText{t: t, said: map[string]int64{}} }

// sources adds the values of the package and of its probe.
func (h *headerText) sources() {
	paths, err := filepath.Glob("*.go")
	require.NoError(h.t, err)
	probe, err := filepath.Glob("cudaprobe/*.go")
	require.NoError(h.t, err)
	for _, path := range append(paths, probe...) {
		if !strings.HasSuffix(path, "_test.go") {
			h.source(path)
		}
	}
	require.Greater(h.t, len(h.said), 60)
}

// A compiler checks that the layouts, numbers, names and versions of this package equal
// those of the vendor's header.
func TestLayoutsAndNumbersEqualTheVendorsHeader(t *testing.T) {
	headers, err := filepath.Glob("../../build/venv/lib/python3*/site-packages/nvidia/cuda_runtime/include")
	require.NoError(t, err)
	compiler, missing := exec.LookPath("cc")
	if len(headers) == 0 || missing != nil {
		t.Skip("the vendor's header (wheel nvidia-cuda-runtime-cu12) or a C compiler is not there")
	}
	text := newHeaderText(t)
	text.WriteString("#define __CUDA_API_VERSION_INTERNAL 1\n#include <cuda.h>\n#include <cudaTypedefs.h>\n#include <stddef.h>\n")
	text.equal("CUDA_VERSION", 12090)
	text.equal("sizeof(CUuuid)", int64(len(found{}.uuid)))
	text.sources()
	// The compiler rejects an undeclared function and a different prototype.
	for _, row := range new(api).table() {
		require.NotZero(t, row.Since, "%s: say Since in the table: N of PFN_..._vN in cudaTypedefs.h", row.Name)
		require.True(t, row.Group != dl.Required || row.Since <= cudaprobe.MinimumVersion,
			"%s is of interface %d, so that it has to be one that can be done without", row.Name, row.Since)
		fmt.Fprintf(text, "PFN_%s_v%d use_%s = %s;\n", suffix.ReplaceAllString(row.Name, ""), row.Since, row.Name, row.Name)
	}
	check := exec.Command(compiler, "-x", "c", "-std=c11", "-fsyntax-only", "-Werror", "-isystem", headers[0], "-")
	check.Stdin = strings.NewReader(text.String())
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

var (
	layoutSize   = regexp.MustCompile(`^sizeof\((\w+)\)=(\d+)`)
	layoutField  = regexp.MustCompile(`^\s+(\w+)\.(\w+) @(\d+) size (\d+)$`)
	layoutNumber = regexp.MustCompile(`^(CU\w+)=(\d+)$`)
)

// testdata contains the layouts and numbers of two other versions of the header. The values
// that this package uses are the same there.
func TestHeadersOfOtherVersionsAgree(t *testing.T) {
	text := newHeaderText(t)
	text.sources()
	paths, err := filepath.Glob("testdata/cuda_layouts_*.txt")
	require.NoError(t, err)
	require.Len(t, paths, 2)
	for _, path := range paths {
		listing, err := os.ReadFile(path)
		require.NoError(t, err)
		agreed := 0
		agree := func(expression, number string) {
			value, err := strconv.ParseInt(number, 10, 64)
			require.NoError(t, err)
			if said, has := text.said[expression]; has {
				require.Equal(t, value, said, "%s: %s", path, expression)
				agreed++
			}
		}
		for _, line := range strings.Split(string(listing), "\n") {
			if found := layoutSize.FindStringSubmatch(line); found != nil {
				agree("sizeof("+found[1]+")", found[2])
			}
			if found := layoutField.FindStringSubmatch(line); found != nil {
				agree("offsetof("+found[1]+", "+found[2]+")", found[3])
				agree("sizeof((("+found[1]+" *)0)->"+found[2]+")", found[4])
			}
			if found := layoutNumber.FindStringSubmatch(line); found != nil {
				agree(found[1], found[2])
			}
		}
		require.Greater(t, agreed, 30, path)
	}
}
