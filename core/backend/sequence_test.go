package backend_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/vmm"
	"ferrum_mem/core/weights"
)

// A sequence gives what its operations give one after the other, each time with the present elements.
func TestASequenceRunsItsOperations(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	matmul, add, norm := prepare(t, b, "MatMul", ""), prepare(t, b, "Add", ""), prepare(t, b, "Softmax", "")
	x, w, bias := r.put(b, []float32{1, 2}, 1, 2), r.put(b, []float32{1, 2, 3, 4}, 2, 2), r.put(b, []float32{10, 20}, 2)
	sequence, err := b.NewSequence()
	require.NoError(t, err)
	require.NoError(t, sequence.Run(nil), "a run of an empty sequence succeeds")
	product, sum, out := tensors{nil}, tensors{nil}, tensors{nil}
	require.NoError(t, sequence.Add(matmul, tensors{x, w}, product))
	require.NoError(t, sequence.Add(add, tensors{product[0], bias}, sum))
	require.NoError(t, sequence.Run(r.stream))
	require.Equal(t, []float32{17, 30}, get(sum[0]))
	require.NoError(t, sequence.Add(norm, tensors{sum[0]}, out))
	require.Equal(t, 3, sequence.Length())
	write(x, make([]byte, 8))
	require.NoError(t, sequence.Run(r.stream))
	require.Equal(t, []float32{10, 20}, get(sum[0]))
	require.InDeltaSlice(t, []float32{0, 1}, get(out[0]), 1e-4)
	require.EqualValues(t, 5, b.Status().OperationsCompleted)

	// It keeps its tensors, and is ordered by stream.
	closeTensors(t, x, w, bias, product[0], sum[0])
	before := b.Pool().Statistics().LiveBlocks.Current
	open := r.hold(r.stream)
	require.NoError(t, sequence.Run(r.stream))
	requireError(t, device.CodeBusy, sequence.Close(), "queued")
	requireError(t, device.CodeBusy, sequence.Add(norm, tensors{out[0]}, tensors{nil}), "queued")
	require.EqualValues(t, 5, b.Status().OperationsCompleted)
	open()
	require.NoError(t, r.stream.Synchronize(device.Forever))
	require.EqualValues(t, 8, b.Status().OperationsCompleted)
	require.Equal(t, before, b.Pool().Statistics().LiveBlocks.Current)
	requireError(t, device.CodeBusy, b.Close(false), "1 sequence")
	require.NoError(t, sequence.Close())
	requireError(t, device.CodeInvalidState, sequence.Close(), "closed")
	requireError(t, device.CodeInvalidState, sequence.Run(nil), "closed")
	requireError(t, device.CodeInvalidState, sequence.Add(norm, tensors{out[0]}, tensors{nil}), "closed")
	closeTensors(t, out[0])
	for _, o := range []*backend.Op{matmul, add, norm} {
		require.NoError(t, o.Close())
	}
	require.NoError(t, b.Close(false))
}

func TestASequenceRefusesWhatARunRefuses(t *testing.T) {
	r := newRig(t)
	b, other := r.start(nil), r.start(nil)
	matmul, gather := prepare(t, b, "MatMul", ""), prepare(t, b, "Gather", "")
	foreign := prepare(t, other, "Add", "")
	x, index := r.put(b, []float32{1, 2, 3, 4}, 2, 2), r.list(b, 5)
	sequence, err := b.NewSequence()
	require.NoError(t, err)
	before := b.Pool().Statistics().LiveBlocks.Current
	requireError(t, device.CodeInvalidArgument, sequence.Add(matmul, tensors{x, x}, tensors{x}), "overlaps")
	requireError(t, device.CodeInvalidArgument, sequence.Add(matmul, tensors{x, index}, tensors{nil}), "MatMul")
	requireError(t, device.CodeInvalidArgument, sequence.Add(foreign, tensors{x, x}, tensors{nil}), "another backend")
	require.NoError(t, foreign.Close())
	require.NoError(t, other.Close(false))
	require.Equal(t, before, b.Pool().Statistics().LiveBlocks.Current)
	require.Zero(t, sequence.Length())
	outputs := tensors{nil}
	require.NoError(t, sequence.Add(gather, tensors{x, index}, outputs))
	requireError(t, device.CodeInvalidArgument, sequence.Run(r.stream), "5")
	require.Contains(t, *b.Status().LastError, "sequence.run")
	open := r.hold(r.stream)
	require.NoError(t, sequence.Run(r.stream))
	open()
	requireError(t, device.CodeInvalidArgument, r.stream.Synchronize(device.Forever), "5")
	require.NoError(t, sequence.Close())
	require.NoError(t, matmul.Close())
	require.NoError(t, gather.Close())
	closeTensors(t, x, index, outputs[0])
	require.NoError(t, b.Close(false))
}

// sleeper is a model with memory that sleeps.
func (r *rig) sleeper() (*vmm.Elastic, *vmm.Model, weights.Memory) {
	elastic, err := vmm.NewElastic(r.device, vmm.ElasticConfig{Name: "elastic", PageBytes: 2 << 20})
	require.NoError(r.t, err)
	model, err := elastic.Register("llama", vmm.ModelConfig{VirtualBytes: 64 << 20})
	require.NoError(r.t, err)
	memory, err := weights.InModel(elastic, "llama", "weights")
	require.NoError(r.t, err)
	return elastic, model, memory
}

// A packed matrix replaces the original, sleeps and wakes with its model, and is busy while it sleeps.
func TestPackedConstantsSleepAndWake(t *testing.T) {
	r := newPagedRig(t)
	b := r.start(nil)
	elastic, model, memory := r.sleeper()
	matmul := prepare(t, b, "MatMul", "")
	x, w := r.put(b, []float32{1, 2}, 1, 2), r.put(b, []float32{1, 2, 3, 4}, 2, 2)
	turned, err := w.Transpose(0, 1)
	require.NoError(t, err)
	packed, err := matmul.Pack(1, turned, backend.Packing{Memory: memory, Stream: r.stream})
	require.NoError(t, err)
	require.Equal(t, "reference.plain.backwards", packed.Packing())
	closeTensors(t, w, turned)
	outputs := tensors{nil}
	require.NoError(t, matmul.Run(tensors{x, packed}, outputs, r.stream))
	require.Equal(t, []float32{5, 11}, get(outputs[0]))
	require.NoError(t, matmul.Run(tensors{x, packed}, outputs, r.stream))
	sequence, err := b.NewSequence()
	require.NoError(t, err)
	require.NoError(t, sequence.Add(matmul, tensors{x, packed}, outputs))
	require.NoError(t, sequence.Run(r.stream))

	_, err = model.Sleep(context.Background(), vmm.SleepRequest{})
	require.NoError(t, err)
	requireError(t, device.CodeBusy, matmul.Run(tensors{x, packed}, outputs, r.stream), "MatMul", `input "B"`, "sleeps")
	given := tensors{nil}
	requireError(t, device.CodeBusy, matmul.Run(tensors{x, packed}, given, r.stream), "MatMul", `input "B"`, "sleeps")
	require.Equal(t, tensors{nil}, given)
	requireError(t, device.CodeBusy, sequence.Run(r.stream), "sleeps")
	_, err = matmul.Pack(1, x, backend.Packing{Memory: memory, Stream: r.stream})
	require.Error(t, err, "a model that sleeps gets no tensors")
	write(outputs[0], make([]byte, 8))
	_, err = model.Wake(context.Background(), vmm.WakeRequest{})
	require.NoError(t, err)
	require.NoError(t, sequence.Run(r.stream))
	require.Equal(t, []float32{5, 11}, get(outputs[0]))

	// A sleep waits for a queued run.
	open := r.hold(r.stream)
	require.NoError(t, matmul.Run(tensors{x, packed}, outputs, r.stream))
	_, err = model.Sleep(context.Background(), vmm.SleepRequest{NoWait: true})
	requireError(t, device.CodeTimeout, err)
	open()
	require.NoError(t, r.stream.Synchronize(device.Forever))
	_, err = model.Sleep(context.Background(), vmm.SleepRequest{})
	require.NoError(t, err)
	require.NoError(t, sequence.Close())
	closeTensors(t, packed, x, outputs[0])
	require.NoError(t, matmul.Close())
	require.NoError(t, b.Close(false))
	require.Eventually(t, func() bool { return elastic.Unregister("llama", false) == nil }, 10*time.Second, time.Millisecond)
	require.NoError(t, elastic.Close(false))
}

// A packed tensor in another operator, or of another instruction set, is an error that names both.
func TestPackedConstantsInTheWrongPlace(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	wide := r.start(func(c *backend.Config) { c.Options.InstructionSet = "wide" })
	matmul, add, other := prepare(t, b, "MatMul", ""), prepare(t, b, "Add", ""), prepare(t, wide, "MatMul", "")
	x := r.put(b, []float32{1, 2, 3, 4}, 2, 2)
	open := r.hold(r.stream)
	packed, err := matmul.Pack(1, x, backend.Packing{Stream: r.stream})
	require.NoError(t, err)
	outputs := tensors{nil}
	require.NoError(t, matmul.Run(tensors{x, packed}, outputs, r.stream))
	open()
	require.NoError(t, r.stream.Synchronize(device.Forever))
	require.Equal(t, []float32{7, 10, 15, 22}, get(outputs[0]), "it was packed in the order of the stream")
	list := r.list(b, 1, 2)
	for name, c := range map[string]struct {
		op   *backend.Op
		in   tensors
		says []string
	}{
		"operator":    {add, tensors{x, packed}, []string{`input "B" of Add is packed as "reference.plain.backwards"`, "unpacked only"}},
		"input":       {matmul, tensors{packed, x}, []string{`input "A" of MatMul is packed as "reference.plain.backwards"`, "unpacked only"}},
		"instruction": {other, tensors{x, packed}, []string{"reference.plain.backwards", `takes it packed as "reference.wide.backwards"`}},
	} {
		requireError(t, device.CodeUnsupported, c.op.Run(c.in, tensors{nil}, r.stream), c.says...)
		_ = name
	}
	requireError(t, device.CodeInvalidArgument, matmul.Run(tensors{x, x}, tensors{packed}, r.stream), `output "Y" is packed`)
	before := b.Pool().Statistics().LiveBlocks.Current
	for _, c := range []struct {
		op    *backend.Op
		input int
		from  *tensor.Tensor
		code  device.Code
	}{
		{matmul, 2, x, device.CodeInvalidArgument}, {matmul, -1, x, device.CodeInvalidArgument}, {matmul, 1, nil, device.CodeInvalidArgument},
		{matmul, 1, packed, device.CodeUnsupported}, {matmul, 0, x, device.CodeUnsupported}, {add, 1, x, device.CodeUnsupported}, {matmul, 1, list, device.CodeUnsupported},
	} {
		_, err := c.op.Pack(c.input, c.from, backend.Packing{})
		requireError(t, c.code, err)
	}
	far := newRig(t)
	away := far.start(nil)
	_, err = matmul.Pack(1, x, backend.Packing{Memory: away.Memory()})
	requireError(t, device.CodeUnsupportedDevice, err)
	y := far.put(away, []float32{1}, 1, 1)
	_, err = matmul.Pack(1, y, backend.Packing{})
	requireError(t, device.CodeUnsupportedDevice, err)
	closeTensors(t, y)
	require.NoError(t, away.Close(false))
	require.Equal(t, before, b.Pool().Statistics().LiveBlocks.Current)
	require.Equal(t, dtype.F32, packed.Type())
	closeTensors(t, x, packed, outputs[0], list)
	for _, o := range []*backend.Op{matmul, add, other} {
		require.NoError(t, o.Close())
	}
	require.NoError(t, wide.Close(false))
	require.NoError(t, b.Close(false))
}

func TestStepsWithWorkspacesOfTheCaller(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	product := prepare(t, b, "MatMul", "")
	x, y := r.put(b, []float32{1, 2, 3, 4}, 2, 2), r.put(b, []float32{5, 6, 7, 8}, 2, 2)
	predicted, err := product.Predict([]compute.Operand{{Type: dtype.F32, Layout: x.Layout()}, {Type: dtype.F32, Layout: y.Layout()}}, nil)
	require.NoError(t, err)
	require.Equal(t, uint64(testWorkspaceBytes), predicted.WorkspaceBytes)
	require.False(t, predicted.InPlace(0, 0))
	require.False(t, predicted.Divides(predicted), "the engine does not state it")
	origins, isKnown := predicted.Origins(0)
	require.True(t, isKnown)
	require.Equal(t, []int{0, operator.Whole}, origins)
	block, err := tensor.New(b.Memory(), dtype.U8, []int64{4096}, r.stream)
	require.NoError(t, err)
	part := func(offset uint64, size int64) *tensor.Tensor {
		layout, err := strided.Contiguous(size)
		require.NoError(t, err)
		made, err := block.Part(offset, dtype.U8, layout)
		require.NoError(t, err)
		return made
	}
	layout, err := strided.Contiguous(2, 2)
	require.NoError(t, err)
	out, err := block.Part(2048, dtype.F32, layout)
	require.NoError(t, err)
	s, err := b.NewSequence()
	require.NoError(t, err)
	small, odd, over, good := part(0, testWorkspaceBytes-1), part(8, testWorkspaceBytes), part(1536, testWorkspaceBytes), part(64, testWorkspaceBytes)
	for _, wrong := range []*tensor.Tensor{small, odd, over} {
		requireError(t, device.CodeInvalidArgument, s.AddIn(product, []*tensor.Tensor{x, y}, []*tensor.Tensor{out}, wrong), "workspace")
	}
	require.Zero(t, s.Length())
	require.NoError(t, s.AddIn(product, []*tensor.Tensor{x, y}, []*tensor.Tensor{out}, good))
	require.NoError(t, s.Run(nil))
	require.Equal(t, []float32{19, 22, 43, 50}, get(out))
	require.Equal(t, "0", string(b.Status().Specific["workspace_bytes"]), "the sequence has no workspace of its own")
	require.NoError(t, s.AddIn(product, []*tensor.Tensor{x, out}, []*tensor.Tensor{y}, nil))
	require.NoError(t, s.Run(nil))
	require.NotEqual(t, "0", string(b.Status().Specific["workspace_bytes"]))
	require.NoError(t, s.Close())
	closeTensors(t, x, y, out, small, odd, over, good, block)
	require.NoError(t, product.Close())
	require.NoError(t, b.Close(false))
}

func TestPredictionsOfPacking(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	product := prepare(t, b, "MatMul", "")
	layout, err := strided.Contiguous(2, 3)
	require.NoError(t, err)
	packing, size, err := product.PredictPack(1, compute.Operand{Type: dtype.F32, Layout: layout})
	require.NoError(t, err)
	require.Equal(t, "reference.plain.backwards", packing)
	require.Equal(t, uint64(24), size)
	_, _, err = product.PredictPack(0, compute.Operand{Type: dtype.F32, Layout: layout})
	requireError(t, device.CodeUnsupported, err)
	_, _, err = product.PredictPack(2, compute.Operand{Type: dtype.F32, Layout: layout})
	requireError(t, device.CodeInvalidArgument, err, "no input 2")
	require.NoError(t, product.Close())
	requireError(t, device.CodeInvalidState, func() error { _, err := product.Predict(nil, nil); return err }())
	require.NoError(t, b.Close(false))
}
