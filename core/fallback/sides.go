package fallback

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

// gpuSide and cpuSide are the storages of a manager's buffers. Release is for storage
// that no queued work uses, and makes no driver call.
type gpuSide struct{ m *Manager }

func (s gpuSide) Alloc(bytes uint64) (Lease[device.Addr], error) {
	return s.m.gpu.Alloc(bytes, nil, Use{})
}

func (gpuSide) Bytes(l Lease[device.Addr]) uint64 { return l.Bytes }

func (s gpuSide) Release(l Lease[device.Addr]) error {
	lease, err := s.m.gpu.endUse(l.Buffer)
	if err != nil {
		return err
	}
	if s.m.isStranded(place{GPU, l.Buffer}) {
		return s.m.gpu.free.Discard(lease)
	}
	return s.m.gpu.release(lease)
}

type cpuSide struct{ m *Manager }

func (s cpuSide) Alloc(bytes uint64) (pool.Block, error) {
	if s.m.cpu == nil {
		return pool.Block{}, device.Errorf(device.CodeInvalidState, "fallback.to_cpu",
			"cpu_fallback_enabled is not set").On(s.m.gpu.engine.ID())
	}
	block, err := s.m.cpu.Alloc(pool.Request{SizeBytes: bytes})
	if err != nil {
		return block, err
	}
	s.m.cpuBytes.Add(block.SizeBytes)
	s.m.cpuBuffers.Add(1)
	return block, nil
}

func (cpuSide) Bytes(b pool.Block) uint64 { return b.SizeBytes }

func (s cpuSide) Release(b pool.Block) error {
	m := s.m
	if !m.isStranded(place{CPU, b.Addr}) {
		if err := m.cpu.FreeAfter(b.Addr, nil); err != nil {
			return err
		}
	}
	minus(&m.cpuBytes, b.SizeBytes)
	minus(&m.cpuBuffers, 1)
	return nil
}

// sides returns the two sides of a manager's buffers.
func (m *Manager) sides() Sides[Lease[device.Addr], pool.Block] {
	return Sides[Lease[device.Addr], pool.Block]{
		GPU: gpuSide{m}, CPU: cpuSide{m},
		ToCPU: func(dst pool.Block, src Lease[device.Addr], bytes uint64) error {
			return m.copy(place{CPU, dst.Addr}, func(s device.Stream) error {
				return s.CopyToHost(device.HostAddr(dst.Addr), src.Buffer, bytes)
			})
		},
		ToGPU: func(dst Lease[device.Addr], src pool.Block, bytes uint64) error {
			return m.copy(place{GPU, dst.Buffer}, func(s device.Stream) error {
				return s.CopyFromHost(dst.Buffer, device.HostAddr(src.Addr), bytes)
			})
		},
		Moved: m.moved,
	}
}

// place is memory of one side.
type place struct {
	side Side
	addr device.Addr
}

// copy runs a copy into new memory on the device's default stream. If it fails and may
// still write to that memory, the memory stays unused until the manager is closed,
// which waits for the device.
func (m *Manager) copy(dst place, queue func(device.Stream) error) error {
	stopped, err := run(m.gpu.engine.Device().DefaultStream(), queue)
	if !stopped {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.stranded[dst] = true
	}
	return err
}

func (m *Manager) isStranded(at place) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stranded[at]
}

// run waits for the work queued on a stream, queues work and waits for it. stopped
// reports that no part of it runs any more.
func run(stream device.Stream, queue func(device.Stream) error) (stopped bool, err error) {
	if err := stream.Synchronize(device.Forever); err != nil {
		return true, err
	}
	if err := queue(stream); err != nil {
		return true, err
	}
	err = stream.Synchronize(device.Forever)
	if err == nil {
		return true, nil
	}
	// The failure may be a failure of the copy, which has then ended, or of the wait.
	for range 2 {
		if idle, failure := stream.Idle(); failure == nil && idle {
			return true, err
		}
		if failure := stream.Synchronize(device.Forever); failure == nil {
			return true, err
		}
	}
	return false, err
}

// moved updates the counters for a move.
func (m *Manager) moved(id BufferID, now Side) {
	where := m.locationOf(now)
	if now == CPU {
		m.toCPU.Add(1)
	} else {
		m.toGPU.Add(1)
	}
	if m.tracker != nil {
		m.tracker.SetLocation(id, where)
	}
}

func (m *Manager) locationOf(side Side) BufferLocation {
	if side == CPU {
		return BufferLocation{Side: CPU, Device: m.host.ID()}
	}
	return BufferLocation{Side: GPU, Device: m.gpu.engine.ID()}
}

// noRoom reports whether memory was missing, which is the only error that a fallback
// can avoid.
func noRoom(err error) bool { return errors.Is(err, device.CodeOutOfMemory) }
