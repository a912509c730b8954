package weights_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/vmm"
	"ferrum_mem/core/weights"
	"ferrum_mem/drivers/testdevice"
)

func TestMain(m *testing.M) { os.Exit(testdevice.Main(m, nil)) }

// copied returns the bytes of a tensor, copied from its device.
func copied(t *testing.T, dev device.Device, of weights.Loaded) []byte {
	t.Helper()
	block, err := offheap.NewBlock(max(int(of.SizeBytes), 1<<16))
	require.NoError(t, err)
	defer block.Free()
	stream := dev.DefaultStream()
	require.NoError(t, stream.CopyToHost(device.HostAddr(offheap.AddressOf(block.Bytes())), of.Addr, of.SizeBytes))
	require.NoError(t, stream.Synchronize(device.Forever))
	return append([]byte{}, block.Bytes()[:of.SizeBytes]...)
}

// Tensors are loaded into blocks of a pool and into pages of an elastic model, and sleep there.
func TestOnDeviceLoads(t *testing.T) {
	m := newModel(t, 5<<20, 1, 300, 2<<20)
	dev := testdevice.Open(t, 256<<20)
	e := engine.New(dev, engine.Options{})
	defer func() { require.NoError(t, e.Close()) }()
	s := m.open(t)
	specs := all(t, s)
	specs = append(specs, weights.Spec{Name: "wide", Tensor: m.order[2], Transformations: []weights.Transformation{{Kind: weights.Cast, Type: dtype.I16}}})
	assertCopied := func(set *weights.Set) {
		t.Helper()
		for _, of := range set.Tensors {
			want := m.bytes[of.Name]
			if of.Name == "wide" {
				for _, b := range m.bytes[m.order[2]] {
					want = append(want, b, 0)
				}
			}
			assert.Equal(t, want, copied(t, dev, of), of.Name)
		}
	}

	p, err := pool.New(e, pool.Config{Name: "models", InitialSizeBytes: 16 << 20, GrowthIncrementBytes: 16 << 20, AutoExpansion: true})
	require.NoError(t, err)
	set, err := s.Load(context.Background(), specs, weights.LoadOptions{Memory: weights.InPool(p, "weights"), Threads: 3, StagingBytes: 1 << 20})
	require.NoError(t, err)
	assertCopied(set)
	require.NoError(t, set.Free())
	require.NoError(t, p.Close(false))
	assert.Zero(t, weights.StagingBytes())

	elastic, err := vmm.NewElastic(e, vmm.ElasticConfig{Name: "elastic", PageBytes: testdevice.PageBytes(dev, 1<<20)})
	require.NoError(t, err)
	defer func() { require.NoError(t, elastic.Close(true)) }()
	model, err := elastic.Register("llama", vmm.ModelConfig{VirtualBytes: 64 << 20})
	require.NoError(t, err)
	memory, err := weights.InModel(elastic, "llama", "weights")
	require.NoError(t, err)
	set, err = s.Load(context.Background(), specs, weights.LoadOptions{Memory: memory, Threads: 2, StagingBytes: 1 << 20})
	require.NoError(t, err)
	assertCopied(set)
	_, err = model.Sleep(context.Background(), vmm.SleepRequest{Tag: "weights"})
	require.NoError(t, err)
	_, err = model.Wake(context.Background(), vmm.WakeRequest{Tag: "weights"})
	require.NoError(t, err)
	assertCopied(set)
	require.NoError(t, set.Free())
}
