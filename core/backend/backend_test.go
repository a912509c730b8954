package backend_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/tensor"
)

func TestOpenRefusesWhatItCannotDo(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		change func(*backend.Config)
		code   device.Code
		names  []string
	}{
		{func(c *backend.Config) { c.Type = backend.ONNXRuntime }, device.CodeUnsupported, []string{"onnx_runtime", "not available: "}},
		{func(c *backend.Config) { c.OptimizationLevel = 7 }, device.CodeInvalidConfig, []string{"optimization_level"}},
		{func(c *backend.Config) { c.Device = "cpu:1" }, device.CodeUnsupportedDevice, []string{"cpu:1"}},
		{func(c *backend.Config) { c.Type, c.Name = backend.Custom, "mine" }, device.CodeNotFound, []string{"mine"}},
		{func(c *backend.Config) { c.Memory.Growth, c.Memory.PoolSizeBytes = backend.Static, 1<<40 }, device.CodeOutOfMemory, nil},
	} {
		config := backend.DefaultConfig()
		c.change(&config)
		_, err := r.registry.Open(r.factory, r.device, config)
		requireError(t, c.code, err, c.names...)
		require.Zero(t, r.open.Load(), "the engine was closed")
	}
}

func TestTheCapabilitiesOfAnEngine(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	c := b.Capabilities()
	require.Equal(t, backend.DTypes{dtype.F32, dtype.BF16, dtype.I64}, c.DTypes)
	require.Equal(t, backend.Devices{{Backend: "cpu"}}, c.Devices, "the real devices on which it computes")
	require.True(t, c.BF16)
	require.False(t, c.FP16)
	require.False(t, c.Int8)
	require.False(t, c.FlashAttention, "the reference makes a matrix of all scores")
	require.True(t, c.PagedAttention, "it computes ferrum.paged_attention")
	require.Equal(t, 8, c.MaxTensorDims)
	require.EqualValues(t, 64, c.AlignmentBytes)
	require.JSONEq(t, `"plain"`, string(c.Extra["instruction_set"]))
	var operations map[string][]string
	require.NoError(t, json.Unmarshal(c.Extra["operations"], &operations))
	require.Equal(t, []string{"f32"}, operations["ferrum.linear"])
	entry, err := r.registry.Get("cpu")
	require.NoError(t, err)
	require.Equal(t, c, *entry.Capabilities)
	require.Equal(t, "1", b.Version())
	require.EqualValues(t, 1, r.open.Load(), "the engine of Get is closed")
	require.Equal(t, "cpu", r.registry.Find(backend.Requirements{DTypes: backend.DTypes{dtype.BF16}}).Best)
	require.Equal(t, []backend.Type{backend.CPU, backend.Custom}, r.registry.SupportedTypes())
	for id, want := range map[device.ID]bool{{Backend: "cpu"}: true, {Backend: "cpu", Index: 1}: false, {Backend: "cuda"}: false} {
		supports, err := b.SupportsDevice(id)
		require.NoError(t, err)
		require.Equal(t, want, supports, id)
	}
	require.NoError(t, b.Close(false))
}

// An engine that cannot be opened is listed with the reason, and tried again.
func TestAnEngineThatCannotBeOpened(t *testing.T) {
	r := newRig(t)
	r.dev.failAt(1)
	entry, err := r.registry.Get("cpu")
	require.NoError(t, err)
	require.False(t, entry.Available)
	require.Contains(t, entry.Reason, "this call is broken")
	entry, err = r.registry.Get("cpu")
	require.NoError(t, err)
	require.True(t, entry.Available)
}

// The status is exact: memory is what the counters of the manager state.
func TestStatus(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	text, err := json.Marshal(b.Status())
	require.NoError(t, err)
	require.Equal(t, `{"is_initialized":true,"is_ready":true,"active_devices":["cpu:0"],"memory_usage":{"cpu:0":0},`+
		`"operations_completed":0,"last_error":null,"backend_specific":{"allocated_bytes":0,"operations":0,"plans":0,"sequences":0,"tensors":0,"workspace_bytes":0}}`, string(text))
	matmul := prepare(t, b, "MatMul", "")
	x := r.put(b, make([]float32, 9), 3, 3)
	outputs := tensors{nil}
	for range 3 {
		require.NoError(t, matmul.Run(tensors{x, x}, outputs, r.stream))
	}
	h, err := b.Manager().Alloc(5000)
	require.NoError(t, err)
	s, counters := b.Status(), b.Manager().Statistics()
	require.Equal(t, map[string]uint64{"cpu:0": counters.Reserved.Current}, s.MemoryUsage)
	require.Equal(t, counters.Reserved.Current, r.device.Statistics().Reserved.Current)
	require.NotZero(t, counters.Reserved.Current)
	require.EqualValues(t, 3, s.OperationsCompleted)
	for name, want := range map[string]uint64{"allocated_bytes": counters.Allocated.Current, "operations": 1, "sequences": 0, "tensors": 2, "workspace_bytes": testWorkspaceBytes} {
		var got uint64
		require.NoError(t, json.Unmarshal(s.Specific[name], &got))
		require.Equal(t, want, got, name)
	}
	requireError(t, device.CodeBusy, b.Close(false), "1 operation, 0 sequences and 2 tensors")
	require.NoError(t, matmul.Close())
	requireError(t, device.CodeBusy, b.Close(false), "2 tensors")
	closeTensors(t, x, outputs[0])
	requireError(t, device.CodeBusy, b.Close(false), "1 block")
	require.True(t, b.Status().Ready, "nothing has changed")
	require.Nil(t, b.Status().LastError, "a close of a backend in use is no failure of it")
	require.NoError(t, r.factory.Free(h))
	require.NoError(t, b.Synchronize(r.device.ID(), device.Forever))
	requireError(t, device.CodeUnsupportedDevice, b.Synchronize(device.ID{Backend: "cuda"}, device.Forever), "cpu:0")
	require.NoError(t, b.Close(false))
	requireError(t, device.CodeInvalidHandle, b.Close(false), "closed")
}

// Each strategy takes memory when it says, and no more than the size.
func TestGrowthOfTheMemory(t *testing.T) {
	const size = 8 << 20
	for _, c := range []struct {
		growth                  backend.Growth
		atOpen, afterOne, after uint64
	}{
		{backend.Static, size, size, size},
		{backend.Dynamic, 0, 2 << 20, 8 << 20},
		{backend.Incremental, size / 4, size / 2, size},
	} {
		r := newRig(t)
		b := r.start(func(config *backend.Config) { config.Memory.Growth, config.Memory.PoolSizeBytes = c.growth, size })
		held := func() uint64 { return b.Status().MemoryUsage["cpu:0"] }
		require.Equal(t, c.atOpen, held(), c.growth)
		var blocks []manager.MemoryHandle
		var failure error
		for range 20 {
			h, err := b.Manager().Alloc(1 << 20)
			if err != nil {
				failure = err
				break
			}
			blocks = append(blocks, h)
			if len(blocks) == 3 && c.growth == backend.Incremental || len(blocks) == 1 && c.growth != backend.Incremental {
				require.Equal(t, c.afterOne, held(), c.growth)
			}
		}
		requireError(t, device.CodeOutOfMemory, failure)
		require.Len(t, blocks, 8, c.growth)
		require.Equal(t, c.after, held(), c.growth)
		for _, h := range blocks {
			require.NoError(t, r.factory.Free(h))
		}
		require.Equal(t, c.after, held(), "%v: it is kept for the next allocation", c.growth)
		require.NoError(t, b.Close(false))
	}
	r := newRig(t)
	b := r.start(func(config *backend.Config) {
		config.Memory = backend.MemoryConfig{Growth: backend.Dynamic, AlignmentBytes: 4096}
	})
	h, err := b.Manager().Alloc(1)
	require.NoError(t, err)
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.Zero(t, uint64(info.Addr)%4096)
	require.NotZero(t, b.Status().MemoryUsage["cpu:0"])
	require.NoError(t, r.factory.Free(h))
	require.Zero(t, b.Status().MemoryUsage["cpu:0"], "without pooling it is returned at once")
	require.NoError(t, b.Close(false))
}

// The manager of a backend may be closed with its device. The backend then has no memory.
func TestADeviceClosesTheManager(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	x := r.put(b, []float32{1}, 1)
	require.NoError(t, b.Manager().Close(true))
	closeTensors(t, x)
	_, err := b.Memory().Alloc(64, r.stream)
	require.Error(t, err)
	require.NoError(t, b.Close(true))
}

// A workspace that no run uses makes room for a tensor and for a larger workspace.
func TestIdleWorkspacesMakeRoom(t *testing.T) {
	r := newRig(t)
	const size = 1 << 20
	b := r.start(func(c *backend.Config) { c.Memory.Growth, c.Memory.PoolSizeBytes = backend.Static, size })
	matmul := prepare(t, b, "MatMul", "")
	x, y := r.put(b, []float32{1}, 1, 1), r.put(b, []float32{1}, 1, 1)
	require.NoError(t, matmul.Run(tensors{x, x}, tensors{y}, r.stream))
	require.JSONEq(t, "1000", string(b.Status().Specific["workspace_bytes"]))
	free := b.Pool().Statistics().Cached.Current
	large, err := tensor.New(b.Memory(), dtype.U8, []int64{int64(free) + 512}, r.stream)
	require.NoError(t, err)
	require.JSONEq(t, "0", string(b.Status().Specific["workspace_bytes"]))
	requireError(t, device.CodeOutOfMemory, matmul.Run(tensors{x, x}, tensors{nil}, r.stream))
	closeTensors(t, large, x, y)
	require.NoError(t, matmul.Close())
	require.NoError(t, b.Close(false))
}

// In debug mode, a write beyond a tensor is found.
func TestDebugModeChecksTheMemory(t *testing.T) {
	r := newPagedRig(t)
	b := r.start(func(c *backend.Config) { c.EnableDebug = true })
	x := r.put(b, []float32{1, 2}, 2)
	require.NoError(t, b.Pool().Check())
	offheap.View(uintptr(x.Addr())+8, 1)[0] ^= 1
	requireError(t, device.CodeCorrupted, b.Pool().Check(), "tensor")
	closeTensors(t, x)
	require.NoError(t, b.Close(false))
}
