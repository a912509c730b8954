package rangealloc_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/bits"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/rangealloc/conformance"
)

func makeTLSF(c rangealloc.Config) (rangealloc.Strategy, error) { return rangealloc.New("tlsf", c) }

// classStarts are the shortest sizes of the classes, in granules: each of the first 64
// sizes, and then 32 steps for every power of two.
var classStarts = func() []uint64 {
	starts := make([]uint64, 0, 64*32)
	for size := range uint64(64) {
		starts = append(starts, size)
	}
	for step := uint64(2); step <= 1<<58; step *= 2 {
		for i := range uint64(32) {
			starts = append(starts, (32+i)*step)
		}
	}
	return starts
}()

// naiveClass returns the last class that does not start above the size.
func naiveClass(size uint64) int {
	return sort.Search(len(classStarts), func(i int) bool { return classStarts[i] > size }) - 1
}

// goodFit checks the place of a block. Of the runs in classes whose runs all hold the
// request, one of the smallest class must have been used, at its start; the run at the
// end of the range only if there is no such run. Two other places are allowed: a run of
// the request's own class, if there is no such run; and, with an alignment, a run that
// holds the request at any address, if the run of the smallest class does not.
func goodFit(c rangealloc.Config, free []rangealloc.Range, r conformance.Request, got rangealloc.Range) error {
	var taken rangealloc.Range
	for _, run := range free {
		if got.Offset >= run.Offset && got.Offset-run.Offset < run.Size {
			taken = run
		}
	}
	if first, _ := conformance.FirstAligned(c, taken, r); first != got.Offset {
		return fmt.Errorf("%+v is not at the first place in the run %+v", got, taken)
	}
	atEnd := func(run rangealloc.Range) bool { return run.Offset+run.Size == c.SizeBytes }
	padded, carry := bits.Add64(got.Size/c.GranuleBytes, max(r.Align, c.GranuleBytes)/c.GranuleBytes-1, 0)
	for _, run := range free {
		if carry != 0 || atEnd(run) || naiveClass(run.Size/c.GranuleBytes) <= naiveClass(padded-1) {
			continue // this run need not be found for the request
		}
		if atEnd(taken) || naiveClass(run.Size/c.GranuleBytes) < naiveClass(taken.Size/c.GranuleBytes) {
			return fmt.Errorf("%+v is in the run %+v, though %+v is of a lesser class and holds it", got, taken, run)
		}
	}
	return nil
}

// only32nd reports whether a request may fail: it must succeed if a free run is a 32nd
// longer, or if one run is all that is free. Lengths are in granules, and the alignment
// counts with the most padding that it may need.
func only32nd(c rangealloc.Config, free []rangealloc.Range, r conformance.Request) bool {
	need, carry := bits.Add64((r.Size-1)/c.GranuleBytes+1, max(r.Align, c.GranuleBytes)/c.GranuleBytes-1, 0)
	if carry != 0 {
		return true
	}
	for _, run := range free {
		size := run.Size / c.GranuleBytes
		if size >= need && (len(free) == 1 || size-need >= need/32) {
			return false
		}
	}
	return true
}

var tlsfPromises = conformance.Options{
	ExactSize: true, Coalesces: true, ServesLargest: true, Admits: goodFit, MayRefuse: only32nd,
}

func TestTLSF(t *testing.T) { conformance.Run(t, makeTLSF, tlsfPromises) }

func FuzzTLSF(f *testing.F) { conformance.Fuzz(f, makeTLSF, tlsfPromises) }

// The bound on time is checked in the source: the files of the strategy's operations have
// no loop and no recursion. (The hash table is in another file.)
func TestTLSFNeverSearches(t *testing.T) {
	calls := map[string][]string{}
	for _, file := range []string{"tlsf.go", "tlsf_classes.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, declared := range parsed.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			calls[f.Name.Name] = nil
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ForStmt, *ast.RangeStmt, *ast.BranchStmt:
					t.Errorf("%s of %s has a loop", f.Name.Name, file)
				case *ast.CallExpr:
					if called, ok := n.Fun.(*ast.SelectorExpr); ok {
						calls[f.Name.Name] = append(calls[f.Name.Name], called.Sel.Name)
					}
				}
				return true
			})
		}
	}
	require.Contains(t, calls["Alloc"], "find")
	for _, f := range []string{"find", "findAligned", "take", "Free"} {
		require.Contains(t, calls, f)
	}
}

// There are thousands of runs of one class, of which only one is long enough: tlsf does
// not search for it, so the request fails. A run of the next class is found.
func TestTLSFDoesNotSearchAClass(t *testing.T) {
	const granule = 256
	s, err := makeTLSF(rangealloc.Config{SizeBytes: 1 << 30, GranuleBytes: granule})
	require.NoError(t, err)
	// 1024 and 1055 granules are in one class, 1056 in the next.
	sizes := []uint64{1055}
	for range 3000 {
		sizes = append(sizes, 1024)
	}
	var holes []uint64
	for _, size := range sizes {
		got, err := s.Alloc(rangealloc.Request{Size: size * granule, Align: granule})
		require.NoError(t, err)
		holes = append(holes, got.Offset)
		_, err = s.Alloc(rangealloc.Request{Size: granule, Align: granule})
		require.NoError(t, err)
	}
	rest := s.Stats().LargestFreeBytes
	_, err = s.Alloc(rangealloc.Request{Size: rest, Align: granule})
	require.NoError(t, err)
	for _, hole := range holes {
		_, err := s.Free(hole)
		require.NoError(t, err)
	}
	require.Equal(t, uint64(1024*granule), s.Stats().LargestFreeBytes)
	_, err = s.Alloc(rangealloc.Request{Size: 1055 * granule, Align: granule})
	require.Equal(t, rangealloc.ErrNoRoom, err)
	got, err := s.Alloc(rangealloc.Request{Size: 1023 * granule, Align: granule})
	require.NoError(t, err)
	require.Contains(t, holes, got.Offset)
	require.NoError(t, s.Check())
}
