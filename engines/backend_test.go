//go:build cgo && (amd64 || arm64) && linux

package engines

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/tensor"
	"ferrum_mem/drivers/host"
	"ferrum_mem/engines/cpu"
)

// wrap makes a tensor over a slice, which must stay in use.
func wrap(t testing.TB, e *engine.Engine, values []float32, shape ...int64) *tensor.Tensor {
	t.Helper()
	layout, err := strided.Contiguous(shape...)
	require.NoError(t, err)
	foreign := tensor.Foreign{Engine: e, Addr: device.Addr(uintptr(unsafe.Pointer(&values[0]))), SizeBytes: uint64(4 * len(values))}
	made, err := tensor.Wrap(foreign, dtype.F32, layout)
	require.NoError(t, err)
	return made
}

// The CPU engine below a backend: plain and packed weights give one result, in a run and in a sequence, and
// warm runs allocate nothing. Weights that one instruction set has packed are not read by another.
func TestTheCPUEngineBelowABackend(t *testing.T) {
	driver, err := host.New(host.Config{MemoryBytes: 256 << 20})
	require.NoError(t, err)
	opened, err := driver.Open(0)
	require.NoError(t, err)
	e := engine.New(opened, engine.Options{})
	registry := backend.NewRegistry(backend.Settings{Engines: List(), Devices: func() []device.ID { return []device.ID{e.ID()} }})
	best := registry.Find(backend.Requirements{FlashAttention: true, DTypes: backend.DTypes{dtype.F32, dtype.BF16, dtype.GGUFBase + 8}})
	require.Equal(t, "cpu", best.Best)
	factory := manager.NewFactory()
	stream, err := opened.NewStream()
	require.NoError(t, err)
	left, right, got, want := make([]float32, 5*33), make([]float32, 33*70), make([]float32, 5*70), make([]float32, 5*70)
	for i := range left {
		left[i] = float32(i%7) - 3
	}
	for i := range right {
		right[i] = float32(i%11) - 5
	}
	for i := range want {
		for k := range 33 {
			want[i] += left[i/70*33+k] * right[k*70+i%70]
		}
	}
	var packings []*tensor.Tensor
	var open []*backend.Backend
	var operations []*backend.Op
	var tensors []*tensor.Tensor
	for _, instructions := range cpu.Sets() {
		c := backend.DefaultConfig()
		c.Threads, c.Options.InstructionSet = 1, instructions
		b, err := registry.Open(factory, e, c)
		require.NoError(t, err)
		matmul, err := b.Prepare("MatMul", nil, 0)
		require.NoError(t, err)
		x, w, y := wrap(t, e, left, 5, 33), wrap(t, e, right, 33, 70), wrap(t, e, got, 5, 70)
		tensors = append(tensors, x, w, y)
		packed, err := matmul.Pack(1, w, backend.Packing{Stream: stream})
		require.NoError(t, err)
		sequence, err := b.NewSequence()
		require.NoError(t, err)
		require.NoError(t, sequence.Add(matmul, []*tensor.Tensor{x, packed}, []*tensor.Tensor{y}))
		for name, run := range map[string]func() error{
			"plain":    func() error { return matmul.Run([]*tensor.Tensor{x, w}, []*tensor.Tensor{y}, stream) },
			"packed":   func() error { return matmul.Run([]*tensor.Tensor{x, packed}, []*tensor.Tensor{y}, stream) },
			"sequence": func() error { return sequence.Run(stream) },
		} {
			clear(got)
			require.NoError(t, run())
			require.Equal(t, want, got, "%s %s: sums of small integers are exact", instructions, name)
			before := b.Pool().Statistics()
			require.Zero(t, testing.AllocsPerRun(50, func() {
				if err := run(); err != nil {
					panic(err)
				}
			}), "%s %s", instructions, name)
			require.Equal(t, before, b.Pool().Statistics())
		}
		for _, other := range packings {
			err := matmul.Run([]*tensor.Tensor{x, other}, []*tensor.Tensor{y}, stream)
			if other.Packing() == packed.Packing() {
				require.NoError(t, err)
				continue
			}
			require.Equal(t, device.CodeUnsupported, device.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, other.Packing())
			require.ErrorContains(t, err, packed.Packing())
		}
		packings = append(packings, packed)
		tensors = append(tensors, packed)
		require.NoError(t, sequence.Close())
		operations, open = append(operations, matmul), append(open, b)
	}
	for _, one := range tensors {
		require.NoError(t, one.Close())
	}
	for _, o := range operations {
		require.NoError(t, o.Close())
	}
	for _, b := range open {
		require.NoError(t, b.Close(false))
	}
	require.NoError(t, stream.Close())
	_, err = factory.CloseDevice(e, false)
	require.NoError(t, err)
	require.NoError(t, e.Close())
}
