//go:build cgo && linux

package ort

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

func floatsAt(at device.Addr, count int64) []float32 {
	return unsafe.Slice((*float32)(pointerTo(uintptr(at))), count)
}

// sums has a function that adds its inputs, of which the second one is absent, in a graph with a Relu behind it. It
// has a workspace.
func sums(m *memory, inputs int) (compute.Graph, *compute.Function) {
	names := []string{"x", ""}
	for len(names) < inputs {
		names = append(names, "x")
	}
	f := compute.Function{Domain: "mine.deep", Name: "sum.0", Inputs: make([]compute.FunctionOperand, inputs), Outputs: []compute.FunctionOperand{{}, {IsAbsent: true}}}
	f.Inputs[1].IsAbsent = true
	f.Plan = func(shapes [][]int64) (compute.FunctionPlan, error) {
		count := shapes[0][0] * shapes[0][1]
		return compute.FunctionPlan{
			Shapes: [][]int64{shapes[0], nil}, WorkspaceBytes: uint64(4 * count),
			Run: func(from, to []device.Addr, workspace device.Addr) error {
				y, between := floatsAt(to[0], count), floatsAt(workspace, count)
				clear(between)
				for i, at := range from {
					if i != 1 {
						for k, number := range floatsAt(at, count) {
							between[k] += number
						}
					} else if at != 0 {
						return device.Errorf(device.CodeInternal, "test.run", "an absent input has an address")
					}
				}
				copy(y, between)
				return nil
			},
		}, nil
	}
	sum := append(node("sum.0", names, []string{"s"}), textOf(7, "mine.deep")...)
	g := compute.Graph{Name: "sums", Memory: m, Functions: []compute.Function{f}}
	graph := slices.Concat(bytesOf(1, sum), bytesOf(1, node("Relu", []string{"s"}, []string{"y"})), bytesOf(11, valueInfo("x", 1, -1, width)),
		bytesOf(12, valueInfo("y", 1, -1, width)), textOf(2, "graph"))
	opset := func(domain string, version uint64) []byte {
		return bytesOf(8, append(textOf(1, domain), varint(2, version)...))
	}
	g.ONNX = slices.Concat(varint(1, 8), bytesOf(7, graph), opset("", 17), opset("mine.deep", 1))
	return g, &g.Functions[0]
}

// Functions with few and with many operands, of many shapes.
func TestFunctionsOfAGraph(t *testing.T) {
	installed(t)
	for _, inputs := range []int{2, 3, 6, 7, 40} {
		m := newMemory()
		g, f := sums(m, inputs)
		plans := 0
		plan := f.Plan
		f.Plan = func(shapes [][]int64) (compute.FunctionPlan, error) {
			plans++
			assert.Nil(t, shapes[1])
			return plan(shapes)
		}
		s := open(t, g)
		assert.Zero(t, plans, "a session that is opened calls no function")
		for round := range 3 {
			for rows := range int64(mostPlans) {
				got, err := runOf(t, s, rows+1, 2)
				require.NoError(t, err)
				assert.Equal(t, float32(2*(inputs-1)), got, "%d inputs, round %d", inputs, round)
			}
		}
		assert.Equal(t, mostPlans, plans)
		s.Close()
		assert.Empty(t, m.live)
	}
}

// A function of constants is computed in each run, and not while a session is opened.
func TestAFunctionOfConstants(t *testing.T) {
	installed(t)
	m := newMemory()
	g, f := sums(m, 2)
	constant := slices.Concat(varint(1, 1), varint(1, 2), varint(2, 1), textOf(8, "c"), bytesOf(9, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}))
	sum := append(node("sum.0", []string{"c", ""}, []string{"s"}), textOf(7, "mine.deep")...)
	graph := slices.Concat(bytesOf(1, sum), bytesOf(1, node("Relu", []string{"s"}, []string{"y"})), textOf(2, "graph"), bytesOf(5, constant), bytesOf(12, valueInfo("y", 1, 1, 2)))
	opset := func(domain string, version uint64) []byte {
		return bytesOf(8, append(textOf(1, domain), varint(2, version)...))
	}
	g.ONNX = slices.Concat(varint(1, 8), bytesOf(7, graph), opset("", 17), opset("mine.deep", 1))
	plan, runs := f.Plan, 0
	f.Plan = func(shapes [][]int64) (compute.FunctionPlan, error) {
		made, err := plan(shapes)
		run := made.Run
		made.Run = func(from, to []device.Addr, workspace device.Addr) error { runs++; return run(from, to, workspace) }
		return made, err
	}
	s := open(t, g)
	assert.Zero(t, runs)
	for count := range 2 {
		outputs := []compute.Bound{{Name: "y"}}
		done, err := s.Run(nil, outputs)
		require.NoError(t, err)
		assert.Equal(t, []float32{1, 2}, floatsAt(outputs[0].Addr, 2))
		done()
		assert.Equal(t, count+1, runs)
	}
	s.Close()
	assert.Empty(t, m.live)
}

// Every step of a call fails in turn: the error is that of the step, and the next run has the result.
func TestFunctionsThatFail(t *testing.T) {
	installed(t)
	m := newMemory()
	g, f := sums(m, 3)
	plan, how := f.Plan, ""
	f.Plan = func(shapes [][]int64) (compute.FunctionPlan, error) {
		if how == "plan" {
			return compute.FunctionPlan{}, device.Errorf(device.CodeTimeout, "test.plan", "no plan")
		}
		made, err := plan(shapes)
		run := made.Run
		made.Run = func(from, to []device.Addr, workspace device.Addr) error {
			switch how {
			case "run":
				return device.Errorf(device.CodeBusy, "test.run", "no run")
			case "panic":
				panic("no way")
			}
			return run(from, to, workspace)
		}
		return made, err
	}
	s := open(t, g)
	for rows, fails := range map[int64]struct {
		how, says string
		code      device.Code
	}{1: {"plan", "no plan", device.CodeTimeout}, 2: {"run", "no run", device.CodeBusy}, 3: {"panic", "no way", device.CodeInternal}} {
		how = fails.how
		_, err := runOf(t, s, rows, 1)
		require.ErrorIs(t, err, fails.code)
		assert.ErrorContains(t, err, fails.says)
		assert.Empty(t, m.live)
		how = ""
		got, err := runOf(t, s, rows, 1)
		require.NoError(t, err)
		assert.Equal(t, float32(2), got)
	}
	before := m.allocs
	_, err := runOf(t, s, 5, 1)
	require.NoError(t, err)
	running := m.allocs - before
	for at := 1; at <= running; at++ {
		m.failAt = m.allocs + at
		_, err := runOf(t, s, 5, 1)
		require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory, "call %d", at)
		assert.Empty(t, m.live)
		_, err = runOf(t, s, 5, 1)
		require.NoError(t, err)
	}
	s.Close()
	assert.Empty(t, m.live)
}

func TestFunctionsThatCannotBe(t *testing.T) {
	installed(t)
	e, err := New(compute.Options{Threads: 1})
	require.NoError(t, err)
	m := newMemory()
	g, f := sums(m, 3)
	f.Inputs[0].Type = dtype.C64
	_, err = e.OpenGraph(g)
	require.ErrorIs(t, err, device.CodeUnsupported)
	require.ErrorContains(t, err, "c64")
	// The graph has another operator, or other operands.
	for _, change := range []func(*compute.Function){
		func(f *compute.Function) { f.Name = "sum.1" },
		func(f *compute.Function) { f.Domain = "mine" },
		func(f *compute.Function) { f.Inputs[0].Type = dtype.F64 },
		func(f *compute.Function) { f.Inputs = f.Inputs[:2] },
	} {
		g, f := sums(m, 3)
		change(f)
		_, err := e.OpenGraph(g)
		require.Error(t, err)
	}
	assert.Empty(t, m.live)
	left := 0
	calls().functions.Range(func(any, any) bool { left++; return true })
	assert.Zero(t, left, "no function is left")
}

// Threads run sessions with functions, each with its own shapes.
func TestFunctionsOnSeveralThreads(t *testing.T) {
	installed(t)
	m := newMemory()
	g, f := sums(m, 3)
	plan := f.Plan
	var plans atomic.Int64
	f.Plan = func(shapes [][]int64) (compute.FunctionPlan, error) { plans.Add(1); return plan(shapes) }
	s := open(t, g)
	var over []<-chan struct{}
	for i := range 4 {
		over = append(over, device.Go(fmt.Sprint("test", i), func() {
			for round := range 50 {
				got, err := runOf(t, s, int64(1+i+round%mostPlans), 1)
				assert.NoError(t, err)
				assert.Equal(t, float32(2), got)
			}
		}))
	}
	for _, end := range over {
		<-end
	}
	assert.GreaterOrEqual(t, plans.Load(), int64(mostPlans))
	s.Close()
	assert.Empty(t, m.live)
}
