//go:build cgo && (amd64 || arm64) && linux

package engines

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/tensor"
	"ferrum_mem/drivers/host"
	"ferrum_mem/engines/ort"
)

func floatOf(bytes []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(bytes)) }

// needRuntime lets the test use the library of the wheel in the environment of the tests. Without it the
// test is skipped.
func needRuntime(t testing.TB) {
	t.Helper()
	if os.Getenv(ort.EnvLibrary) != "" {
		return
	}
	found, err := filepath.Glob("../build/venv/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so*")
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skip("no ONNX Runtime: `make test` installs onnxruntime in build/venv, or " + ort.EnvLibrary + " has its path")
	}
	t.Setenv(ort.EnvLibrary, found[0])
}

// pair is one device with a backend of each engine.
type pair struct {
	t        *testing.T
	factory  *manager.Factory
	registry *backend.Registry
	device   *engine.Engine
	cpu, ort *backend.Backend
	// kept are the elements of tensors.
	kept [][]float32
}

func newPair(t *testing.T) *pair {
	t.Helper()
	needRuntime(t)
	driver, err := host.New(host.Config{MemoryBytes: 256 << 20})
	require.NoError(t, err)
	opened, err := driver.Open(0)
	require.NoError(t, err)
	p := &pair{t: t, factory: manager.NewFactory(), device: engine.New(opened, engine.Options{})}
	p.registry = backend.NewRegistry(backend.Settings{Engines: List(), Devices: func() []device.ID { return []device.ID{p.device.ID()} }})
	c := backend.DefaultConfig()
	c.Threads = 1
	p.cpu, err = p.registry.Open(p.factory, p.device, c)
	require.NoError(t, err)
	c.Type = backend.ONNXRuntime
	p.ort, err = p.registry.Open(p.factory, p.device, c)
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, b := range []*backend.Backend{p.cpu, p.ort} {
			if !b.HasEnded() {
				require.NoError(t, b.Close(false), "sessions do not keep a backend open")
			}
		}
		_, err := p.factory.CloseDevice(p.device, false)
		require.NoError(t, err)
		require.NoError(t, p.device.Close(), "no memory is left")
	})
	return p
}

// random makes a tensor of F32 in the memory of a backend.
func (p *pair) random(shape ...int64) *tensor.Tensor {
	p.t.Helper()
	count := int64(1)
	for _, length := range shape {
		count *= length
	}
	values := make([]float32, max(count, 1))
	for i := range values {
		values[i] = rand.Float32() - 0.5
	}
	p.kept = append(p.kept, values)
	return wrap(p.t, p.device, values, shape...)
}

// integers makes a list of I64.
func (p *pair) integers(values ...int64) *tensor.Tensor {
	p.t.Helper()
	made, err := tensor.New(p.cpu.Memory(), dtype.I64, []int64{int64(len(values))}, p.device.Device().DefaultStream())
	require.NoError(p.t, err)
	bytes := make([]byte, 8*len(values))
	for i, v := range values {
		bytes[8*i] = byte(v)
	}
	require.NoError(p.t, made.Write(bytes, p.device.Device().DefaultStream()))
	return made
}

// run runs an operation with outputs that the run makes, and returns them as numbers.
func (p *pair) run(b *backend.Backend, name, attributes string, outputs int, inputs ...*tensor.Tensor) [][]float32 {
	p.t.Helper()
	op, err := b.Prepare(name, []byte(attributes), 0)
	require.NoError(p.t, err)
	defer func() { require.NoError(p.t, op.Close()) }()
	made := make([]*tensor.Tensor, outputs)
	require.NoError(p.t, op.Run(inputs, made, nil), name)
	results := make([][]float32, outputs)
	for i, out := range made {
		bytes := make([]byte, out.SizeBytes())
		stream := p.device.Device().DefaultStream()
		require.NoError(p.t, out.Read(bytes, stream))
		layout := out.Layout()
		wide := make([]byte, 4*layout.Elements())
		require.NoError(p.t, dtype.Convert(dtype.F32, wide, out.Type(), bytes))
		results[i] = make([]float32, layout.Elements())
		for j := range results[i] {
			results[i][j] = floatOf(wide[4*j:])
		}
		require.NoError(p.t, out.Close())
	}
	return results
}

// Both engines compute the same, by operations of ONNX and of this library.
func TestOperationsOfTwoEngines(t *testing.T) {
	p := newPair(t)
	x, y := p.random(2, 3, 8), p.random(2, 3, 8)
	matrix, bias, row := p.random(6, 8), p.random(6), p.random(8)
	q := p.random(1, 2, 4, 8)
	for _, c := range []struct {
		name, attributes string
		outputs          int
		inputs           []*tensor.Tensor
	}{
		{"Add", "", 1, []*tensor.Tensor{x, row}},
		{"MatMul", "", 1, []*tensor.Tensor{x, p.random(8, 5)}},
		{"Gelu", `{"approximate":"tanh"}`, 1, []*tensor.Tensor{x}},
		{"Softmax", "", 1, []*tensor.Tensor{x}},
		{"LayerNormalization", "", 1, []*tensor.Tensor{x, row, row}},
		{"RMSNormalization", "", 1, []*tensor.Tensor{x, row}},
		{"Concat", `{"axis":1}`, 1, []*tensor.Tensor{x, y, x}},
		{"Split", `{"axis":2}`, 2, []*tensor.Tensor{x, p.integers(3, 5)}},
		{"Reshape", "", 1, []*tensor.Tensor{x, p.integers(6, 8)}},
		{"Gather", "", 1, []*tensor.Tensor{matrix, p.integers(5, 0, 2)}},
		{"Attention", "", 1, []*tensor.Tensor{q, p.random(1, 2, 5, 8), p.random(1, 2, 5, 8)}},
		{"Attention", "", 1, []*tensor.Tensor{q, p.random(1, 2, 5, 8), p.random(1, 2, 5, 8), p.random(1, 1, 1, 5)}},
		{"ferrum.linear", `{"activation":"gelu"}`, 1, []*tensor.Tensor{x, matrix, bias}},
		{"ferrum.silu_mul", "", 1, []*tensor.Tensor{x, y}},
		{"ferrum.layer_norm_residual", "", 1, []*tensor.Tensor{x, y, row, row}},
	} {
		want, got := p.run(p.cpu, c.name, c.attributes, c.outputs, c.inputs...), p.run(p.ort, c.name, c.attributes, c.outputs, c.inputs...)
		for i := range want {
			assert.InDeltaSlice(t, want[i], got[i], 1e-5, "output %d of %s", i, c.name)
		}
	}
	closeLists(t, p)
}

// closeLists closes the backends by force: tests of values leave lists of integers open.
func closeLists(t *testing.T, p *pair) {
	t.Helper()
	require.NoError(t, p.ort.Close(false), "sessions do not keep a backend open")
	require.NoError(t, p.cpu.Close(true))
}

// What the engine does not compute is an error by name, before anything runs.
func TestOperationsThatARuntimeDoesNotCompute(t *testing.T) {
	p := newPair(t)
	x := p.random(4, 8)
	turned, err := x.Transpose(0, 1)
	require.NoError(t, err)
	op, err := p.ort.Prepare("Relu", nil, 0)
	require.NoError(t, err)
	err = op.Run([]*tensor.Tensor{turned}, []*tensor.Tensor{nil}, nil)
	require.ErrorIs(t, err, device.CodeUnsupported)
	assert.Contains(t, err.Error(), "contiguous")
	_, err = op.Pack(0, x, backend.Packing{})
	require.ErrorIs(t, err, device.CodeUnsupported)
	assert.Contains(t, err.Error(), "onnx_runtime takes no packed inputs")
	require.NoError(t, op.Close())
	_, err = p.ort.Prepare("ferrum.quantized_linear", nil, 0)
	require.ErrorIs(t, err, device.CodeUnsupported)
	assert.Contains(t, err.Error(), "ferrum.quantized_linear")

	// An index out of range is an error of a run.
	op, err = p.ort.Prepare("Gather", nil, 0)
	require.NoError(t, err)
	wrong := p.integers(9)
	require.Error(t, op.Run([]*tensor.Tensor{x, wrong}, []*tensor.Tensor{nil}, nil))
	require.NoError(t, wrong.Close())
	require.NoError(t, op.Close())
}

// A plan stays when its session ends, as the sessions of many plans do.
func TestPlansOutliveTheirSessions(t *testing.T) {
	p := newPair(t)
	op, err := p.ort.Prepare("Relu", nil, 0)
	require.NoError(t, err)
	sequence, err := p.ort.NewSequence()
	require.NoError(t, err)
	first, out := p.random(3), p.random(3)
	require.NoError(t, sequence.Add(op, []*tensor.Tensor{first}, []*tensor.Tensor{out}))
	for length := int64(4); length < 80; length++ {
		made := []*tensor.Tensor{nil}
		require.NoError(t, op.Run([]*tensor.Tensor{p.random(length)}, made, nil))
		require.NoError(t, made[0].Close())
	}
	require.NoError(t, sequence.Run(nil))
	bytes, want := make([]byte, 12), make([]byte, 12)
	stream := p.device.Device().DefaultStream()
	require.NoError(t, out.Read(bytes, stream))
	require.NoError(t, first.Read(want, stream))
	for i := range 3 {
		assert.Equal(t, max(floatOf(want[4*i:]), 0), floatOf(bytes[4*i:]))
	}
	require.NoError(t, sequence.Close())
	require.NoError(t, op.Close())
}

// The registry lists the engine, and prefers that of the processors.
func TestARuntimeIsFound(t *testing.T) {
	p := newPair(t)
	entry, err := p.registry.Get("onnx_runtime")
	require.NoError(t, err)
	assert.True(t, entry.Available)
	assert.NotEmpty(t, entry.Version)
	assert.Contains(t, string(entry.Capabilities.Extra["library"]), "libonnxruntime")
	found := p.registry.Find(backend.Requirements{})
	assert.Equal(t, "cpu", found.Best)
	c := backend.DefaultConfig()
	c.Type, c.Options.InstructionSet = backend.ONNXRuntime, "avx2"
	_, err = p.registry.Open(p.factory, p.device, c)
	require.ErrorIs(t, err, device.CodeUnsupported)
	assert.Contains(t, err.Error(), "avx2")
}
