package backend_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/tensor"
)

type tensors = []*tensor.Tensor

func TestPrepareNamesWhatIsWrong(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	for _, c := range []struct {
		name, attributes string
		opset            int
		code             device.Code
		names            []string
	}{
		{"MatMull", "", 0, device.CodeNotFound, []string{"MatMul"}},
		{"ferrum.lineal", "", 0, device.CodeNotFound, []string{"linear"}},
		{"other.MatMul", "", 0, device.CodeNotFound, []string{"other"}},
		{"Softmax", `{"axes": 1}`, 0, device.CodeInvalidArgument, []string{"axes", "axis"}},
		{"MatMul", "", 99, device.CodeUnsupported, []string{"99"}},
		{"Tanh", "", 0, device.CodeUnsupported, []string{"cpu", "Tanh"}},
	} {
		_, err := b.Prepare(c.name, []byte(c.attributes), c.opset)
		requireError(t, c.code, err, c.names...)
		require.Equal(t, err.Error(), *b.Status().LastError)
	}
	linear := prepare(t, b, "ferrum.linear", "")
	require.Equal(t, "ferrum.linear", linear.Name())
	require.Equal(t, "MatMul", func() string { o := prepare(t, b, "ai.onnx.MatMul", ""); defer o.Close(); return o.Name() }())
	require.NoError(t, linear.Close())
	requireError(t, device.CodeInvalidState, linear.Close(), "ferrum.linear")
	require.NoError(t, b.Close(false))
}

func TestInferDescribesOutputs(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	o := prepare(t, b, "MatMul", "")
	left, err := strided.Strided([]int64{2, 3}, []int64{1, 2}, 7)
	require.NoError(t, err)
	right, err := strided.Contiguous(3, 4)
	require.NoError(t, err)
	outputs, workspace, err := o.Infer([]compute.Operand{{Layout: left}, {Layout: right}}, nil)
	require.NoError(t, err)
	want, err := strided.Contiguous(2, 4)
	require.NoError(t, err)
	require.Equal(t, []compute.Operand{{Type: dtype.F32, Layout: want}}, outputs)
	require.EqualValues(t, testWorkspaceBytes, workspace)
	_, _, err = o.Infer([]compute.Operand{{Layout: right}, {Layout: right}}, nil)
	requireError(t, device.CodeInvalidArgument, err, "MatMul", "f32[3, 4]")
	require.Zero(t, b.Pool().Statistics().LiveBlocks.Current)
	require.NoError(t, o.Close())
	_, _, err = o.Infer(nil, nil)
	requireError(t, device.CodeInvalidState, err, "MatMul")
	require.NoError(t, b.Close(false))
}

func TestRunMakesOutputs(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	o := prepare(t, b, "MatMul", "")
	left, right := r.put(b, []float32{1, 2, 3, 4, 5, 6}, 2, 3), r.put(b, []float32{1, 0, 0, 1, 1, 1}, 3, 2)
	outputs := tensors{nil}
	require.NoError(t, o.Run(tensors{left, right}, outputs, r.stream))
	require.Equal(t, []float32{4, 5, 10, 11}, get(outputs[0]))
	require.Zero(t, r.dev.queued, "the stream was idle")
	// The same tensor as output again, and views with strides.
	write(outputs[0], make([]byte, 16))
	require.NoError(t, o.Run(tensors{left, right}, outputs, nil))
	require.Equal(t, []float32{4, 5, 10, 11}, get(outputs[0]))
	turned, err := right.Transpose(0, 1)
	require.NoError(t, err)
	flipped, err := left.Transpose(0, 1)
	require.NoError(t, err)
	wide := r.put(b, make([]float32, 12), 3, 4)
	part, err := wide.Narrow(1, 0, 3)
	require.NoError(t, err)
	require.NoError(t, o.Run(tensors{flipped, turned}, tensors{part}, r.stream))
	require.Equal(t, []float32{1, 4, 5, 0, 2, 5, 7, 0, 3, 6, 9, 0}, get(wide))
	closeTensors(t, turned, flipped, part, wide, left, right, outputs[0])
	require.NoError(t, o.Close())
	require.NoError(t, b.Close(false))
}

// An absent input is nil, and an output that is not wanted is not made.
func TestAbsentInputsAndUnwantedOutputs(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	norm := prepare(t, b, "LayerNormalization", "")
	x, scale := r.put(b, []float32{1, 3}, 1, 2), r.put(b, []float32{1, 1}, 2)
	live := func() uint64 { return b.Pool().Statistics().LiveBlocks.Current }
	before := live()
	outputs := tensors{nil, backend.Unwanted, nil}
	require.NoError(t, norm.Run(tensors{x, scale, nil}, outputs, r.stream))
	require.Equal(t, before+2, live())
	require.Same(t, backend.Unwanted, outputs[1])
	require.InDeltaSlice(t, []float32{-1, 1}, get(outputs[0]), 1e-4)
	requireError(t, device.CodeInvalidArgument, norm.Run(tensors{x, nil, nil}, tensors{nil}, r.stream), "LayerNormalization", "Scale")
	requireError(t, device.CodeInvalidArgument, norm.Run(tensors{x, scale}, tensors{backend.Unwanted}, r.stream), "no output is wanted")
	requireError(t, device.CodeInvalidArgument, norm.Run(tensors{x, scale}, nil, r.stream), "no output is wanted")
	requireError(t, device.CodeInvalidArgument, norm.Run(tensors{x, scale}, tensors{nil, nil, nil, nil}, r.stream), "LayerNormalization")
	closeTensors(t, x, scale, outputs[0], outputs[2])
	require.NoError(t, norm.Close())
	require.NoError(t, b.Close(false))
}

// Shapes, axes and sizes are read from their tensors, whatever their strides.
func TestShapesAreRead(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	slice := prepare(t, b, "Slice", "")
	x := r.put(b, []float32{0, 1, 2, 3, 4, 5, 6, 7}, 8)
	start, end := r.list(b, 1), r.list(b, 6)
	outputs := tensors{nil}
	require.NoError(t, slice.Run(tensors{x, start, end}, outputs, r.stream))
	require.Equal(t, []float32{1, 2, 3, 4, 5}, get(outputs[0]))
	closeTensors(t, outputs[0])
	plans := r.plans.Load()
	write(end, []byte{3, 0, 0, 0, 0, 0, 0, 0})
	outputs = tensors{nil}
	require.NoError(t, slice.Run(tensors{x, start, end}, outputs, r.stream))
	require.Equal(t, []float32{1, 2}, get(outputs[0]), "other elements, another plan")
	require.Equal(t, plans+1, r.plans.Load())
	// The same tensors, with other elements.
	require.NoError(t, slice.Run(tensors{x, start, end}, outputs, r.stream))
	write(start, []byte{2, 0, 0, 0, 0, 0, 0, 0})
	write(end, []byte{4, 0, 0, 0, 0, 0, 0, 0})
	require.NoError(t, slice.Run(tensors{x, start, end}, outputs, r.stream))
	require.Equal(t, []float32{2, 3}, get(outputs[0]))
	require.Equal(t, plans+2, r.plans.Load())
	closeTensors(t, outputs[0])

	expand := prepare(t, b, "Expand", "")
	many := r.list(b, 9, 2, 9, 3, 9, 1)
	pairs, err := many.Reshape(3, 2)
	require.NoError(t, err)
	column, err := pairs.Narrow(1, 1, 1)
	require.NoError(t, err)
	shape, err := column.Permute(1, 0)
	require.NoError(t, err)
	shape3, err := shape.Reshape(3)
	require.NoError(t, err)
	one := r.put(b, []float32{7}, 1)
	outputs = tensors{nil}
	require.NoError(t, expand.Run(tensors{one, shape3}, outputs, r.stream))
	layout := outputs[0].Layout()
	require.Equal(t, []int64{2, 3, 1}, layout.Shape())
	requireError(t, device.CodeInvalidArgument, expand.Run(tensors{one, pairs}, tensors{nil}, r.stream), "Expand", "dimensions")
	closeTensors(t, outputs[0], x, start, end, many, pairs, column, shape, shape3, one)
	require.NoError(t, slice.Close())
	require.NoError(t, expand.Close())
	require.NoError(t, b.Close(false))
}

// What queued work writes into a shape is read after that work.
func TestShapesAreReadAfterTheirStream(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	expand := prepare(t, b, "Expand", "")
	one, shape, other := r.put(b, []float32{7}, 1), r.list(b, 1), r.list(b, 4)
	require.NoError(t, r.stream.HostFunction(func() { time.Sleep(10 * time.Millisecond) }))
	require.NoError(t, shape.Copy(other, r.stream))
	outputs := tensors{nil}
	require.NoError(t, expand.Run(tensors{one, shape}, outputs, r.stream))
	require.Equal(t, []float32{7, 7, 7, 7}, get(outputs[0]))
	closeTensors(t, outputs[0], one, shape, other)
	require.NoError(t, expand.Close())
	require.NoError(t, b.Close(false))
}

func TestWrongTensorsOfARun(t *testing.T) {
	r, far := newRig(t), newRig(t)
	b, away := r.start(nil), far.start(nil)
	matmul, add, gather := prepare(t, b, "MatMul", ""), prepare(t, b, "Add", ""), prepare(t, b, "Gather", "")
	x, y, elsewhere := r.put(b, []float32{1, 2, 3, 4}, 2, 2), r.put(b, []float32{5, 6, 7, 8}, 2, 2), far.put(away, []float32{1, 2, 3, 4}, 2, 2)
	wrongShape, wrongType := r.put(b, make([]float32, 4), 4), r.list(b, 1)
	spread, err := wrongShape.Narrow(0, 0, 1)
	require.NoError(t, err)
	shared, err := spread.Expand(2, 2)
	require.NoError(t, err)
	layout := x.Layout()
	readOnly, err := tensor.Wrap(tensor.Foreign{Engine: r.device, Addr: y.Addr(), SizeBytes: 16, ReadOnly: true}, dtype.F32, layout.FromZero())
	require.NoError(t, err)
	closed := r.put(b, []float32{1}, 1)
	closeTensors(t, closed)
	before := b.Manager().Statistics()
	for name, c := range map[string]struct {
		op      *backend.Op
		inputs  tensors
		outputs tensors
		code    device.Code
		says    []string
	}{
		"device":       {matmul, tensors{x, elsewhere}, tensors{nil}, device.CodeUnsupportedDevice, []string{"MatMul", `input "B"`}},
		"out device":   {matmul, tensors{x, y}, tensors{elsewhere}, device.CodeUnsupportedDevice, []string{"MatMul", `output "Y"`}},
		"shapes":       {matmul, tensors{x, wrongShape}, tensors{nil}, device.CodeInvalidArgument, []string{"MatMul", "f32[2, 2]", "f32[4]"}},
		"out shape":    {matmul, tensors{x, y}, tensors{wrongShape}, device.CodeInvalidArgument, []string{"MatMul", `output "Y"`, "f32[4]", "f32[2, 2]"}},
		"out type":     {matmul, tensors{x, y}, tensors{wrongType}, device.CodeInvalidArgument, []string{"i64[1]", "f32[2, 2]"}},
		"out shared":   {matmul, tensors{x, y}, tensors{shared}, device.CodeInvalidArgument, []string{"one place"}},
		"read-only":    {matmul, tensors{x, x}, tensors{readOnly}, device.CodePermissionDenied, []string{"MatMul", `output "Y"`, "read-only"}},
		"closed":       {matmul, tensors{x, closed}, tensors{nil}, device.CodeInvalidState, []string{`input "B"`}},
		"missing":      {matmul, tensors{x}, tensors{nil}, device.CodeInvalidArgument, []string{"MatMul", "B"}},
		"too many":     {matmul, tensors{x, y, x}, tensors{nil}, device.CodeInvalidArgument, []string{"MatMul", "3 inputs"}},
		"overlap":      {matmul, tensors{x, y}, tensors{y}, device.CodeInvalidArgument, []string{"MatMul", `output "Y" f32[2, 2] overlaps input "B" f32[2, 2]`}},
		"not in place": {add, tensors{x, y}, tensors{y}, device.CodeInvalidArgument, []string{"Add", "overlaps"}},
		"index":        {gather, tensors{x, wrongType}, tensors{nil}, device.CodeInvalidArgument, []string{"Gather", "7"}},
	} {
		if name == "index" {
			write(wrongType, []byte{7, 0, 0, 0, 0, 0, 0, 0})
		}
		given := append(tensors{}, c.outputs...)
		err := c.op.Run(c.inputs, c.outputs, r.stream)
		requireError(t, c.code, err, c.says...)
		require.Equal(t, given, c.outputs, name)
		require.Equal(t, []float32{1, 2, 3, 4}, get(x), name)
		require.Equal(t, []float32{5, 6, 7, 8}, get(y), name)
		require.Equal(t, err.Error(), *b.Status().LastError)
		require.Equal(t, before.LiveBlocks.Current, b.Manager().Statistics().LiveBlocks.Current, name)
	}
	completed := b.Status().OperationsCompleted
	require.NoError(t, add.Run(tensors{x, y}, tensors{x}, r.stream), "the engine adds in place")
	require.Equal(t, []float32{6, 8, 10, 12}, get(x))
	require.Equal(t, completed+1, b.Status().OperationsCompleted)
	flat, err := x.Reshape(4)
	require.NoError(t, err)
	part, err := wrongShape.Narrow(0, 1, 2)
	require.NoError(t, err)
	two, err := wrongShape.Narrow(0, 0, 2)
	require.NoError(t, err)
	requireError(t, device.CodeInvalidArgument, add.Run(tensors{part, part}, tensors{two}, r.stream), "overlaps")
	closeTensors(t, flat, part, two, readOnly, x, y, wrongShape, wrongType, spread, shared)
	require.NoError(t, elsewhere.Close())
	for _, o := range []*backend.Op{matmul, add, gather} {
		require.NoError(t, o.Close())
	}
	requireError(t, device.CodeInvalidState, add.Run(tensors{x, y}, tensors{nil}, r.stream), "Add")
	require.NoError(t, b.Close(false))
	require.NoError(t, away.Close(false))
}

// A plan is made once for shapes and strides, and at level 0 by each run.
func TestPlansAreKept(t *testing.T) {
	r := newRig(t)
	b := r.start(func(c *backend.Config) { c.Options.Plans = 2 })
	add := prepare(t, b, "Add", "")
	var all tensors
	for n := range int64(3) {
		all = append(all, r.put(b, make([]float32, n+1), n+1))
	}
	run := func(i int) int64 {
		before, outputs := r.plans.Load(), tensors{nil}
		require.NoError(t, add.Run(tensors{all[i], all[i]}, outputs, r.stream))
		closeTensors(t, outputs[0])
		return r.plans.Load() - before
	}
	for at, c := range []struct {
		shape int
		plans int64
	}{{0, 1}, {0, 0}, {1, 1}, {0, 0}, {2, 1}, {0, 0}, {1, 1}, {0, 0}, {2, 1}, {1, 1}, {2, 0}, {0, 1}, {2, 0}} {
		require.Equal(t, c.plans, run(c.shape), "run %d: two plans are kept, the oldest one that was not found again is replaced", at)
	}
	require.NoError(t, add.Close())
	plain, out := r.start(func(c *backend.Config) { c.OptimizationLevel = 0 }), r.put(b, make([]float32, 2), 2)
	add = prepare(t, plain, "Add", "")
	require.EqualValues(t, 1, run(0))
	require.EqualValues(t, 1, run(0))
	before := r.plans.Load()
	for range 3 {
		require.NoError(t, add.Run(tensors{all[1], all[1]}, tensors{out}, r.stream))
	}
	require.Equal(t, before+3, r.plans.Load(), "each run plans again, also with the same tensors")
	require.NoError(t, add.Close())
	require.NoError(t, plain.Close(false))
	closeTensors(t, append(all, out)...)
	require.NoError(t, b.Close(false))
}

// A run with the tensors of the last one is checked as far as tensors can change: they close, and sleep.
func TestRunsWithTheSameTensors(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	add, norm := prepare(t, b, "Add", ""), prepare(t, b, "LayerNormalization", "")
	x, y, z := r.put(b, []float32{1, 2}, 2), r.put(b, []float32{10, 20}, 2), r.put(b, []float32{0, 0}, 2)
	for range 3 {
		require.NoError(t, add.Run(tensors{x, y}, tensors{z}, r.stream))
		require.Equal(t, []float32{11, 22}, get(z))
		require.NoError(t, add.Run(tensors{z, y}, tensors{x}, r.stream), "other tensors with the same shapes")
		require.Equal(t, []float32{21, 42}, get(x))
		require.NoError(t, add.Run(tensors{y, z}, tensors{x}, r.stream), "in another order")
		write(x, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40})
	}
	scale := r.put(b, []float32{1, 1}, 2)
	for range 2 {
		require.NoError(t, norm.Run(tensors{y, scale, nil}, tensors{z, backend.Unwanted}, r.stream))
		require.NoError(t, norm.Run(tensors{y, scale}, tensors{z}, r.stream))
	}
	for range 2 {
		require.NoError(t, add.Run(tensors{x, y}, tensors{z}, r.stream))
	}
	closeTensors(t, y)
	requireError(t, device.CodeInvalidState, add.Run(tensors{x, y}, tensors{z}, r.stream), `input "B"`)
	require.NoError(t, add.Run(tensors{x, x}, tensors{z}, r.stream))
	closeTensors(t, z)
	requireError(t, device.CodeInvalidState, add.Run(tensors{x, x}, tensors{z}, r.stream), `output "C"`)
	closeTensors(t, x, scale)
	require.Zero(t, b.Status().MemoryUsage["cpu:0"]-b.Pool().Statistics().Cached.Current)
	require.NoError(t, add.Close())
	require.NoError(t, norm.Close())
	require.NoError(t, b.Close(false))
}

func TestOutputsDoNotOverlap(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	split := prepare(t, b, "Split", `{"num_outputs": 2}`)
	x, halves := r.put(b, []float32{1, 2, 3, 4}, 4), r.put(b, make([]float32, 4), 4)
	low, err := halves.Narrow(0, 0, 2)
	require.NoError(t, err)
	middle, err := halves.Narrow(0, 1, 2)
	require.NoError(t, err)
	high, err := halves.Narrow(0, 2, 2)
	require.NoError(t, err)
	requireError(t, device.CodeInvalidArgument, split.Run(tensors{x}, tensors{low, low}, r.stream), "Split", "overlaps output")
	requireError(t, device.CodeInvalidArgument, split.Run(tensors{x}, tensors{middle, high}, r.stream), "Split", "overlaps output")
	require.Equal(t, []float32{0, 0, 0, 0}, get(halves))
	require.NoError(t, split.Run(tensors{x}, tensors{high, low}, r.stream))
	require.Equal(t, []float32{3, 4, 1, 2}, get(halves))
	closeTensors(t, x, halves, low, middle, high)
	require.NoError(t, split.Close())
	require.NoError(t, b.Close(false))
}

// One operation adds tensors of random shapes and strides, with few plans and often the same tensors.
func TestRandomRuns(t *testing.T) {
	r := newRig(t)
	b := r.start(func(c *backend.Config) { c.Options.Plans = 3 })
	add := prepare(t, b, "Add", "")
	rapid.Check(t, func(t *rapid.T) {
		var all tensors
		view := func(name string) *tensor.Tensor {
			values := make([]float32, 24)
			for i := range values {
				values[i] = float32(rapid.IntRange(-9, 9).Draw(t, name))
			}
			whole := r.put(b, values, 4, 6)
			all = append(all, whole)
			part, err := whole.Narrow(rapid.IntRange(0, 1).Draw(t, "axis"), rapid.Int64Range(0, 2).Draw(t, "start"), rapid.Int64Range(0, 2).Draw(t, "count"))
			require.NoError(t, err)
			all = append(all, part)
			if rapid.Bool().Draw(t, "turned") {
				part, err = part.Transpose(0, 1)
				require.NoError(t, err)
				all = append(all, part)
			}
			return part
		}
		x := view("x")
		shape := x.Layout()
		inputs := tensors{x, x}
		if rapid.Bool().Draw(t, "two") {
			y := view("y")
			if layout := y.Layout(); slices.Equal(layout.Shape(), shape.Shape()) {
				inputs[1] = y
			}
		}
		want := get(x)
		for i, value := range get(inputs[1]) {
			want[i] += value
		}
		outputs := tensors{nil}
		for range rapid.IntRange(1, 4).Draw(t, "runs") {
			require.NoError(t, add.Run(inputs, outputs, r.stream))
			require.Equal(t, want, get(outputs[0]))
		}
		all = append(all, outputs[0])
		for _, one := range all {
			require.NoError(t, one.Close())
		}
	})
	require.NoError(t, add.Close())
	require.NoError(t, b.Close(false))
}
