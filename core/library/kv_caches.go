package library

import (
	"errors"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/kvcache"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pressure"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/tensor"
)

// KVCacheConfig describes a cache, and its planes if the library owns the memory.
type KVCacheConfig struct {
	kvcache.Config
	kvcache.Layout
	DType dtype.DType
}

// KVCacheStats describes a cache.
type KVCacheStats struct {
	kvcache.Stats
	// BlockBytes is the size of a block in all planes, and MappedBytes that of all blocks with memory; 0: the
	// program owns the memory.
	BlockBytes, MappedBytes uint64
}

// KVSequence is a new sequence.
type KVSequence struct {
	Sequence uint64
	// CachedTokens is the number of tokens whose keys and values are in shared blocks.
	CachedTokens uint32
}

// reclaimDeadline bounds the wait of another model for a cache that releases chunks.
const reclaimDeadline = time.Second

// Create makes a cache. memory without a handle: the program owns the memory of the blocks. hostPool has the
// blocks of the host; 0: none, or the program owns them. stream is the stream of the copies; 0: the default one.
func (x *KVCaches) Create(c KVCacheConfig, memory TensorMemory, hostPool, stream uint64) (uint64, error) {
	const op = "kv_cache.create"
	if _, err := x.library.started(op); err != nil {
		return 0, err
	}
	if err := x.handles(op, &memory, hostPool, stream); err != nil {
		return 0, err
	}
	if !c.DType.IsKnown() {
		return 0, device.Errorf(device.CodeInvalidConfig, op, "config->dtype is %d, which is not a type", int32(c.DType))
	}
	if memory == (TensorMemory{}) {
		return x.createWithoutMemory(op, c, hostPool, stream)
	}
	if err := memory.check(op, "memory"); err != nil {
		return 0, err
	}
	if memory.Device != 0 {
		return 0, device.Errorf(device.CodeInvalidArgument, op, "memory->device is set: a cache is made in a pool, a virtual pool or an elastic pool")
	}
	home, err := x.homeOf(op, &memory)
	if err != nil {
		return 0, err
	}
	each, width := c.DType.Block()
	c.ElementBits = uint32(width * 8 / each)
	if each > 2 {
		return 0, device.Errorf(device.CodeUnsupported, op, "elements of %s: a cache has elements of 4 bits or more that need no scale", c.DType)
	}
	made := &KVCache{kind: c.DType, tag: memory.Tag, using: newGate()}
	if err := x.open(op, made, home, &c, &memory, hostPool, stream); err != nil {
		if made.device != nil {
			err = on(err, made.device.Engine)
		}
		return 0, err
	}
	return made.id(), nil
}

// handles rejects handles that name nothing.
func (x *KVCaches) handles(op string, m *TensorMemory, hostPool, stream uint64) error {
	if err := x.library.Tensors.handles(op, m); err != nil {
		return err
	}
	if hostPool != 0 {
		if _, err := x.library.Pool(op, hostPool); err != nil {
			return err
		}
	}
	if stream != 0 {
		_, _, err := x.library.registry.factory.Stream(manager.StreamHandle(stream))
		return err
	}
	return nil
}

func (x *KVCaches) createWithoutMemory(op string, c KVCacheConfig, hostPool, stream uint64) (uint64, error) {
	if hostPool != 0 || stream != 0 {
		return 0, device.Errorf(device.CodeInvalidArgument, op, "memory has no handle: then host_pool and stream are {0}, because the program makes the copies")
	}
	cache, err := kvcache.New(c.Config, nil)
	if err != nil {
		return 0, err
	}
	id, err := insertLate(&x.library.Loader, x.library.registry.kvCaches, op, &KVCache{cache: cache})
	if err != nil {
		return 0, errors.Join(err, cache.Close(true))
	}
	return id, nil
}

// open allocates the memory of a cache and assigns a handle to it.
func (x *KVCaches) open(op string, made *KVCache, home *kvHome, c *KVCacheConfig, memory *TensorMemory, hostPool, stream uint64) error {
	made.device = home.device
	if err := home.device.pass(op); err != nil {
		return err
	}
	defer home.device.gate.exit()
	if err := x.host(op, made, home, c, hostPool); err != nil {
		return err
	}
	if _, err := x.library.registry.streamOrDefault(op, stream, home.device); err != nil {
		return err
	}
	home.stream = x.streamNow(stream, home.device)
	made.places = append(made.places, home.place)
	for _, place := range made.places {
		place.holder.keepCache(made)
	}
	if err := made.build(home, c, memory); err != nil {
		return errors.Join(err, made.undo())
	}
	if _, err := insert(x.library, x.library.registry.kvCaches, made); err != nil {
		return errors.Join(err, made.undo())
	}
	return nil
}

// undo ends a cache without a handle.
func (c *KVCache) undo() (err error) {
	if c.cache != nil {
		err = c.cache.Close(true)
	}
	if c.reclaim != nil {
		c.reclaim.Remove(false)
	}
	for _, place := range c.places {
		place.holder.forgetCache(c)
	}
	return err
}

// streamNow returns a function that finds the stream of a handle. When the stream has ended, and so has
// drained, it returns the default stream.
func (x *KVCaches) streamNow(id uint64, d *Device) func() device.Stream {
	return func() device.Stream {
		stream, err := x.library.registry.streamOrDefault("kv_cache.stream", id, d)
		if err != nil {
			stream = nil
		}
		return orDefault(stream, d)
	}
}

// Stats returns the counters.
func (c *KVCache) Stats() KVCacheStats {
	stats := KVCacheStats{Stats: c.cache.Stats()}
	if c.planes != nil {
		stats.BlockBytes = c.planes.BlockBytes()
		stats.MappedBytes = (stats.Blocks - stats.UnmappedBlocks) * stats.BlockBytes
	}
	return stats
}

// Plane returns the address and the size of the keys of a layer, or of its values.
func (c *KVCache) Plane(layer uint32, values bool) (device.Addr, uint64, error) {
	if err := c.hasPlanes("kv_cache.plane"); err != nil {
		return 0, 0, err
	}
	return c.planes.Plane(layer, values)
}

func (c *KVCache) hasPlanes(op string) error {
	if c.planes == nil {
		return device.Errorf(device.CodeInvalidState, op, "KV cache handle %#x has no memory: the program owns that of the blocks", c.id())
	}
	return nil
}

// PlaneTensor makes a tensor over the keys of a layer, or its values. Errors: CodeUnsupported for a cache whose
// blocks do not always have memory.
func (c *KVCache) PlaneTensor(layer uint32, values bool) (uint64, error) {
	const op = "kv_cache.plane_tensor"
	addr, size, err := c.Plane(layer, values)
	if err != nil {
		return 0, err
	}
	if !c.planes.IsWhole() {
		return 0, device.Errorf(device.CodeUnsupported, op, "a tensor over blocks that may have no memory: make the cache with always_blocks equal to blocks, or in a pool")
	}
	config, heads, dim := c.cache.Config(), c.planes.Heads(), c.planes.HeadDim()
	layout, err := strided.Contiguous(int64(config.Blocks), int64(heads), int64(config.BlockTokens), int64(dim))
	if err != nil {
		return 0, err
	}
	if !c.destroying.TryLock() {
		return 0, device.Errorf(device.CodeBusy, op, "KV cache handle %#x: another call is ending the cache", c.id())
	}
	defer c.destroying.Unlock()
	if c.hasEnded() {
		return 0, endedError(c)
	}
	isGone := func() bool { return c.hasEnded() || c.using.isClosed() }
	home := &tensorHome{device: c.device, place: tensorPlace{holder: &c.held, isGone: isGone}}
	return c.library.Tensors.add(op, home, func() (*tensor.Tensor, error) {
		return tensor.Wrap(tensor.Foreign{Engine: c.device.Engine, Addr: addr, SizeBytes: size, Hold: c.holdPlanes}, c.kind, layout)
	})
}

// holdPlanes keeps the memory of the planes awake, and the cache from a forced end, until release is called.
func (c *KVCache) holdPlanes() (release func(), err error) {
	leave, err := c.using.hold(c)
	if err != nil {
		return nil, err
	}
	awake, err := c.planes.KeepAwake()
	if err != nil {
		leave()
		return nil, err
	}
	return func() {
		awake()
		leave()
	}, nil
}

// PressureCallbackAdd registers fn for every change of the level of the cache. token is as for
// Library.PressureCallbackAdd. The device is 0 for a cache without memory.
func (c *KVCache) PressureCallbackAdd(token uint64, fn func(device uint64, level int32)) (uint64, error) {
	const op = "kv_cache.pressure_callback_add"
	l, deviceID := c.library, uint64(0)
	if fn == nil {
		return 0, device.Errorf(device.CodeNullPointer, op, "callback is nil")
	}
	if c.hasEnded() {
		return 0, endedError(c)
	}
	if c.device != nil {
		deviceID = c.device.handle.Load()
		if err := c.device.pass(op); err != nil {
			return 0, err
		}
		defer c.device.gate.exit()
	}
	c.mu.Lock()
	c.tokens = append(c.tokens, token)
	c.mu.Unlock()
	made := &registration{token: token, device: c.device, subject: c}
	made.callback = c.cache.OnLevel(func(level pressure.Level) {
		l.running.during(c.device, func() { fn(deviceID, int32(level)) })
	})
	id, err := insertLate(&l.Loader, l.registry.registrations, op, made)
	if err != nil {
		made.callback.Remove(false)
		return 0, err
	}
	return id, nil
}

// HashTokens computes the hashes of the whole blocks of tokens. parent is the hash of the block before them.
func (c *KVCache) HashTokens(parent uint64, tokens []int32, capacity uint64) ([]uint64, uint64, error) {
	const op = "kv_cache.hash_tokens"
	config := c.cache.Config()
	count := uint64(len(tokens)) / uint64(config.BlockTokens)
	if count > capacity {
		return nil, count, tooSmall(op, count, capacity)
	}
	hashes := make([]uint64, count)
	config.Hash(parent, tokens, hashes)
	return hashes, count, nil
}

func tooSmall(op string, count, capacity uint64) error {
	return device.Errorf(device.CodeBufferTooSmall, op, "the result has %s, and there is room for %d", device.Count(count, "item"), capacity)
}

// Allocate makes sequences. See kvcache.Cache.Allocate.
func (c *KVCache) Allocate(lengths, prefixBlocks []uint32, hashes []uint64, capacity uint64) ([]KVSequence, uint64, error) {
	count := uint64(len(lengths))
	if count > capacity {
		return nil, count, tooSmall("kv_cache.allocate", count, capacity)
	}
	ids, shared := make([]uint64, count), make([]uint32, count)
	if err := c.cache.Allocate(kvcache.Prompts{Tokens: lengths, HashCounts: prefixBlocks, Hashes: hashes}, ids, shared); err != nil {
		return nil, 0, err
	}
	made := make([]KVSequence, count)
	for at := range made {
		made[at] = KVSequence{Sequence: ids[at], CachedTokens: shared[at]}
	}
	return made, count, nil
}

// Append adds tokens to sequences. See kvcache.Cache.Append.
func (c *KVCache) Append(ids []uint64, lengths []uint32, capacity uint64) ([]kvcache.Copy, uint64, error) {
	copies, count, err := c.cache.Append(ids, lengths, int(min(capacity, kvcache.MostBlocks)))
	return copies, uint64(count), err
}

// Publish gives hashes to blocks. See kvcache.Cache.Publish.
func (c *KVCache) Publish(ids []uint64, prefixBlocks []uint32, hashes []uint64) error {
	return c.cache.Publish(ids, prefixBlocks, hashes)
}

// Find returns how many hashes of a prefix have a published block.
func (c *KVCache) Find(hashes []uint64) uint64 { return uint64(c.cache.Find(hashes)) }

// Fork copies sequences. See kvcache.Cache.Fork.
func (c *KVCache) Fork(parents []uint64, capacity uint64) ([]uint64, uint64, error) {
	count := uint64(len(parents))
	if count > capacity {
		return nil, count, tooSmall("kv_cache.fork", count, capacity)
	}
	children := make([]uint64, count)
	if err := c.cache.Fork(parents, children); err != nil {
		return nil, 0, err
	}
	return children, count, nil
}

// Truncate shortens sequences. See kvcache.Cache.Truncate.
func (c *KVCache) Truncate(ids []uint64, lengths []uint32) error {
	return c.cache.Truncate(ids, lengths)
}

// Free ends sequences. See kvcache.Cache.Free.
func (c *KVCache) Free(ids []uint64) error { return c.cache.Free(ids) }

// SwapOut moves sequences to the host. See kvcache.Cache.SwapOut.
func (c *KVCache) SwapOut(ids []uint64, capacity uint64) ([]kvcache.Copy, uint64, error) {
	copies, count, err := c.cache.SwapOut(ids, int(min(capacity, kvcache.MostBlocks)))
	return copies, uint64(count), err
}

// SwapIn moves sequences back to the device. See kvcache.Cache.SwapIn.
func (c *KVCache) SwapIn(ids []uint64, capacity uint64) ([]kvcache.Copy, uint64, error) {
	copies, count, err := c.cache.SwapIn(ids, int(min(capacity, kvcache.MostBlocks)))
	return copies, uint64(count), err
}

// mostTableEntries bounds the result of one call of BlockTables.
const mostTableEntries = 1 << 24

// BlockTables returns the block tables of sequences, width entries for each.
func (c *KVCache) BlockTables(ids []uint64, width, capacity uint64) ([]int32, uint64, error) {
	const op = "kv_cache.block_tables"
	if len(ids) > 0 && width > mostTableEntries/uint64(len(ids)) {
		return nil, 0, device.Errorf(device.CodeInvalidArgument, op, "%s of width %d: a call returns at most %d entries",
			device.Count(len(ids), "block table"), width, mostTableEntries)
	}
	count := width * uint64(len(ids))
	if count > capacity {
		return nil, count, tooSmall(op, count, capacity)
	}
	tables := make([]int32, count)
	if err := c.cache.Tables(ids, int(width), tables); err != nil {
		return nil, 0, err
	}
	return tables, count, nil
}

// Lengths returns the numbers of tokens of sequences.
func (c *KVCache) Lengths(ids []uint64, capacity uint64) ([]uint32, uint64, error) {
	count := uint64(len(ids))
	if count > capacity {
		return nil, count, tooSmall("kv_cache.lengths", count, capacity)
	}
	lengths := make([]uint32, count)
	if err := c.cache.Lengths(ids, lengths); err != nil {
		return nil, 0, err
	}
	return lengths, count, nil
}

// Trim evicts cached blocks and releases memory. See kvcache.Cache.Trim.
func (c *KVCache) Trim(keepCachedBlocks uint64) (uint64, error) {
	released, err := c.cache.Trim(int(min(keepCachedBlocks, kvcache.MostBlocks)))
	return uint64(released), err
}
