//go:build cgo && (amd64 || arm64) && linux

package cpu

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
)

// untouched is the value of the memory around an output.
const untouched = 0xA5

// region returns memory whose last byte is the last byte before a page that cannot be read. A
// kernel that reads or writes behind it ends the test with a fault.
func region(t *testing.T, bytes int64) []byte {
	t.Helper()
	if bytes == 0 {
		return nil
	}
	page := int64(syscall.Getpagesize())
	whole := (bytes + page - 1) / page * page
	mapped, err := syscall.Mmap(-1, 0, int(whole+2*page), syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(mapped)) })
	require.NoError(t, syscall.Mprotect(mapped[page:page+whole], syscall.PROT_READ|syscall.PROT_WRITE))
	for i := page; i < page+whole-bytes; i++ {
		mapped[i] = untouched
	}
	memory := mapped[page : page+whole]
	t.Cleanup(func() {
		for i, b := range memory[:whole-bytes] {
			if b != untouched {
				require.Fail(t, "a write outside", "the byte %d before the memory of a request was written", whole-bytes-int64(i))
			}
		}
	})
	return memory[whole-bytes:]
}

func addressIn(memory []byte) uint64 {
	if len(memory) == 0 {
		return 64
	}
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(memory))))
}

// array is a tensor in a region, with strides in elements.
type array struct {
	kind    dtype.DType
	dims    []int64
	strides []int64
	origin  int64 // the element at index 0, in elements of the memory
	memory  []byte
}

func (a *array) elementBytes() int64 {
	_, bytes := a.kind.Block()
	return int64(bytes)
}

func (a *array) address() uint64 { return addressIn(a.memory) + uint64(a.origin*a.elementBytes()) }

// place makes an array. free: any order of dimensions, gaps, negative and zero strides;
// otherwise the last dimension is adjacent, and the others are in order with gaps.
func place(t *testing.T, r *rand.Rand, kind dtype.DType, free bool, dims ...int64) *array {
	t.Helper()
	a := &array{kind: kind, dims: dims, strides: make([]int64, len(dims))}
	order := r.Perm(len(dims))
	if !free || r.IntN(2) == 0 {
		for i := range order {
			order[i] = len(dims) - 1 - i
		}
	}
	span := int64(1)
	for i, d := range order {
		if free && r.IntN(10) == 0 {
			continue // a stride of 0
		}
		if (i > 0 || free) && r.IntN(4) == 0 {
			span += int64(r.IntN(3))
		}
		a.strides[d] = span
		span *= max(1, dims[d])
		if free && r.IntN(8) == 0 {
			a.origin += (max(1, dims[d]) - 1) * a.strides[d]
			a.strides[d] = -a.strides[d]
		}
	}
	elements := int64(1)
	for d, n := range dims {
		elements *= n
		_ = d
	}
	if elements == 0 {
		a.origin = 0
		a.memory = region(t, 0)
		return a
	}
	// The span ends at the last element that an index reaches.
	span = 1
	for d, n := range dims {
		span += (n - 1) * max(a.strides[d], -a.strides[d])
	}
	a.memory = region(t, span*a.elementBytes())
	for i := range a.memory {
		a.memory[i] = untouched
	}
	return a
}

// each calls f with every index and the position of its element.
func (a *array) each(f func(index []int64, element int64)) {
	for _, n := range a.dims {
		if n == 0 {
			return
		}
	}
	index := make([]int64, len(a.dims))
	for {
		element := a.origin
		for d, i := range index {
			element += i * a.strides[d]
		}
		f(index, element)
		d := len(index) - 1
		for ; d >= 0; d-- {
			if index[d]++; index[d] < a.dims[d] {
				break
			}
			index[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

func (a *array) get(element int64) float64 {
	if a.kind == dtype.F32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(a.memory[4*element:])))
	}
	size := a.elementBytes()
	var wide [8]byte
	if err := dtype.Convert(dtype.F64, wide[:], a.kind, a.memory[element*size:(element+1)*size]); err != nil {
		panic(err)
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(wide[:]))
}

func (a *array) put(element int64, value float64) {
	size := a.elementBytes()
	var wide [8]byte
	binary.LittleEndian.PutUint64(wide[:], math.Float64bits(value))
	if err := dtype.Convert(a.kind, a.memory[element*size:(element+1)*size], dtype.F64, wide[:]); err != nil {
		panic(err)
	}
}

// fill sets every element, and returns the array.
func (a *array) fill(value func() float64) *array {
	a.each(func(_ []int64, element int64) { a.put(element, value()) })
	return a
}

// values returns the elements in the order of their indices.
func (a *array) values() []float64 {
	var all []float64
	a.each(func(_ []int64, element int64) { all = append(all, a.get(element)) })
	return all
}

// requireUntouched checks the bytes between the elements of an output.
func (a *array) requireUntouched(t *testing.T) {
	t.Helper()
	size := a.elementBytes()
	inside := make([]bool, len(a.memory))
	a.each(func(_ []int64, element int64) {
		for i := range size {
			inside[element*size+i] = true
		}
	})
	for i, b := range a.memory {
		if !inside[i] && b != untouched {
			require.Fail(t, "a write outside", "byte %d, between the elements of an output, was written", i)
		}
	}
}

// numbers returns values in [-1, 1), and a few special values if special is set.
func numbers(r *rand.Rand, special bool) func() float64 {
	return func() float64 {
		if special && r.IntN(40) == 0 {
			return []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e-30, 65504}[r.IntN(7)]
		}
		return math.Round((2*r.Float64()-1)*1024) / 1024
	}
}

// epsilon is the relative error of one rounding to a type.
func epsilon(kind dtype.DType) float64 {
	switch kind {
	case dtype.F16:
		return 0x1p-11
	case dtype.BF16:
		return 0x1p-8
	}
	return 0x1p-24
}

// requireNear compares a value with the oracle's. scale is the size of the numbers that were
// added up.
func requireNear(t *testing.T, kind dtype.DType, want, got, scale float64, at any) {
	t.Helper()
	switch {
	case math.IsNaN(want):
		if !math.IsNaN(got) {
			require.Fail(t, "a wrong value", "%v at %v, where NaN is right", got, at)
		}
	case math.IsInf(want, 0):
		require.Equal(t, want, got, "at %v", at)
	case kind == dtype.F16 && math.Abs(want) > 65000 && math.IsInf(got, int(math.Copysign(1, want))):
	default:
		allowed := 1e-6*scale + 1.01*epsilon(kind)*math.Abs(want)
		if kind == dtype.F16 {
			allowed += 0x1p-25
		}
		if !(math.Abs(got-want) <= allowed) {
			require.Fail(t, "a wrong value", "%v at %v, where %v is right; %v is allowed", got, at, want, allowed)
		}
	}
}

// run computes a request with a workspace that ends before a page that cannot be read.
func run(t *testing.T, e *Engine, r Request) {
	t.Helper()
	bytes, err := e.Workspace(r)
	require.NoError(t, err)
	workspace := region(t, bytes)
	require.NoError(t, e.Run(r, addressIn(workspace), bytes))
}

// requests returns how many random requests a test makes of at most n. The race detector, which
// runs with -short, does not see the kernels: a fifth is enough for the Go code around them.
func requests(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

// onEachSet runs a test with every instruction set of the machine, with 1 to 3 threads. With
// -short it runs the test with 3 threads only.
func onEachSet(t *testing.T, test func(t *testing.T, e *Engine, r *rand.Rand)) {
	t.Helper()
	for _, name := range Sets() {
		t.Run(name, func(t *testing.T) {
			threads := 1
			if testing.Short() {
				threads = 3
			}
			for ; threads <= 3; threads++ {
				e, err := Open(Config{Instructions: name, Threads: threads})
				require.NoError(t, err)
				defer e.Close()
				test(t, e, rand.New(rand.NewPCG(7, uint64(threads))))
			}
		})
	}
}
