package kvcache

import (
	"errors"
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/vmm"
)

// Layout describes the keys and values of a block. The keys of a layer are a plane of the shape
// [Blocks, Heads, BlockTokens, HeadDim], and its values another one.
type Layout struct {
	Layers, Heads, HeadDim uint32
	// ElementBits is the size of an element.
	ElementBits uint32
	// AlwaysBlocks have memory as long as the cache exists. In a pool they are all blocks.
	AlwaysBlocks uint32
}

// Planes is the memory of a cache: planes of the device, and the same planes of the host.
type Planes struct {
	engine *engine.Engine
	// stream returns the stream on which copies are queued and memory is freed.
	stream func() device.Stream
	source source
	count  uint64
	blocks uint64
	// blockBytes is the size of a block in one plane, pitchBytes the distance of two planes.
	blockBytes, pitchBytes uint64
	chunkBlocks            uint32
	always                 uint32
	layout                 Layout
	base                   device.Addr

	host       *pool.Pool
	hostBlocks uint64
	hostBase   device.Addr
	// moves is the list of the present call of Copy.
	moves []device.Move
}

// source maps the memory of planes.
type source interface {
	mapChunks(p *Planes, chunks []uint32) error
	unmapChunks(p *Planes, chunks []uint32) error
	keepAwake() (release func(), err error)
}

// newPlanes checks the settings and computes the sizes.
func newPlanes(c *Config, l *Layout, e *engine.Engine, stream func() device.Stream) (*Planes, error) {
	const op = "kv_cache.create"
	if err := c.check(op); err != nil {
		return nil, err
	}
	if l.Layers < 1 || l.Heads < 1 || l.HeadDim < 1 || l.ElementBits < 1 {
		return nil, device.Errorf(device.CodeInvalidConfig, op, "layers is %d, kv_heads %d and head_dim %d: want at least 1 each", l.Layers, l.Heads, l.HeadDim).On(e.ID())
	}
	bitsOf, fits := uint64(l.ElementBits), true
	for _, factor := range []uint32{l.Heads, c.BlockTokens, l.HeadDim} {
		var high uint64
		high, bitsOf = bits.Mul64(bitsOf, uint64(factor))
		fits = fits && high == 0
	}
	planes := 2 * uint64(l.Layers)
	if high, all := bits.Mul64(planes*uint64(max(c.Blocks, c.HostBlocks)), bitsOf/8); !fits || high > 0 || all > 1<<62 {
		return nil, device.Errorf(device.CodeOverflow, op, "%d blocks of %d layers do not fit 64 bits", c.Blocks, l.Layers).On(e.ID())
	}
	if bitsOf%8 != 0 {
		return nil, device.Errorf(device.CodeInvalidConfig, op, "a block has %d bits in a layer: want whole bytes", bitsOf).On(e.ID())
	}
	if l.AlwaysBlocks > c.Blocks {
		return nil, device.Errorf(device.CodeInvalidConfig, op, "always_blocks is %d: there are %d blocks", l.AlwaysBlocks, c.Blocks).On(e.ID())
	}
	return &Planes{engine: e, stream: stream, count: planes, blocks: uint64(c.Blocks), hostBlocks: uint64(c.HostBlocks), blockBytes: bitsOf / 8, layout: *l}, nil
}

// BlockBytes is the size of a block in all planes.
func (p *Planes) BlockBytes() uint64 { return p.blockBytes * p.count }

// Plane returns the address of the keys of a layer, or of its values, and their size. Blocks without memory
// cannot be accessed. Errors: CodeInvalidArgument.
func (p *Planes) Plane(layer uint32, values bool) (device.Addr, uint64, error) {
	at := 2 * uint64(layer)
	if at >= p.count {
		return 0, 0, device.Errorf(device.CodeInvalidArgument, "kv_cache.plane", "layer is %d: the cache has %d", layer, p.count/2).On(p.engine.ID())
	}
	if values {
		at++
	}
	return p.base + device.Addr(at*p.pitchBytes), p.blocks * p.blockBytes, nil
}

// Heads returns the number of heads of a block in a plane.
func (p *Planes) Heads() uint32 { return p.layout.Heads }

// HeadDim returns the length of a head.
func (p *Planes) HeadDim() uint32 { return p.layout.HeadDim }

// Discard releases the memory of planes that have no cache, after an error, which it returns.
func (p *Planes) Discard(err error) error { return errors.Join(err, p.Close(p.first())) }

// IsWhole reports whether all blocks have memory as long as the cache exists.
func (p *Planes) IsWhole() bool { return uint64(p.always)*uint64(p.chunkBlocks) >= p.blocks }

// ChunkBlocks implements Store.
func (p *Planes) ChunkBlocks() uint32 { return p.chunkBlocks }

// Always implements Store.
func (p *Planes) Always() uint32 { return p.always }

// Map implements Store.
func (p *Planes) Map(chunks []uint32) error { return p.source.mapChunks(p, chunks) }

// Unmap implements Store.
func (p *Planes) Unmap(chunks []uint32) error { return p.source.unmapChunks(p, chunks) }

// KeepAwake implements Store.
func (p *Planes) KeepAwake() (release func(), err error) {
	release, err = p.source.keepAwake()
	if errors.Is(err, device.CodeInvalidState) {
		return nil, device.Errorf(device.CodeBusy, "kv_cache.use", "the memory of the cache sleeps: %w", err).On(p.engine.ID())
	}
	return release, err
}

// Close implements Store.
func (p *Planes) Close(mapped []uint32) error {
	if p.hostBase != 0 {
		last := p.stream()
		if p.host.Engine() != p.engine {
			// The pool of another device cannot wait for the stream.
			if err := last.Synchronize(device.Forever); err != nil {
				return err
			}
			last = nil
		}
		if err := p.host.Free(p.hostBase, last); err != nil {
			return err
		}
		p.hostBase = 0
	}
	if len(mapped) == 0 {
		return nil
	}
	return p.source.unmapChunks(p, mapped)
}

// open maps the blocks that always have memory, and allocates those of the host, with a tag.
func (p *Planes) open(host *pool.Pool, tag string) (*Planes, error) {
	if p.always > 0 {
		if err := p.source.mapChunks(p, p.first()); err != nil {
			return nil, err
		}
	}
	if host == nil || p.hostBlocks == 0 {
		return p, nil
	}
	r := pool.Request{SizeBytes: p.hostBlocks * p.BlockBytes(), AlignmentBytes: planeBytes, Tag: tag}
	if host.Engine() == p.engine {
		r.Stream = p.stream()
	}
	got, err := host.Alloc(r)
	if err != nil {
		return nil, p.Discard(err)
	}
	p.host, p.hostBase = host, got.Addr
	return p, nil
}

// first lists the chunks that always have memory.
func (p *Planes) first() []uint32 {
	all := make([]uint32, p.always)
	for at := range all {
		all[at] = uint32(at)
	}
	return all
}

// Copy implements Store. Adjacent blocks are one copy of each plane.
func (p *Planes) Copy(direction Direction, copies []Copy) error {
	from, to := p.base, p.base
	fromPitch, toPitch := p.pitchBytes, p.pitchBytes
	switch direction {
	case ToHost:
		to, toPitch = p.hostBase, p.hostBlocks*p.blockBytes
	case FromHost:
		from, fromPitch = p.hostBase, p.hostBlocks*p.blockBytes
	}
	p.moves = p.moves[:0]
	for first := 0; first < len(copies); {
		next := first + 1
		for next < len(copies) && copies[next].From == copies[next-1].From+1 && copies[next].To == copies[next-1].To+1 {
			next++
		}
		for plane := range p.count {
			p.moves = append(p.moves, device.Move{
				Src:       from + device.Addr(plane*fromPitch+uint64(copies[first].From)*p.blockBytes),
				Dst:       to + device.Addr(plane*toPitch+uint64(copies[first].To)*p.blockBytes),
				SizeBytes: uint64(next-first) * p.blockBytes,
			})
		}
		first = next
	}
	stream := p.stream()
	if direction == Within || p.engine.Info().HostAddressable {
		return stream.CopyBatch(p.moves)
	}
	for _, m := range p.moves {
		var err error
		if direction == ToHost {
			err = stream.CopyToHost(device.HostAddr(m.Dst), m.Src, m.SizeBytes)
		} else {
			err = stream.CopyFromHost(m.Dst, device.HostAddr(m.Src), m.SizeBytes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// planeBytes is the alignment of planes in a pool.
const planeBytes = 256

// InPool allocates all blocks in a pool, with a tag. host is the pool for the blocks of the host, whose memory
// the process can address; nil: there are none. stream returns the stream for the copies and the frees of the
// cache.
func InPool(c Config, l Layout, memory *pool.Pool, tag string, stream func() device.Stream, host *pool.Pool) (*Planes, error) {
	p, err := newPlanes(&c, &l, memory.Engine(), stream)
	if err != nil {
		return nil, err
	}
	p.pitchBytes = (p.blocks*p.blockBytes + planeBytes - 1) / planeBytes * planeBytes
	p.chunkBlocks, p.always = c.Blocks, 1
	p.source = &inPool{pool: memory, tag: tag}
	return p.open(host, tag)
}

// inPool is one block of a pool, which is mapped as long as the cache exists.
type inPool struct {
	pool *pool.Pool
	tag  string
}

func (s *inPool) mapChunks(p *Planes, _ []uint32) error {
	got, err := s.pool.Alloc(pool.Request{SizeBytes: p.pitchBytes * p.count, AlignmentBytes: planeBytes, Tag: s.tag, Stream: p.stream()})
	p.base = got.Addr
	return err
}

func (s *inPool) unmapChunks(p *Planes, _ []uint32) error { return s.pool.Free(p.base, p.stream()) }

func (s *inPool) keepAwake() (func(), error) { return func() {}, nil }

// Range is address space whose pages a cache maps and unmaps: a virtual pool, or a model of an elastic pool.
type Range interface {
	BaseAddress() device.Addr
	CapacityBytes() uint64
	PageBytes() uint64
	AllocBatch(ranges []vmm.ByteRange, r vmm.BatchRequest) error
	FreeBatch(ranges []vmm.ByteRange, stream device.Stream) error
	KeepAwake(tag string) (release func(), err error)
}

// RangeBytes returns the size of the address space of a cache with pages of a size.
func RangeBytes(c Config, l Layout, e *engine.Engine, pageBytes uint64) (uint64, error) {
	p, err := newPlanes(&c, &l, e, nil)
	if err != nil {
		return 0, err
	}
	p.paged(c.Blocks, &l, pageBytes)
	return p.pitchBytes * p.count, nil
}

// paged computes the chunks. A chunk has whole pages in each plane.
func (p *Planes) paged(blocks uint32, l *Layout, pageBytes uint64) {
	p.pitchBytes = (p.blocks*p.blockBytes + pageBytes - 1) / pageBytes * pageBytes
	// The size of a page is a power of two.
	shared := min(uint64(1)<<bits.TrailingZeros64(p.blockBytes), pageBytes)
	p.chunkBlocks = uint32(min(pageBytes/shared, uint64(blocks)))
	p.always = (l.AlwaysBlocks + p.chunkBlocks - 1) / p.chunkBlocks
}

// InRange places a cache at an offset of address space. Its pages have a tag. The first AlwaysBlocks blocks
// are mapped at once. host and stream are as for InPool.
func InRange(c Config, l Layout, e *engine.Engine, memory Range, offset uint64, tag string, stream func() device.Stream, host *pool.Pool) (*Planes, error) {
	p, err := newPlanes(&c, &l, e, stream)
	if err != nil {
		return nil, err
	}
	page := memory.PageBytes()
	p.paged(c.Blocks, &l, page)
	if size := p.pitchBytes * p.count; offset%page != 0 || offset > memory.CapacityBytes() || size > memory.CapacityBytes()-offset {
		return nil, device.Errorf(device.CodeOutOfVirtualMemory, "kv_cache.create", "a cache of %v at the offset %d: the address space has %v, in pages of %v",
			device.Size(size), offset, device.Size(memory.CapacityBytes()), device.Size(page)).On(e.ID())
	}
	p.base, p.source = memory.BaseAddress()+device.Addr(offset), &inRange{memory: memory, offset: offset, tag: tag}
	return p.open(host, tag)
}

// inRange is a part of address space.
type inRange struct {
	memory Range
	offset uint64
	tag    string
}

// ranges returns the parts of chunks in all planes.
func (s *inRange) ranges(p *Planes, chunks []uint32) []vmm.ByteRange {
	ranges := make([]vmm.ByteRange, 0, p.count*uint64(len(chunks)))
	chunkBytes := uint64(p.chunkBlocks) * p.blockBytes
	for plane := range p.count {
		for _, at := range chunks {
			offset := uint64(at) * chunkBytes
			ranges = append(ranges, vmm.ByteRange{
				OffsetBytes: s.offset + plane*p.pitchBytes + offset,
				SizeBytes:   min(chunkBytes, p.blocks*p.blockBytes-offset),
			})
		}
	}
	return ranges
}

func (s *inRange) mapChunks(p *Planes, chunks []uint32) error {
	return s.memory.AllocBatch(s.ranges(p, chunks), vmm.BatchRequest{Tag: s.tag, Stream: p.stream()})
}

func (s *inRange) unmapChunks(p *Planes, chunks []uint32) error {
	return s.memory.FreeBatch(s.ranges(p, chunks), p.stream())
}

func (s *inRange) keepAwake() (func(), error) { return s.memory.KeepAwake(s.tag) }

// Reclaimer returns a function for the reclaim callback of a model: it releases memory of blocks that no
// sequence uses, and returns the released bytes.
func (p *Planes) Reclaimer(c *Cache) func(neededBytes uint64) uint64 {
	return func(needed uint64) uint64 {
		blocks := min((needed+p.BlockBytes()-1)/p.BlockBytes(), p.blocks)
		released, err := c.Reclaim(int(blocks))
		if err != nil {
			p.engine.Log(engine.Warning, "a cache cannot release blocks: "+err.Error())
		}
		return uint64(released) * p.BlockBytes()
	}
}
