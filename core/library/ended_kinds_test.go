package library

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/fallback"
	"ferrum_mem/core/handle"
)

// ends ends an object and keeps its handle, as in the middle of the calls that end it.
// Those hold object.destroying during that time.
var ends = map[string]struct {
	kind handle.Kind
	end  func(t *testing.T, b *deathbed, id uint64)
}{
	"pool": {handle.Pool, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.registry.pools.Get(id)
		entry.destroying.Lock()
		require.NoError(t, entry.Close(true))
	}},
	"virtual pool": {handle.VirtualPool, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.registry.vpools.Get(id)
		entry.destroying.Lock()
		require.NoError(t, entry.Close(true))
	}},
	"elastic pool": {handle.ElasticPool, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.registry.elasticPools.Get(id)
		entry.destroying.Lock()
		require.NoError(t, entry.Close(true))
	}},
	"manager": {handle.Manager, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.registry.managers.Get(id)
		entry.destroying.Lock()
		require.NoError(t, entry.Close(true))
	}},
	"fallback manager":                   {handle.FallbackManager, endFallbackManager},
	"tracker, with its fallback manager": {handle.Tracker, endFallbackManager},
	"buffer, with its fallback manager":  {handle.Buffer, endFallbackManager},
	"buffer": {handle.Buffer, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.registry.buffers.Get(id)
		entry.destroying.Lock()
		require.NoError(t, entry.Buffer.Free(nil))
	}},
	"buffer that is taken": {handle.Buffer, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.registry.buffers.Get(id)
		entry.destroying.Lock()
		_, err := entry.Buffer.Take(fallback.GPU)
		require.NoError(t, err)
	}},
	"generic pool": {handle.GenericPool, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.registry.genericPools.Get(id)
		require.NoError(t, entry.end(true))
	}},
	"tracker, with its generic pool": {handle.Tracker, func(t *testing.T, b *deathbed, _ uint64) {
		entry, _ := b.registry.genericPools.Get(b.ids[handle.GenericPool])
		b.ids[handle.Tracker] = entry.tracker
		require.NoError(t, entry.end(true))
	}},
	"monitor": {handle.Monitor, func(_ *testing.T, b *deathbed, id uint64) {
		entry, _ := b.registry.monitors.Get(id)
		entry.Close(false)
	}},
	"source of weights": {handle.Weights, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.registry.weights.Get(id)
		require.NoError(t, entry.end(true))
	}},
	"tensor set": {handle.TensorSet, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.registry.tensorSets.Get(id)
		require.NoError(t, entry.release())
		entry.ended.Store(true)
	}},
	"tensor": {handle.Tensor, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.registry.tensors.Get(id)
		entry.destroying.Lock()
		require.NoError(t, entry.tensor.Close())
	}},
	"KV cache": {handle.KVCache, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.registry.kvCaches.Get(id)
		entry.destroying.Lock()
		require.NoError(t, entry.cache.Close(true))
	}},
	"placement strategy": {handle.Placement, func(_ *testing.T, b *deathbed, id uint64) {
		entry, _ := b.registry.placements.Get(id)
		entry.end(false)
	}},
	"device": {handle.Device, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.registry.devices.Get(id)
		require.True(t, b.claim(entry))
		require.NoError(t, b.emptyDevice(entry, true, nil))
		require.NoError(t, entry.Engine.Close())
	}},
}

func endFallbackManager(t *testing.T, b *deathbed, _ uint64) {
	entry, _ := b.registry.fallbackManagers.Get(b.ids[handle.FallbackManager])
	entry.destroying.Lock()
	require.NoError(t, entry.Close(true))
}
