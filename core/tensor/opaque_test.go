package tensor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/vmm"
	"ferrum_mem/core/weights"
	"ferrum_mem/drivers/testdevice"
)

// An opaque tensor has a shape and bytes, but no elements to view or copy.
func TestOnDeviceOpaqueTensors(t *testing.T) {
	r := newRig(t)
	defer r.close()
	memory := weights.InPool(r.pool, "")
	o := tensor.Opaque{Type: dtype.BF16, Shape: []int64{40, 3}, Packing: "panels", SizeBytes: 4096}
	packed, err := tensor.NewOpaque(memory, o, r.stream)
	require.NoError(t, err)
	require.Equal(t, "panels", packed.Packing())
	require.EqualValues(t, 4096, packed.SizeBytes())
	first, end := packed.Reach()
	require.Equal(t, packed.Addr(), first)
	require.EqualValues(t, 4096, end-first)
	layout := packed.Layout()
	require.Equal(t, []int64{40, 3}, layout.Shape())
	plain := r.make(dtype.BF16, 40, 3)
	require.Empty(t, plain.Packing())
	for _, refused := range []func() error{
		func() error { _, err := packed.Narrow(0, 1, 2); return err },
		func() error { _, err := packed.Transpose(0, 1); return err },
		func() error { _, err := packed.Reshape(120); return err },
		func() error { return packed.Copy(plain, r.stream) },
		func() error { return plain.Copy(packed, r.stream) },
	} {
		err := refused()
		require.Equal(t, device.CodeUnsupported, device.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, `"panels"`)
	}
	same, err := packed.Same()
	require.NoError(t, err)
	require.Equal(t, "panels", same.Packing())
	require.NoError(t, packed.Close())
	require.NoError(t, same.Close())
	require.NoError(t, plain.Close())
	for _, wrong := range []tensor.Opaque{
		{Type: dtype.F32, Shape: []int64{1}, SizeBytes: 4},
		{Type: dtype.F32, Shape: []int64{1}, Packing: "panels"},
		{Type: 9999, Shape: []int64{1}, Packing: "panels", SizeBytes: 4},
		{Type: dtype.F32, Shape: []int64{-1}, Packing: "panels", SizeBytes: 4},
	} {
		_, err := tensor.NewOpaque(memory, wrong, r.stream)
		require.Equal(t, device.CodeInvalidArgument, device.CodeOf(err), "%v", err)
	}
}

// A use keeps the memory of a closed tensor.
func TestOnDeviceAUseKeepsTheMemory(t *testing.T) {
	r := newRig(t)
	defer r.close()
	live := func() uint64 { return r.pool.Statistics().LiveBlocks.Current }
	a := r.make(dtype.F32, 1000)
	use, err := a.Use()
	require.NoError(t, err)
	again, err := a.Use()
	require.NoError(t, err)
	again.End()
	again.End()
	require.NoError(t, a.Close())
	require.EqualValues(t, 1, live())
	_, err = a.Use()
	require.Equal(t, device.CodeInvalidState, device.CodeOf(err))
	use.End()
	require.Zero(t, live())
	b := r.make(dtype.F32, 1000)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		use, err := b.Use()
		if err != nil {
			panic(err)
		}
		use.End()
	}))
	require.NoError(t, b.Close())
}

// A sleep waits for a use, and a sleeping tensor is not used.
func TestOnDeviceAUseKeepsTheMemoryAwake(t *testing.T) {
	r := newRig(t)
	defer r.close()
	elastic, err := vmm.NewElastic(r.engine, vmm.ElasticConfig{Name: "elastic", PageBytes: testdevice.PageBytes(r.engine.Device(), 1<<20)})
	require.NoError(t, err)
	defer func() { require.NoError(t, elastic.Close(false)) }()
	model, err := elastic.Register("llama", vmm.ModelConfig{VirtualBytes: 64 << 20})
	require.NoError(t, err)
	memory, err := weights.InModel(elastic, "llama", "weights")
	require.NoError(t, err)
	packed, err := tensor.NewOpaque(memory, tensor.Opaque{Type: dtype.F32, Shape: []int64{256}, Packing: "panels", SizeBytes: 1024}, r.stream)
	require.NoError(t, err)
	use, err := packed.Use()
	require.NoError(t, err)
	_, err = model.Sleep(context.Background(), vmm.SleepRequest{NoWait: true})
	require.Equal(t, device.CodeTimeout, device.CodeOf(err), "%v", err)
	use.End()
	_, err = model.Sleep(context.Background(), vmm.SleepRequest{})
	require.NoError(t, err)
	_, err = packed.Use()
	require.Equal(t, device.CodeBusy, device.CodeOf(err), "%v", err)
	_, err = model.Wake(context.Background(), vmm.WakeRequest{})
	require.NoError(t, err)
	require.NoError(t, packed.Close())
	require.Eventually(t, func() bool { return elastic.Unregister("llama", false) == nil }, 10*time.Second, time.Millisecond)
}

// One hold keeps all tensors of a model and tag awake.
func TestOnDeviceGroupsOfTensors(t *testing.T) {
	r := newRig(t)
	defer r.close()
	elastic, err := vmm.NewElastic(r.engine, vmm.ElasticConfig{Name: "elastic", PageBytes: testdevice.PageBytes(r.engine.Device(), 1<<20)})
	require.NoError(t, err)
	defer func() { require.NoError(t, elastic.Close(false)) }()
	model, err := elastic.Register("llama", vmm.ModelConfig{VirtualBytes: 64 << 20})
	require.NoError(t, err)
	all := []*tensor.Tensor{r.make(dtype.F32, 4), r.make(dtype.F32, 4)}
	for _, tag := range []string{"weights", "weights", "cache"} {
		memory, err := weights.InModel(elastic, "llama", tag)
		require.NoError(t, err)
		one, err := tensor.New(memory, dtype.F32, []int64{4}, r.stream)
		require.NoError(t, err)
		all = append(all, one)
	}
	group := tensor.NewGroup(all)
	releases, err := group.Hold(nil)
	require.NoError(t, err)
	require.Len(t, releases, 3, "the pool and two tags")
	_, err = model.Sleep(context.Background(), vmm.SleepRequest{NoWait: true})
	require.Equal(t, device.CodeTimeout, device.CodeOf(err), "%v", err)
	for _, release := range releases {
		release()
	}
	_, err = model.Sleep(context.Background(), vmm.SleepRequest{Tag: "cache"})
	require.NoError(t, err)
	releases, err = group.Hold(releases[:0])
	require.Equal(t, device.CodeBusy, device.CodeOf(err), "%v", err)
	require.Empty(t, releases)
	_, err = model.Sleep(context.Background(), vmm.SleepRequest{Tag: "weights", NoWait: true})
	require.NoError(t, err, "no memory is held after an error")
	_, err = model.Wake(context.Background(), vmm.WakeRequest{})
	require.NoError(t, err)
	for _, one := range all {
		require.NoError(t, one.Close())
	}
	require.Eventually(t, func() bool { return elastic.Unregister("llama", false) == nil }, 10*time.Second, time.Millisecond)
}
