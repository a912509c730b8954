//go:build cgo && (amd64 || arm64) && linux

package engines

import (
	"encoding/json"
	"math"
	"runtime"
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
)

const (
	decodeHeads  = 2
	decodeDepth  = 8
	decodeTokens = 1000
)

// decoder computes the attention of one new token after another over a cache of keys and values.
type decoder struct {
	backend *backend.Backend
	op      *backend.Op
	// The memory of the tensors.
	query, cache, y []float32
	length          []int64
	q, kv, out      *tensor.Tensor
	lengths         *tensor.Tensor
	stream          device.Stream
	end             func()
}

func newDecoder(t testing.TB) *decoder {
	t.Helper()
	driver, err := host.New(host.Config{MemoryBytes: 256 << 20})
	require.NoError(t, err)
	opened, err := driver.Open(0)
	require.NoError(t, err)
	e := engine.New(opened, engine.Options{})
	registry := backend.NewRegistry(backend.Settings{Engines: List(), Devices: func() []device.ID { return []device.ID{e.ID()} }})
	factory := manager.NewFactory()
	stream, err := opened.NewStream()
	require.NoError(t, err)
	c := backend.DefaultConfig()
	c.Threads = 1
	b, err := registry.Open(factory, e, c)
	require.NoError(t, err)
	op, err := b.Prepare("Attention", nil, 0)
	require.NoError(t, err)
	d := &decoder{
		backend: b, op: op, stream: stream,
		cache: make([]float32, decodeHeads*decodeTokens*decodeDepth), y: make([]float32, decodeHeads*decodeDepth), length: []int64{1},
	}
	for i := range d.cache {
		d.cache[i] = float32(math.Sin(float64(i)))
	}
	d.query = make([]float32, decodeHeads*decodeDepth)
	for i := range d.query {
		d.query[i] = float32(i) / 8
	}
	d.q, d.out = wrap(t, e, d.query, 1, decodeHeads, 1, decodeDepth), wrap(t, e, d.y, 1, decodeHeads, 1, decodeDepth)
	d.kv = wrap(t, e, d.cache, 1, decodeHeads, decodeTokens, decodeDepth)
	layout, err := strided.Contiguous(1)
	require.NoError(t, err)
	d.lengths, err = tensor.Wrap(tensor.Foreign{Engine: e, Addr: device.Addr(uintptr(unsafe.Pointer(&d.length[0]))), SizeBytes: 8}, dtype.I64, layout)
	require.NoError(t, err)
	d.end = func() {
		for _, one := range []*tensor.Tensor{d.q, d.out, d.kv, d.lengths} {
			require.NoError(t, one.Close())
		}
		require.NoError(t, op.Close())
		require.NoError(t, b.Close(false))
		require.NoError(t, stream.Close())
		_, err = factory.CloseDevice(e, false)
		require.NoError(t, err)
		require.NoError(t, e.Close())
	}
	return d
}

// byLength runs with the whole cache, and states how many of its keys are valid.
func (d *decoder) byLength(tokens int64) error {
	d.length[0] = tokens
	return d.op.Run([]*tensor.Tensor{d.q, d.kv, d.kv, nil, nil, nil, d.lengths}, []*tensor.Tensor{d.out}, d.stream)
}

// byView runs with a view of the valid part of the cache.
func (d *decoder) byView(tokens int64) error {
	part, err := d.kv.Narrow(2, 0, tokens)
	if err != nil {
		return err
	}
	err = d.op.Run([]*tensor.Tensor{d.q, part, part}, []*tensor.Tensor{d.out}, d.stream)
	if closed := part.Close(); err == nil {
		err = closed
	}
	return err
}

func (d *decoder) plans(t testing.TB) (plans int) {
	t.Helper()
	require.NoError(t, json.Unmarshal(d.backend.Status().Specific["plans"], &plans))
	return plans
}

// A decoder that states how many keys are valid plans once, and its tokens allocate nothing.
func TestADecoderPlansOnce(t *testing.T) {
	d := newDecoder(t)
	defer d.end()
	for n := range int64(decodeTokens) {
		require.NoError(t, d.byView(n+1))
		want := append([]float32{}, d.y...)
		require.NoError(t, d.byLength(n+1))
		require.InDeltaSlice(t, want, d.y, 1e-6, "%d tokens", n+1)
	}
	require.Equal(t, decodeTokens+1, d.plans(t), "one plan for each length of a view, and one for all lengths")
	tokens := int64(0)
	require.Zero(t, testing.AllocsPerRun(decodeTokens, func() {
		tokens = tokens%decodeTokens + 1
		if err := d.byLength(tokens); err != nil {
			panic(err)
		}
	}))
	require.Equal(t, decodeTokens+1, d.plans(t))
}

// A decoder with views that become longer has a plan for each token. They do not accumulate.
func TestPlansOfADecoderDoNotAccumulate(t *testing.T) {
	d := newDecoder(t)
	defer d.end()
	held := func(rounds int) int64 {
		for range rounds {
			for n := range int64(decodeTokens) {
				require.NoError(t, d.byView(n+1))
			}
		}
		var memory runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&memory)
		return int64(memory.HeapAlloc)
	}
	first := held(1)
	require.Less(t, held(10)-first, int64(128<<10))
	require.Equal(t, 11*decodeTokens, d.plans(t))
	// The last ones are kept.
	for n := range int64(30) {
		require.NoError(t, d.byView(decodeTokens-n))
	}
	require.Equal(t, 11*decodeTokens, d.plans(t))
}

func BenchmarkDecoder(b *testing.B) {
	d := newDecoder(b)
	defer d.end()
	for name, run := range map[string]func(int64) error{"by length": d.byLength, "by view": d.byView} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				require.NoError(b, run(int64(i%decodeTokens)+1))
			}
		})
	}
}
