package weights

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/pool"
)

const (
	// defaultStaging is the staging memory of a load if its options state none.
	defaultStaging = 64 << 20
	// maxStaging bounds it.
	maxStaging = 256 << 20
	// minBuffer is the shortest staging buffer: shorter copies are slow.
	minBuffer = 64 << 10
	// buffersInFlight is how many copies of one device are in flight.
	buffersInFlight = 4
)

// stage is the staging memory for one device: page-locked memory of a pool that the books of the
// device list as "weights staging", or host memory where the device has no page-locked memory.
type stage struct {
	*lane
	pool  *pool.Pool
	addr  device.Addr
	block *offheap.Block
}

// newStage allocates bytes of staging memory, at least one short buffer.
func newStage(e *engine.Engine, bytes uint64) (*stage, error) {
	each := max(bytes/buffersInFlight, minBuffer) / 4096 * 4096
	s := &stage{}
	memory, err := s.allocate(e, each*buffersInFlight)
	var buffers []buffer
	for at := uint64(0); err == nil && at < uint64(len(memory)); at += each {
		b := buffer{memory: memory[at : at+each]}
		b.addr = device.HostAddr(offheap.AddressOf(b.memory))
		if b.stream, err = e.Device().NewStream(); err == nil {
			buffers = append(buffers, b)
		}
	}
	s.lane = newLane(buffers)
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
	p, err := pool.NewPinned(e, pool.Config{Name: "weights staging", InitialSizeBytes: bytes, MaxSizeBytes: 2 * bytes}, nil)
	if err != nil {
		return nil, err
	}
	block, err := p.Alloc(pool.Request{SizeBytes: bytes, AlignmentBytes: 4096})
	if err != nil {
		return nil, errors.Join(err, p.Close(true))
	}
	s.pool, s.addr = p, block.Addr
	return offheap.View(uintptr(p.HostAddr(block.Addr)), int(bytes)), nil
}

// close frees everything. No copy is queued.
func (s *stage) close() error {
	var failed error
	for _, b := range s.buffers {
		failed = errors.Join(failed, b.stream.Close())
	}
	if s.block != nil {
		s.block.Free()
	}
	if s.pool != nil {
		failed = errors.Join(failed, s.pool.Free(s.addr, nil), s.pool.Close(true))
	}
	return failed
}
