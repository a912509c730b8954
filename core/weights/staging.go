package weights

import (
	"errors"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/weights/diskfile"
)

const (
	// defaultStaging is the size of the staging memory of a load if its options state none.
	defaultStaging = 64 << 20
	// maxStaging is the largest staging memory of a load.
	maxStaging = 256 << 20
	// minBuffer is the smallest staging buffer. Shorter copies are slow.
	minBuffer = 64 << 10
	// copiesInFlight is the number of copies to one device that are in flight while each thread of the
	// load fills a buffer.
	copiesInFlight = 4
)

// staged counts the staging memory of all loads.
var staged atomic.Int64

// StagingBytes returns the size of the staging memory that all loads of the process hold now. It is
// host memory, so the counters of the devices do not include it.
func StagingBytes() uint64 { return uint64(staged.Load()) }

// stage is the staging memory for one device. It is page-locked memory, or other host memory if the
// device has no page-locked memory.
type stage struct {
	*lane
	// bytes is the size of the memory. staged includes it.
	bytes int64
	pool  *pool.Pool
	block *offheap.Block
}

// buffersOf returns how many staging buffers a device gets, and their size. A buffer holds a chunk, which
// begins in it as far behind a block as it does in its file. If bytes do not suffice for a buffer of each
// thread and of each copy, there are fewer buffers, at least copiesInFlight. Then they are smaller.
func buffersOf(bytes, chunk uint64, threads int) (count, each uint64) {
	each = chunk + diskfile.Block
	count = min(max(bytes/each, copiesInFlight), uint64(threads)+copiesInFlight)
	return count, max(min(each, bytes/count), minBuffer) / diskfile.Block * diskfile.Block
}

// newStage allocates the staging buffers of a device.
func newStage(e *engine.Engine, count, each uint64) (*stage, error) {
	s := &stage{}
	memory, err := s.allocate(e, each*count)
	var buffers []buffer
	for at := uint64(0); err == nil && at < uint64(len(memory)); at += each {
		b := buffer{memory: memory[at : at+each]}
		b.addr = device.HostAddr(offheap.AddressOf(b.memory))
		if b.stream, err = e.Device().NewStream(); err == nil {
			buffers = append(buffers, b)
		}
	}
	s.lane, s.bytes = newLane(buffers), int64(len(memory))
	staged.Add(s.bytes)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *stage) allocate(e *engine.Engine, bytes uint64) ([]byte, error) {
	if e.Has(engine.SourcePinned) != nil {
		var err error
		if s.block, err = offheap.NewBlock(int(bytes)); err != nil {
			return nil, err
		}
		return s.block.Bytes(), nil
	}
	p, err := pool.NewPinned(e, pool.Config{Name: "weights staging", InitialSizeBytes: bytes, GrowthIncrementBytes: bytes, AutoExpansion: true}, nil)
	if err != nil {
		return nil, err
	}
	// The first block of a segment begins at a page boundary, as direct reads need it.
	block, err := p.Alloc(pool.Request{SizeBytes: bytes})
	if err != nil {
		return nil, errors.Join(err, twice(func() error { return p.Close(true) }))
	}
	s.pool = p
	return offheap.View(uintptr(p.HostAddr(block.Addr)), int(bytes)), nil
}

// close frees everything. No copy may be queued. If a stream cannot be closed, its memory stays
// allocated, because a copy might still read it.
func (s *stage) close() error {
	var failed error
	for _, b := range s.buffers {
		failed = errors.Join(failed, twice(b.stream.Close))
	}
	if failed != nil {
		return failed
	}
	if s.block != nil {
		s.block.Free()
	}
	if s.pool != nil {
		failed = twice(func() error { return s.pool.Close(true) })
	}
	if failed == nil {
		staged.Add(-s.bytes)
	}
	return failed
}

// twice calls a function that frees something, and calls it again if it fails. No later call would
// free it.
func twice(free func() error) error {
	err := free()
	if err != nil {
		err = free()
	}
	return err
}
