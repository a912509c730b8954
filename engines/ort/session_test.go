//go:build cgo && linux

package ort

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/internal/dl"
)

// The tests write graphs themselves: fields of protobuf messages by their numbers.

func varint(field int, value uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3), value)
}

func bytesOf(field int, value []byte) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3|2), uint64(len(value))), value...)
}

func textOf(field int, value string) []byte { return bytesOf(field, []byte(value)) }

// valueInfo describes an input or an output. A length of -1 is the dimension "n".
func valueInfo(name string, kind uint64, shape ...int64) []byte {
	var dims []byte
	for _, length := range shape {
		dim := varint(1, uint64(length))
		if length < 0 {
			dim = textOf(2, "n")
		}
		dims = append(dims, bytesOf(1, dim)...)
	}
	return append(textOf(1, name), bytesOf(2, bytesOf(1, append(varint(1, kind), bytesOf(2, dims)...)))...)
}

func node(kind string, inputs, outputs []string) (n []byte) {
	for _, name := range inputs {
		n = append(n, textOf(1, name)...)
	}
	for _, name := range outputs {
		n = append(n, textOf(2, name)...)
	}
	return append(n, textOf(4, kind)...)
}

// elsewhere describes an initialiser of F32 whose elements are in memory.
func elsewhere(name string, shape ...int64) (t []byte) {
	for _, length := range shape {
		t = append(t, varint(1, uint64(length))...)
	}
	t = append(append(t, varint(2, 1)...), textOf(8, name)...)
	t = append(t, bytesOf(13, append(textOf(1, "location"), textOf(2, "elements")...))...)
	return append(t, varint(14, 1)...)
}

func model(parts ...[]byte) []byte {
	graph := slices.Concat(append(parts, textOf(2, "graph"))...)
	return slices.Concat(varint(1, 8), bytesOf(7, graph), bytesOf(8, append(textOf(1, ""), varint(2, 17)...)))
}

// memory is memory for sessions that counts, and that fails at one call.
type memory struct {
	mu     sync.Mutex
	live   map[device.Addr][]byte
	allocs int
	failAt int // the number of the call that fails, from 1; 0: none
}

func newMemory() *memory { return &memory{live: map[device.Addr][]byte{}} }

func (m *memory) Alloc(size uint64) (device.Addr, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.allocs++; m.allocs == m.failAt {
		return 0, device.Errorf(device.CodeOutOfPhysicalMemory, "test.alloc", "no room for %v", device.Size(size))
	}
	block := make([]byte, size+64)
	at := device.Addr((uintptr(unsafe.Pointer(&block[0])) + 63) &^ 63)
	m.live[at] = block
	return at, nil
}

func (m *memory) Free(addr device.Addr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.live, addr)
}

func addrOf(numbers []float32) device.Addr { return device.Addr(uintptr(unsafe.Pointer(&numbers[0]))) }

const width = 64

// product is y = relu(x * w) * w, with w in memory.
func product(m *memory, w []float32) compute.Graph {
	return compute.Graph{
		Name: "product", External: "elements", Memory: m,
		ONNX: model(
			bytesOf(1, node("MatMul", []string{"x", "w"}, []string{"h"})), bytesOf(1, node("Relu", []string{"h"}, []string{"r"})),
			bytesOf(1, node("MatMul", []string{"r", "w"}, []string{"y"})), bytesOf(5, elsewhere("w", width, width)),
			bytesOf(11, valueInfo("x", 1, -1, width)), bytesOf(12, valueInfo("y", 1, -1, width)),
		),
		Constants: []compute.Constant{{Name: "w", Type: dtype.F32, Shape: []int64{width, width}, Addr: addrOf(w)}},
	}
}

// diagonal is a matrix with one number on its diagonal.
func diagonal(number float32) []float32 {
	w := make([]float32, width*width)
	for i := range width {
		w[i*width+i] = number
	}
	return w
}

func open(t *testing.T, g compute.Graph) compute.Session {
	t.Helper()
	installed(t)
	e, err := New(compute.Options{Threads: 1, Level: 2})
	require.NoError(t, err)
	s, err := e.OpenGraph(g)
	require.NoError(t, err)
	return s
}

// runOf runs y of x, whose elements are all one number. The output is made by the session.
func runOf(t *testing.T, s compute.Session, rows int64, number float32) (float32, error) {
	t.Helper()
	x := make([]float32, rows*width)
	for i := range x {
		x[i] = number
	}
	outputs := []compute.Bound{{Name: "y"}}
	done, err := s.Run([]compute.Bound{{Name: "x", Type: dtype.F32, Shape: []int64{rows, width}, Addr: addrOf(x)}}, outputs)
	require.NotNil(t, done)
	defer done()
	if err != nil {
		return 0, err
	}
	assert.Equal(t, dtype.F32, outputs[0].Type)
	assert.Equal(t, []int64{rows, width}, outputs[0].Shape)
	y := unsafe.Slice((*float32)(pointerTo(uintptr(outputs[0].Addr))), rows*width)
	assert.Equal(t, y[0], y[rows*width-1])
	return y[0], nil
}

// A session reads its constants in the memory of the caller, at each run, and takes all its memory from the
// memory it is given.
func TestSessionsShareConstants(t *testing.T) {
	installed(t)
	m, w := newMemory(), diagonal(2)
	s := open(t, product(m, w))
	assert.Equal(t, []compute.GraphValue{{Name: "x", Type: dtype.F32, Shape: []int64{-1, width}, Dims: []string{"n", ""}}}, s.Inputs())
	assert.Equal(t, "y", s.Outputs()[0].Name)
	got, err := runOf(t, s, 3, 5)
	require.NoError(t, err)
	assert.Equal(t, float32(20), got)
	assert.Positive(t, m.allocs)
	assert.Empty(t, m.live, "nothing stays after a run")
	copy(w, diagonal(3))
	got, err = runOf(t, s, 2, 1)
	require.NoError(t, err)
	assert.Equal(t, float32(9), got, "the elements are not copied")

	// An output in the memory of the caller.
	x, y := slices.Repeat([]float32{2}, width), make([]float32, width)
	done, err := s.Run([]compute.Bound{{Name: "x", Type: dtype.F32, Shape: []int64{1, width}, Addr: addrOf(x)}},
		[]compute.Bound{{Name: "y", Type: dtype.F32, Shape: []int64{1, width}, Addr: addrOf(y)}})
	require.NoError(t, err)
	done()
	assert.Equal(t, slices.Repeat([]float32{18}, width), y)
	s.Close()
	assert.Empty(t, m.live)
}

// Each session has the memory that it was given.
func TestSessionsHaveTheirOwnMemory(t *testing.T) {
	installed(t)
	w := diagonal(2)
	memories := []*memory{newMemory(), newMemory()}
	first, second := open(t, product(memories[0], w)), open(t, product(memories[1], w))
	before := memories[1].allocs
	_, err := runOf(t, first, 2, 1)
	require.NoError(t, err)
	assert.Positive(t, memories[0].allocs)
	assert.Equal(t, before, memories[1].allocs)
	first.Close()
	_, err = runOf(t, second, 2, 1)
	require.NoError(t, err)
	assert.Greater(t, memories[1].allocs, before)
	second.Close()
}

// Memory that fails at each call in turn: an error of the memory, nothing leaked, and the session goes on.
// An allocator that another part of the process has registered stays registered: a session is refused meanwhile.
func TestAnAllocatorOfTheProcessIsKept(t *testing.T) {
	r := installed(t)
	m := newMemory()
	g := product(m, diagonal(2))
	open(t, g).Close()
	theirs, err := r.newAllocator(m, r.memoryInfo)
	require.NoError(t, err)
	defer theirs.close()
	require.NoError(t, r.call("test", registerAllocator, r.environment, theirs.table))
	e, err := New(compute.Options{Threads: 1, Level: 2})
	require.NoError(t, err)
	_, err = e.OpenGraph(g)
	require.ErrorIs(t, err, device.CodeUnsupported)
	require.ErrorContains(t, err, anotherAllocator)
	if r.api >= sharedAllocatorSince {
		var registered uintptr
		require.NoError(t, r.call("test", sharedAllocator, r.environment, r.memoryInfo, dl.Pointer(&registered)))
		require.Equal(t, theirs.table, registered)
	}
	require.NoError(t, r.call("test", unregisterAllocator, r.environment, r.memoryInfo))
	open(t, g).Close()
}

func TestMemoryThatFails(t *testing.T) {
	installed(t)
	w := diagonal(2)
	clean := newMemory()
	s := open(t, product(clean, w))
	opening := clean.allocs
	_, err := runOf(t, s, 4, 1)
	require.NoError(t, err)
	running := clean.allocs - opening
	s.Close()
	require.Positive(t, running)
	for at := 1; at <= opening; at++ {
		m := newMemory()
		m.failAt = at
		e, err := New(compute.Options{Threads: 1})
		require.NoError(t, err)
		_, err = e.OpenGraph(product(m, w))
		require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
		assert.Empty(t, m.live)
	}
	m := newMemory()
	s = open(t, product(m, w))
	for at := 1; at <= running; at++ {
		m.failAt = m.allocs + at
		_, err := runOf(t, s, 4, 1)
		require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory, "call %d", at)
		assert.Contains(t, err.Error(), "no room for")
		assert.Empty(t, m.live)
		got, err := runOf(t, s, 4, 1)
		require.NoError(t, err)
		assert.Equal(t, float32(4), got)
	}
	s.Close()
	assert.Empty(t, m.live)
}

func TestGraphsThatCannotRun(t *testing.T) {
	installed(t)
	e, err := New(compute.Options{Threads: 1, Level: 2})
	require.NoError(t, err)
	m := newMemory()
	for says, c := range map[string]struct {
		graph []byte
		code  device.Code
	}{
		"Nothing": {
			model(bytesOf(1, node("Nothing", []string{"x"}, []string{"y"})), bytesOf(11, valueInfo("x", 1, 1)), bytesOf(12, valueInfo("y", 1, 1))), device.CodeUnsupported,
		},
		"opset": {
			slices.Concat(varint(1, 8), bytesOf(7, textOf(2, "graph")), bytesOf(8, append(textOf(1, ""), varint(2, 99)...))), device.CodeUnsupported,
		},
		"parsing":      {[]byte("no protobuf"), device.CodeInvalidFormat},
		"are required": {nil, device.CodeInvalidArgument},
	} {
		_, err := e.OpenGraph(compute.Graph{Name: "wrong", ONNX: c.graph, Memory: m})
		require.ErrorIs(t, err, c.code, says)
		assert.Contains(t, err.Error(), says)
	}
	assert.Empty(t, m.live)
	s := open(t, product(m, diagonal(1)))
	defer s.Close()
	x := make([]float32, width)
	for _, in := range []compute.Bound{
		{Name: "other", Type: dtype.F32, Shape: []int64{1, width}, Addr: addrOf(x)},
		{Name: "x", Type: dtype.I32, Shape: []int64{1, width}, Addr: addrOf(x)},
		{Name: "x", Type: dtype.F32, Shape: []int64{width}, Addr: addrOf(x)},
		{Name: "x", Type: dtype.C64, Shape: []int64{1, width}, Addr: addrOf(x)},
	} {
		done, err := s.Run([]compute.Bound{in}, []compute.Bound{{Name: "y"}})
		require.Error(t, err)
		done()
		assert.Contains(t, []device.Code{device.CodeInvalidArgument, device.CodeUnsupported}, device.CodeOf(err), err)
	}
	assert.Empty(t, m.live)
}

// Threads of ONNX Runtime call the memory too, and several threads run one session.
func TestRunsOnSeveralThreads(t *testing.T) {
	installed(t)
	m := newMemory()
	e, err := New(compute.Options{Threads: 2, Level: 2})
	require.NoError(t, err)
	s, err := e.OpenGraph(product(m, diagonal(2)))
	require.NoError(t, err)
	var over []<-chan struct{}
	for i := range 4 {
		over = append(over, device.Go("test", func() {
			for range 20 {
				got, err := runOf(t, s, int64(1+i), 1)
				assert.NoError(t, err)
				assert.False(t, math.Abs(float64(got-4)) > 0)
			}
		}))
	}
	for _, end := range over {
		<-end
	}
	s.Close()
	assert.Empty(t, m.live)
}
