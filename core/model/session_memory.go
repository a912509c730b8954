package model

import (
	"sync"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
)

// The memory of a session: what it allocates while it is opened stays with the parameters, and what it
// allocates during a run is in the arena. Both zones grow when no free range is large enough, and keep their
// pages.

// sessionMemory implements compute.Memory. Threads of the runtime call it too.
type sessionMemory struct {
	mu          sync.Mutex
	kept, arena area
	// isRunning states that allocations belong to a run.
	isRunning bool
}

var _ compute.Memory = (*sessionMemory)(nil)

// area is a zone with its live ranges.
type area struct {
	*zone
	ranges rangealloc.Strategy
	// live and most are the bytes of the live ranges now, and the most of them since most was set.
	live, most uint64
}

func newArea(z *zone) (area, error) {
	ranges, err := rangealloc.New(rangealloc.Default, rangealloc.Config{
		SizeBytes: z.most, BaseAddr: uint64(z.addr(0)), GranuleBytes: alignmentBytes,
	})
	return area{zone: z, ranges: ranges}, err
}

func newSessionMemory(kept, arena *zone) (*sessionMemory, error) {
	m := &sessionMemory{}
	var err error
	if m.kept, err = newArea(kept); err != nil {
		return nil, err
	}
	if m.arena, err = newArea(arena); err != nil {
		m.kept.ranges.Close()
		return nil, err
	}
	return m, nil
}

// Alloc allocates memory.
func (m *sessionMemory) Alloc(size uint64) (device.Addr, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := &m.kept
	if m.isRunning {
		a = &m.arena
	}
	got, err := a.ranges.Alloc(rangealloc.Request{Size: size, Align: alignmentBytes})
	if err != nil {
		return 0, device.Errorf(device.CodeOutOfVirtualMemory, opRun, "model %q: memory %q: %v: %w", a.model.ID(), a.tag, device.Size(size), err)
	}
	if end := got.Offset + got.Size; end > a.bytes {
		stream := a.engine.Device().DefaultStream()
		if err = a.grow(end, stream); err == nil {
			// The session does not know the stream.
			err = stream.Synchronize(device.Forever)
		}
		if err != nil {
			_, _ = a.ranges.Free(got.Offset) // it was just allocated
			return 0, err
		}
	}
	a.live += got.Size
	a.most = max(a.most, a.live)
	return a.addr(got.Offset), nil
}

// Free frees memory.
func (m *sessionMemory) Free(addr device.Addr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range []*area{&m.kept, &m.arena} {
		if first := a.addr(0); addr >= first && addr < first+device.Addr(a.bytes) {
			size, _ := a.ranges.Free(uint64(addr - first)) // what was not allocated is not freed
			a.live -= size
			return
		}
	}
}

// during runs a function whose allocations belong to a run, and returns the most bytes that were live.
func (m *sessionMemory) during(run func() error) (mostBytes uint64, err error) {
	m.mu.Lock()
	m.isRunning, m.arena.most = true, m.arena.live
	m.mu.Unlock()
	err = run()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.isRunning = false
	return m.arena.most, err
}

// isArenaLive states that a range of the arena is live.
func (m *sessionMemory) isArenaLive() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.arena.live > 0
}

// close ends the tables. The session has ended.
func (m *sessionMemory) close() {
	m.kept.ranges.Close()
	m.arena.ranges.Close()
}
