package tensor_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/vmm"
	"ferrum_mem/core/weights"
	"ferrum_mem/drivers/testdevice"
)

// elementOf returns the bytes of one element of a contiguous tensor with these bytes.
func elementOf(all []byte, of strided.Layout, index []int64, width int64) []byte {
	at := of.First()
	for i, n := range index {
		at += n * of.Strides()[i]
	}
	return all[at*width : (at+1)*width]
}

// eachIndex calls visit for all indices of a shape, in its order.
func eachIndex(shape []int64, visit func(index []int64)) {
	index := make([]int64, len(shape))
	for _, length := range shape {
		if length == 0 {
			return
		}
	}
	for {
		visit(index)
		i := len(shape) - 1
		for ; i >= 0; i-- {
			if index[i]++; index[i] < shape[i] {
				break
			}
			index[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// drawView takes random views of a tensor and closes the tensors between.
func drawView(t *rapid.T, from *tensor.Tensor) *tensor.Tensor {
	view := from
	for range rapid.IntRange(0, 3).Draw(t, "views") {
		layout := view.Layout()
		n := len(layout.Shape())
		var next *tensor.Tensor
		var err error
		switch rapid.IntRange(0, 3).Draw(t, "view") {
		case 0:
			if n == 0 {
				continue
			}
			axis := rapid.IntRange(0, n-1).Draw(t, "axis")
			start := rapid.Int64Range(0, layout.Shape()[axis]).Draw(t, "start")
			next, err = view.Narrow(axis, start, rapid.Int64Range(0, layout.Shape()[axis]-start).Draw(t, "count"))
		case 1:
			if n < 2 {
				continue
			}
			next, err = view.Transpose(rapid.IntRange(0, n-1).Draw(t, "a"), rapid.IntRange(0, n-1).Draw(t, "b"))
		case 2:
			next, err = view.Expand(append([]int64{2}, layout.Shape()...)...)
			if n == strided.MostDimensions {
				require.Error(t, err)
				continue
			}
		default:
			next, err = view.Same()
		}
		require.NoError(t, err)
		if view != from {
			require.NoError(t, view.Close())
		}
		view = next
	}
	return view
}

// Copies between views have the elements that the definition of strides gives, and touch
// nothing else.
func TestOnDeviceCopiesBetweenViews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(t)
		defer r.close()
		kind := rapid.SampledFrom([]dtype.DType{dtype.F32, dtype.BF16, dtype.U8, dtype.F64}).Draw(t, "type")
		shape := rapid.SliceOfN(rapid.Int64Range(0, 5), 0, 4).Draw(t, "shape")
		from := r.make(kind, shape...)
		bytes := make([]byte, from.SizeBytes())
		chance := rand.New(rand.NewPCG(1, uint64(len(bytes))))
		for i := range bytes {
			bytes[i] = byte(chance.Uint32())
		}
		r.put(from, bytes)
		view := drawView(t, from)
		layout := view.Layout()
		whole := r.make(kind, layout.Shape()...)
		to := whole
		if n := len(layout.Shape()); n > 1 && rapid.Bool().Draw(t, "turned") {
			// The target has its dimensions in another order in memory.
			require.NoError(t, whole.Close())
			turned := append([]int64{}, layout.Shape()...)
			turned[0], turned[n-1] = turned[n-1], turned[0]
			whole = r.make(kind, turned...)
			var err error
			to, err = whole.Transpose(0, n-1)
			require.NoError(t, err)
		}
		r.put(whole, make([]byte, whole.SizeBytes()))
		require.NoError(t, to.Copy(view, r.stream))
		got := r.get(whole, whole.SizeBytes())
		width, target := int64(len(bytes))/max(1, product(shape)), to.Layout()
		if len(bytes) == 0 {
			width = 1
		}
		eachIndex(layout.Shape(), func(index []int64) {
			require.Equal(t, elementOf(bytes, layout, index, width), elementOf(got, target, index, width), "%v", index)
		})
		require.Equal(t, bytes, append([]byte{}, r.get(from, from.SizeBytes())...))
		for _, one := range []*tensor.Tensor{to, view} {
			if one != whole && one != from {
				require.NoError(t, one.Close())
			}
		}
		require.NoError(t, whole.Close())
		require.NoError(t, from.Close())
	})
}

func product(shape []int64) int64 {
	all := int64(1)
	for _, length := range shape {
		all *= length
	}
	return all
}

// A copy converts elements, by the rules of core/dtype.
func TestOnDeviceConvertedCopies(t *testing.T) {
	testdevice.HostOnly(t)
	r := newRig(t)
	defer r.close()
	from := r.make(dtype.F32, 70, 30)
	values := make([]byte, from.SizeBytes())
	for i := range len(values) / 4 {
		dtype.PutF32(values[4*i:], float32(i)-100.5)
	}
	r.put(from, values)
	turned, err := from.Transpose(0, 1)
	require.NoError(t, err)
	for _, kind := range []dtype.DType{dtype.BF16, dtype.F64, dtype.I8, dtype.F8E4M3} {
		straight, other := r.make(kind, 70, 30), r.make(kind, 30, 70)
		require.NoError(t, straight.Copy(from, r.stream))
		require.NoError(t, other.Copy(turned, r.stream))
		want := make([]byte, straight.SizeBytes())
		require.NoError(t, dtype.Convert(kind, want, dtype.F32, values))
		require.Equal(t, want, r.get(straight, straight.SizeBytes()), kind)
		got, width := r.get(other, other.SizeBytes()), len(want)/2100
		for row := range 70 {
			for column := range 30 {
				require.Equal(t, want[(row*30+column)*width:][:width], got[(column*70+row)*width:][:width])
			}
		}
		require.NoError(t, straight.Close())
		require.NoError(t, other.Close())
	}
	halves := r.make(dtype.U4, 70, 30)
	require.NoError(t, halves.Copy(from, r.stream))
	want := make([]byte, halves.SizeBytes())
	require.NoError(t, dtype.Convert(dtype.U4, want, dtype.F32, values))
	require.Equal(t, want, r.get(halves, halves.SizeBytes()))
	packed := r.make(dtype.U4, 30, 70)
	require.Equal(t, device.CodeUnsupported, device.CodeOf(packed.Copy(turned, r.stream)))
	for _, one := range []*tensor.Tensor{from, turned, halves, packed} {
		require.NoError(t, one.Close())
	}
}

// The memory ends with the last tensor over it, and a copy keeps both tensors.
func TestOnDeviceTheLastTensorFreesTheMemory(t *testing.T) {
	r := newRig(t)
	defer r.close()
	live := func() uint64 { return r.pool.Statistics().LiveBlocks.Current }
	a, b := r.make(dtype.F32, 4, 1000), r.make(dtype.F32, 4, 1000)
	view, err := a.Narrow(0, 1, 2)
	require.NoError(t, err)
	require.EqualValues(t, 2, live())
	require.NoError(t, b.Copy(a, r.stream))
	require.NoError(t, a.Close())
	require.Equal(t, device.CodeInvalidState, device.CodeOf(a.Close()))
	require.NoError(t, b.Close())
	require.Eventually(t, func() bool { return live() == 1 }, 10*time.Second, time.Millisecond, "the view")
	again, err := view.Reshape(2000)
	require.NoError(t, err)
	require.NoError(t, view.Close())
	require.EqualValues(t, 1, live())
	require.NoError(t, again.Close())
	require.Eventually(t, func() bool { return live() == 0 }, 10*time.Second, time.Millisecond)
	for _, closed := range []func() error{
		func() error { _, err := a.Same(); return err },
		func() error { _, err := view.Narrow(0, 0, 1); return err },
		func() error { _, err := a.Hold(); return err },
		func() error { return a.Copy(a, r.stream) },
	} {
		require.Equal(t, device.CodeInvalidState, device.CodeOf(closed()))
	}
}

// Memory that a queued copy of another stream uses gets no second owner, although its tensors
// are closed.
func TestOnDeviceACopyKeepsTheMemoryOfClosedTensors(t *testing.T) {
	r := newRig(t)
	defer r.close()
	const elements = 64 << 10
	from, to := r.make(dtype.F32, elements), r.make(dtype.F32, elements)
	bytes := make([]byte, from.SizeBytes())
	for i := range bytes {
		bytes[i] = byte(i * 13)
	}
	r.put(from, bytes)
	other, err := r.engine.Device().NewStream()
	require.NoError(t, err)
	gate := make(chan struct{})
	require.NoError(t, other.HostFunction(func() { <-gate }))
	require.NoError(t, to.Copy(from, other))
	require.NoError(t, from.Close())
	next := r.make(dtype.F32, elements)
	require.NotEqual(t, from.Addr(), next.Addr())
	r.put(next, make([]byte, len(bytes)))
	close(gate)
	require.NoError(t, other.Synchronize(device.Forever))
	require.Equal(t, bytes, r.get(to, to.SizeBytes()))
	require.NoError(t, next.Close())
	require.NoError(t, to.Close())
	require.NoError(t, other.Close())
	require.Eventually(t, func() bool { return r.pool.Statistics().LiveBlocks.Current == 0 }, 10*time.Second, time.Millisecond)
}

// The tensors of a sleeping model are busy, and have their elements again when it has woken.
func TestOnDeviceSleepingModels(t *testing.T) {
	r := newRig(t)
	defer r.close()
	elastic, err := vmm.NewElastic(r.engine, vmm.ElasticConfig{Name: "elastic", PageBytes: testdevice.PageBytes(r.engine.Device(), 1<<20)})
	require.NoError(t, err)
	defer func() { require.NoError(t, elastic.Close(false)) }()
	model, err := elastic.Register("llama", vmm.ModelConfig{VirtualBytes: 64 << 20})
	require.NoError(t, err)
	memory, err := weights.InModel(elastic, "llama", "weights")
	require.NoError(t, err)
	asleep, err := tensor.New(memory, dtype.F32, []int64{256}, r.stream)
	require.NoError(t, err)
	awake := r.make(dtype.F32, 256)
	bytes := make([]byte, 1024)
	for i := range bytes {
		bytes[i] = byte(i * 7)
	}
	r.put(asleep, bytes)

	release, err := asleep.Hold()
	require.NoError(t, err)
	_, err = model.Sleep(context.Background(), vmm.SleepRequest{NoWait: true})
	require.Equal(t, device.CodeTimeout, device.CodeOf(err), "%v", err)
	release()
	_, err = model.Sleep(context.Background(), vmm.SleepRequest{})
	require.NoError(t, err)
	_, err = asleep.Hold()
	require.Equal(t, device.CodeBusy, device.CodeOf(err))
	require.ErrorContains(t, err, "the memory of the tensor sleeps")
	require.Equal(t, device.CodeBusy, device.CodeOf(awake.Copy(asleep, r.stream)))
	require.Equal(t, device.CodeBusy, device.CodeOf(asleep.Copy(awake, r.stream)))
	view, err := asleep.Narrow(0, 1, 2)
	require.NoError(t, err, "a view needs no elements")
	require.NoError(t, view.Close())
	_, err = model.Wake(context.Background(), vmm.WakeRequest{})
	require.NoError(t, err)
	require.NoError(t, awake.Copy(asleep, r.stream))
	require.Equal(t, bytes, r.get(awake, 1024))
	require.NoError(t, asleep.Close())
	require.NoError(t, awake.Close())
	require.NoError(t, elastic.Unregister("llama", false))
}

// Memory of another owner is released once, after the last tensor.
func TestOnDeviceWrappedMemory(t *testing.T) {
	r := newRig(t)
	defer r.close()
	block, err := r.pool.Alloc(pool.Request{SizeBytes: 4096})
	require.NoError(t, err)
	released, refused := 0, true
	foreign := tensor.Foreign{Engine: r.engine, Addr: block.Addr, SizeBytes: 4096, Release: func() error {
		released++
		if refused {
			return device.Errorf(device.CodeBusy, "test", "not now")
		}
		return nil
	}}
	layout, err := strided.Strided([]int64{3, 5}, []int64{-8, 1}, 40)
	require.NoError(t, err)
	one, err := tensor.Wrap(foreign, dtype.F32, layout)
	require.NoError(t, err)
	require.EqualValues(t, block.Addr+160, one.Addr())
	two, err := one.Permute(1, 0)
	require.NoError(t, err)
	require.NoError(t, one.Close())
	require.Zero(t, released)
	require.Equal(t, device.CodeBusy, device.CodeOf(two.Close()))
	_, err = two.Hold()
	require.NoError(t, err, "the object is still open")
	refused = false
	require.NoError(t, two.Close())
	require.Equal(t, 2, released)
	require.NoError(t, r.pool.Free(block.Addr, nil))
}
