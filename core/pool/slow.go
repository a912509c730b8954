package pool

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
)

// search is an allocation that found no space in the present segments.
type search struct {
	supply *supply
	need   need
	// to gets the blocks of a batch. If it is nil, one block is requested and block gets
	// it.
	to    []device.Addr
	block Block
}

// searches keeps finished searches for reuse, so that growing by a page leaves no
// garbage.
var searches = sync.Pool{New: func() any { return new(search) }}

// search takes in all freed blocks, grows the pool and runs the reclaim path, until it
// has a block, or a block for each element of to.
func (u *supply) search(n *need, to []device.Addr) (Block, error) {
	s := searches.Get().(*search)
	*s = search{supply: u, need: *n, to: to}
	err := s.run()
	block := s.block
	*s = search{}
	searches.Put(s)
	if err != nil {
		return Block{}, err
	}
	return block, nil
}

// take allocates all requested blocks from present memory; if it returns ErrNoRoom,
// nothing has changed. excess states how well a block in flight has to fit: inflight.Fits
// or inflight.Wastes. The caller holds mu.
func (s *search) take(excess inflight.Excess) error {
	u := s.supply
	if s.to != nil {
		return u.heap.placeBatch(&s.need, s.to, excess)
	}
	if at, ok := u.heap.inFlight.Find(s.need.stream, s.need.inFlight(excess)); ok {
		return u.heap.revive(at, &s.need, &s.block)
	}
	if excess == inflight.Wastes {
		return rangealloc.ErrNoRoom
	}
	return u.heap.place(&s.need, &s.block)
}

func (s *search) run() error {
	u := s.supply
	found, err := s.attempt(inflight.Fits)
	if found || err != nil {
		return u.failed(err)
	}
	if err := u.neverFits(&s.need); err != nil {
		return u.failed(err)
	}
	found, err = s.extend()
	if err != nil && !errors.Is(err, device.CodeOutOfMemory) {
		return err
	}
	if !found {
		if err := s.findRoom(); err != nil {
			return u.failed(u.orAddressless(&s.need, err))
		}
	}
	u.heap.changed()
	return nil
}

// extend grows the pool, or frees the blocks in quarantine.
func (s *search) extend() (found bool, err error) {
	u := s.supply
	found, err = u.grow(s)
	if found || err != nil || u.heap.debug == nil || !u.heap.flushQuarantine() {
		return found, err
	}
	return s.attempt(inflight.Fits)
}

// findRoom runs the reclaim path: it waits for queued work, and lets others release
// memory.
func (s *search) findRoom() error {
	u, n := s.supply, &s.need
	return u.heap.engine.FindRoom(engine.Need{
		Pool: u.owner, Op: opAlloc, SizeBytes: n.Size * n.count, AlignmentBytes: n.Align,
		Bound: u.boundText(), BoundRoomBytes: u.boundRoom(),
		Spare: func() (bool, error) { return s.attempt(inflight.Wastes) },
	}, func() (bool, error) {
		if found, err := s.attempt(inflight.Fits); found || err != nil {
			return found, err
		}
		return s.extend()
	})
}

// orAddressless returns the error of an allocation that found no space:
// CodeOutOfVirtualMemory if memory is free but no address space for it.
func (u *supply) orAddressless(n *need, err error) error {
	if !n.addressless || !errors.Is(err, device.CodeOutOfMemory) {
		return err
	}
	u.heap.mu.Lock()
	spaces, bytes := len(u.heap.segments), uint64(0)
	for _, s := range u.heap.segments {
		bytes += s.memory.SizeBytes
	}
	u.heap.mu.Unlock()
	return device.Errorf(device.CodeOutOfVirtualMemory, opAlloc,
		"size_bytes %d: no further address space is available for pool %q, which has %v in %s",
		n.requested, u.heap.config.Name, device.Size(bytes), device.Count(spaces, "range")).On(u.heap.engine.ID()).
		Stating(device.FactRequestedBytes, n.Size*n.count)
}

// failed counts an allocation that ran out of memory, and returns its error.
func (u *supply) failed(err error) error {
	if errors.Is(err, device.CodeOutOfMemory) || errors.Is(err, device.CodeOutOfVirtualMemory) {
		u.heap.mu.Lock()
		u.heap.counters.Fail()
		u.heap.mu.Unlock()
	}
	return err
}

// attempt takes in every freed block whose work has completed, and tries to allocate.
func (s *search) attempt(excess inflight.Excess) (found bool, err error) {
	u := s.supply
	u.heap.lockCompleted()
	if u.heap.state != stateOpen {
		u.heap.mu.Unlock()
		return false, u.heap.closedError(opAlloc)
	}
	err = s.take(excess)
	u.heap.mu.Unlock()
	u.heap.changed()
	if noRoom(err) {
		return false, nil
	}
	return err == nil, err
}

// neverFits returns an error if a request can never succeed, whatever is freed: it is
// above the device's capacity, its limit or the pool's bound.
func (u *supply) neverFits(n *need) error {
	what := fmt.Sprintf("size_bytes %d", n.requested)
	if n.count > 1 {
		what = fmt.Sprintf("size_bytes %d, count %d", n.requested, n.count)
	}
	if fixed := u.heap.fixedBytes(); fixed != 0 && n.Size > fixed {
		return device.Errorf(device.CodeOutOfMemory, opAlloc,
			"%s can never fit: fixed_block_bytes of pool %q is %d", what, u.heap.config.Name, fixed).On(u.heap.engine.ID()).
			Stating(device.FactRequestedBytes, n.requested).Stating(device.FactCapacityBytes, fixed)
	}
	carry, total := bits.Mul64(n.Size, n.count)
	segment, ok := u.heap.sizeFor(total)
	if !ok || carry != 0 {
		return device.Errorf(device.CodeOutOfMemory, opAlloc,
			"%s can never fit: no segment is that large", what).On(u.heap.engine.ID())
	}
	if err := u.heap.engine.NeverFits(u.source, opAlloc, what, segment); err != nil {
		return err
	}
	u.heap.mu.Lock()
	bound := u.heap.bound()
	u.heap.mu.Unlock()
	if segment > bound {
		return device.Errorf(device.CodeOutOfMemory, opAlloc,
			"%s can never fit in pool %q: %s", what, u.heap.config.Name, u.boundText()).On(u.heap.engine.ID()).
			Stating(device.FactRequestedBytes, segment).Stating(device.FactCapacityBytes, bound)
	}
	return nil
}

// boundRoom returns the bytes by which the pool may still grow under its bound.
func (u *supply) boundRoom() uint64 {
	u.heap.mu.Lock()
	defer u.heap.mu.Unlock()
	bound := u.heap.bound()
	return bound - min(u.heap.held, bound)
}

// boundText describes what bounds the pool; "" means nothing.
func (u *supply) boundText() string {
	u.heap.mu.Lock()
	defer u.heap.mu.Unlock()
	switch {
	case u.heap.maxSize != 0:
		return fmt.Sprintf("max_size_bytes of the pool: %v, held: %v", device.Size(u.heap.maxSize), device.Size(u.heap.held))
	case !u.heap.config.AutoExpansion:
		return fmt.Sprintf("the pool does not grow beyond initial_size_bytes: %d, held: %d",
			u.heap.config.InitialSizeBytes, u.heap.held)
	}
	return ""
}
