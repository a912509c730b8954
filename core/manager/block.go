package manager

import (
	"math/bits"
	"slices"
	"sync"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/manager/mappings"
	"ferrum_mem/core/pool"
)

// AlignmentMax is the largest alignment of a request.
const AlignmentMax = 1 << 30

// block is a live block of a manager, or one that was freed after a call had found it.
type block struct {
	manager *Manager
	// home is the pool of the memory; nil for adopted memory, and for the second of two
	// linked blocks.
	home *home
	// memory never changes, except for its address, which mu guards.
	memory pool.Block
	// hostAddr is the host address of memory that the device does not share with the
	// host in another way; otherwise 0.
	hostAddr device.HostAddr
	// link is nil unless the block is linked to another.
	link *link
	// adopted states that the memory is external.
	adopted bool
	// readOnly states that no work may write to it.
	readOnly bool
	// imported releases memory of another process; nil for other memory.
	imported imported
	kind     MemoryType
	tag      string
	// order is the order of creation.
	order uint64
	// relocatable and alignment are the requested values.
	relocatable bool
	alignment   uint64

	mu sync.Mutex
	// handle is set before another thread can take the lock.
	handle MemoryHandle
	dead   bool
	// operations has those that may not have completed; each is a reference.
	operations []*operation
	// streams has the streams on which operations were queued.
	streams []*stream
	// pins counts the calls of Pin that keep the address.
	pins     uint32
	mappings mappings.Table
	// access is nil before the first access, and without tracking.
	access *accessLog
	hints  Hints
}

// HandleInfo describes a live block.
type HandleInfo struct {
	Handle  MemoryHandle
	Manager *Manager
	Device  device.ID
	Type    MemoryType
	// SizeBytes is the requested size, AllocatedBytes the size after rounding.
	SizeBytes      uint64
	AllocatedBytes uint64
	// AlignmentBytes is the largest power of two that divides the address, at
	// most AlignmentMax.
	AlignmentBytes uint64
	// Addr of a relocatable block that is not pinned is valid until the next
	// defragmentation of its manager, which may move it.
	Addr device.Addr
	// HostAddr is the block's address for the host; 0 on a device that the host cannot
	// address.
	HostAddr device.HostAddr
	// AllocatedAt is the monotonic time of the allocation, on the clock of track.Now; 0
	// without tracking.
	AllocatedAt time.Duration
	// IsMapped states that Factory.Map has mapped the block for the host.
	IsMapped bool
	// OperationsInFlight counts queued operations that have not completed.
	OperationsInFlight uint32
	// Tag is the requested tag; "" without tracking.
	Tag string
	// Relocatable is the requested value.
	Relocatable bool
	// Pins counts the calls of Pin without their Unpin.
	Pins uint32
	// Linked is the block of another device that has the same memory; 0: none, or it
	// was freed.
	Linked MemoryHandle
	// Adopted states that the memory is external.
	Adopted bool
	// ReadOnly states that the memory was adopted read-only.
	ReadOnly bool
}

// lookUp finds a live block.
func (f *Factory) lookUp(op, name string, h MemoryHandle) (*block, error) {
	b, err := f.memory.Get(uint64(h))
	if err != nil {
		return nil, badHandle(op, name, err)
	}
	return b, nil
}

// HandleInfo describes a live block. It returns CodeInvalidHandle for anything else.
func (f *Factory) HandleInfo(h MemoryHandle) (HandleInfo, error) {
	b, err := f.lookUp("manager.handle_info", "memory", h)
	if err != nil {
		return HandleInfo{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dead {
		return HandleInfo{}, destroyed("manager.handle_info", handle.Memory, uint64(h))
	}
	return b.info(), nil
}

// info describes the block. The caller holds b.mu.
func (b *block) info() HandleInfo {
	e := b.manager.Engine()
	info := HandleInfo{
		Handle: b.handle, Manager: b.manager, Device: e.ID(), Type: b.kind,
		SizeBytes: b.memory.RequestedBytes, AllocatedBytes: b.memory.SizeBytes,
		AlignmentBytes: alignmentOf(b.memory.Addr), Addr: b.memory.Addr,
		Tag: b.tag, Relocatable: b.relocatable, Pins: b.pins,
		IsMapped: b.mappings.Len() > 0, HostAddr: b.hostSide(), Adopted: b.adopted, ReadOnly: b.readOnly, Linked: b.linkedHandle(),
	}
	if b.manager.config.EnableTracking {
		info.AllocatedAt = b.memory.AllocatedAt
	}
	b.prune()
	info.OperationsInFlight = uint32(len(b.operations))
	return info
}

// hostSide returns the block's address for the host, or 0. The caller holds b.mu.
func (b *block) hostSide() device.HostAddr {
	if b.manager.Engine().Info().HostAddressable {
		return device.HostAddr(b.memory.Addr)
	}
	return b.hostAddr
}

func alignmentOf(addr device.Addr) uint64 {
	return min(uint64(1)<<min(bits.TrailingZeros64(uint64(addr)), 63), AlignmentMax)
}

// lockBoth locks two blocks, or one block if both are the same.
func lockBoth(a, b *block) (unlock func()) {
	if a == b {
		a.mu.Lock()
		return a.mu.Unlock
	}
	if a.order > b.order {
		a, b = b, a
	}
	a.mu.Lock()
	b.mu.Lock()
	return func() {
		b.mu.Unlock()
		a.mu.Unlock()
	}
}

// usable returns an error if no work may be queued on the block. The caller holds b.mu.
func (b *block) usable(op string) error {
	if b.dead || b.manager.closing.Load() || b.link != nil && b.link.owner.closing.Load() {
		return destroyed(op, handle.Memory, uint64(b.handle)).On(b.manager.Engine().ID())
	}
	return nil
}

// attach adds an operation, which has a reference for the block. The caller holds b.mu.
func (b *block) attach(o *operation) {
	// Operations of a stream complete in order. So checking the oldest keeps the list
	// as short as the queue, without a check of all of them.
	for len(b.operations) > 0 && b.operations[0].done() {
		b.operations[0].release()
		b.operations = b.operations[1:]
	}
	b.operations = append(b.operations, o)
	if !slices.Contains(b.streams, o.stream) {
		b.streams = append(slices.DeleteFunc(b.streams, (*stream).isClosed), o.stream)
	}
}

// prune releases every operation that has completed. The caller holds b.mu.
func (b *block) prune() {
	b.operations = slices.DeleteFunc(b.operations, func(o *operation) bool {
		if !o.done() {
			return false
		}
		o.release()
		return true
	})
}

// fences records an event on each stream that has used the block and may still have
// work, except one stream. The caller owns the events, and holds b.mu.
func (b *block) fences(except *stream) ([]device.Event, error) {
	var fences []device.Event
	for _, s := range b.streams {
		if s == except {
			continue
		}
		fence, err := s.fence()
		if err != nil {
			b.manager.owner.closeEvents(fences...)
			return nil, err
		}
		if fence != nil {
			fences = append(fences, fence)
		}
	}
	return fences, nil
}

// forget marks the block as dead. The caller holds b.mu.
func (b *block) forget() {
	b.dead = true
	for _, o := range b.operations {
		o.release()
	}
	b.operations, b.streams = nil, nil
	b.mappings.Forget()
}
