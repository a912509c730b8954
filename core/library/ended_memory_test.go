package library

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/kvcache"
)

// elements describes a tensor of bytes.
func elements(count int64) TensorDesc {
	desc := TensorDesc{DType: dtype.U8, Rank: 1, Contiguous: true}
	desc.Shape[0] = count
	return desc
}

// homes make a tensor of 64 bytes in memory that ends by force.
var homes = map[string]func(t *testing.T, b *deathbed) (tensor uint64, end func() error){
	"pool": func(t *testing.T, b *deathbed) (uint64, func() error) {
		return b.tensorIn(t, TensorMemory{Pool: b.ids[handle.Pool]}), func() error {
			p, _ := b.registry.pools.Get(b.ids[handle.Pool])
			return p.Destroy(true)
		}
	},
	"virtual pool": func(t *testing.T, b *deathbed) (uint64, func() error) {
		return b.tensorIn(t, TensorMemory{VPool: b.ids[handle.VirtualPool]}), func() error {
			p, _ := b.registry.vpools.Get(b.ids[handle.VirtualPool])
			return p.Destroy(true)
		}
	},
	"model": func(t *testing.T, b *deathbed) (uint64, func() error) {
		return b.tensorIn(t, TensorMemory{ElasticPool: b.ids[handle.ElasticPool], Model: modelID}), func() error {
			p, _ := b.registry.elasticPools.Get(b.ids[handle.ElasticPool])
			return p.UnregisterModel(modelID, true)
		}
	},
	"manager": func(t *testing.T, b *deathbed) (uint64, func() error) {
		m, err := b.Manager("test", b.ids[handle.Manager])
		require.NoError(t, err)
		block, err := m.Alloc(64)
		require.NoError(t, err)
		made, err := b.Tensors.FromMemory(block.ID(), 0, elements(64))
		require.NoError(t, err)
		return made, func() error { return m.Destroy(true) }
	},
	"KV cache": func(t *testing.T, b *deathbed) (uint64, func() error) {
		c, err := b.KVCaches.KVCache("test", b.planes(t))
		require.NoError(t, err)
		made, err := c.PlaneTensor(0, false)
		require.NoError(t, err)
		return made, func() error { return c.Destroy(true) }
	},
}

func (b *deathbed) tensorIn(t *testing.T, m TensorMemory) uint64 {
	made, err := b.Tensors.Create(m, int32(dtype.U8), []int64{64}, 0)
	require.NoError(t, err)
	return made
}

// planes makes a KV cache in the pool.
func (b *deathbed) planes(t *testing.T) uint64 {
	config := KVCacheConfig{
		Config: kvcache.Config{BlockTokens: 4, Blocks: 4, Sequences: 2, SequenceTokens: 8},
		Layout: kvcache.Layout{Layers: 1, Heads: 1, HeadDim: 4}, DType: dtype.F32,
	}
	id, err := b.KVCaches.Create(config, TensorMemory{Pool: b.ids[handle.Pool]}, 0, 0)
	require.NoError(t, err)
	return id
}

// A forced end of memory waits for a call that accesses it. A call that begins meanwhile, or later, gets
// CodeInvalidState. So does the forced close of the device.
func TestForcedEndsWaitForAccessesOfTensors(t *testing.T) {
	for name, home := range homes {
		for _, withDevice := range []bool{false, true} {
			title := name
			if withDevice {
				title += ", with its device"
			}
			t.Run(title, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newDeathbed(t)
					id, end := home(t, b)
					if withDevice {
						d, err := b.Device("test", b.ids[handle.Device])
						require.NoError(t, err)
						end = func() error { return d.Close(true) }
					}
					one, err := b.Tensors.Tensor("test", id)
					require.NoError(t, err)
					use, err := one.tensor.Use() // as Read and queued copies do
					require.NoError(t, err)
					done := make(chan error, 1)
					go func() { done <- end() }()
					synctest.Wait()
					isWaiting := len(done) == 0
					_, late := one.tensor.Use()
					_, exportErr := one.ToDLPack(true)
					fillErr, copyErr := one.Fill(1, 0), one.Copy(id, 0)
					use.End()
					require.NoError(t, <-done)
					require.True(t, isWaiting)
					require.Error(t, late)
					for _, err := range []error{exportErr, fillErr, copyErr} {
						want := device.CodeInvalidState
						if withDevice {
							want = device.CodeInvalidHandle // the tensor ends first
						}
						require.Equal(t, want, device.CodeOf(err), "%v", err)
					}
					require.NoError(t, b.Shutdown(true))
				})
			})
		}
	}
}
