package backend

import (
	"errors"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/weights"
)

// memory is the memory of a backend, in the pool of its manager. It implements weights.Memory for
// tensors, which may be closed after the backend was closed by force.
type memory struct {
	engine *engine.Engine
	pool   *pool.Pool
	gate   *gate
	// exit is gate.exit, made once.
	exit func()
	// tensors counts the live blocks of tensors.
	tensors atomic.Int64

	// mu is held for reading by Free, and for writing when the pool ends.
	mu      sync.RWMutex
	isEnded bool

	workspaces workspaces
}

var _ weights.Memory = (*memory)(nil)

func newMemory(p *pool.Pool, g *gate) *memory {
	m := &memory{engine: p.Engine(), pool: p, gate: g, exit: g.exit}
	m.workspaces.pool = p
	return m
}

// Engine returns the device.
func (m *memory) Engine() *engine.Engine { return m.engine }

// KeepAwake keeps the backend open until release is called: a forced close waits for that. Errors:
// CodeInvalidHandle for a closed backend.
func (m *memory) KeepAwake() (release func(), err error) {
	if !m.gate.enter() {
		return nil, m.isClosed()
	}
	return m.exit, nil
}

// Sleeper is the memory itself.
func (m *memory) Sleeper() any { return m }

func (m *memory) isClosed() error {
	return device.Errorf(device.CodeInvalidHandle, "backend.memory", "the backend that owns the memory has been closed").On(m.engine.ID())
}

// tensorAlignmentBytes suffices for the vector loads of every device.
const tensorAlignmentBytes = 256

// Alloc allocates memory of a tensor. Errors: also as of KeepAwake.
func (m *memory) Alloc(size uint64, stream device.Stream) (device.Addr, error) {
	if !m.gate.enter() {
		return 0, m.isClosed()
	}
	defer m.gate.exit()
	addr, err := m.workspaces.alloc(pool.Request{SizeBytes: size, AlignmentBytes: tensorAlignmentBytes, Tag: "tensor", Stream: stream})
	if err == nil {
		m.tensors.Add(1)
	}
	return addr, err
}

// allocFor allocates memory of a session, which is freed before the pool ends.
func (m *memory) allocFor(size uint64) (device.Addr, error) {
	addr, err := m.workspaces.alloc(pool.Request{SizeBytes: size, AlignmentBytes: tensorAlignmentBytes, Tag: "session"})
	if err != nil {
		return 0, err
	}
	// The session does not know the default stream, whose work may use the memory.
	if err := m.engine.Device().DefaultStream().Synchronize(device.Forever); err != nil {
		return 0, errors.Join(err, m.pool.Free(addr, nil))
	}
	return addr, nil
}

// freeOf frees memory of allocFor. After the end of the pool it does nothing.
func (m *memory) freeOf(addr device.Addr) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !m.isEnded {
		_ = m.pool.Free(addr, nil) // what a failed free keeps is freed with the backend
	}
}

// RecordStream states that work of another stream uses the memory.
func (m *memory) RecordStream(addr device.Addr, _ uint64, stream device.Stream) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.isEnded {
		return m.isClosed()
	}
	return m.pool.RecordStream(addr, stream)
}

// Free frees memory of a tensor. After the end of the pool it does nothing.
func (m *memory) Free(addr device.Addr, _ uint64) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.isEnded {
		return nil
	}
	err := m.pool.Free(addr, nil)
	if err == nil {
		m.tensors.Add(-1)
	}
	return err
}

// end states that the pool is closed.
func (m *memory) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.isEnded = true
	m.tensors.Store(0)
	m.workspaces.drop()
}

// workspace is memory for one run.
type workspace struct {
	addr device.Addr
	size uint64
	// isFresh states that no work has used it since its allocation. Until then, earlier work of the
	// stream of the allocation may use the memory.
	isFresh bool
}

// workspaces are kept for reuse. There are at most as many as runs at the same time.
type workspaces struct {
	pool *pool.Pool

	mu sync.Mutex
	// idle has unused workspaces, the smallest first.
	idle []workspace
	// bytes is the size of all, used or not.
	bytes uint64
}

// take returns a workspace of at least that size; 0: none. It prefers the smallest that fits, and
// replaces the largest that does not.
func (w *workspaces) take(size uint64, stream device.Stream) (workspace, error) {
	if size == 0 {
		return workspace{}, nil
	}
	old := workspace{}
	w.mu.Lock()
	for i := range w.idle {
		if w.idle[i].size >= size || i == len(w.idle)-1 {
			old = w.idle[i]
			w.idle = append(w.idle[:i], w.idle[i+1:]...)
			break
		}
	}
	w.mu.Unlock()
	if old.size >= size {
		return old, nil
	}
	addr, err := w.alloc(pool.Request{SizeBytes: size, AlignmentBytes: workspaceAlignmentBytes, Tag: "workspace", Stream: stream})
	if err != nil {
		w.put(old)
		return workspace{}, err
	}
	made := workspace{addr: addr, size: size, isFresh: true}
	w.count(made, old)
	w.discard(old)
	return made, nil
}

// alloc allocates from the pool. If there is no memory, it frees the idle workspaces and tries again.
func (w *workspaces) alloc(r pool.Request) (device.Addr, error) {
	block, err := w.pool.Alloc(r)
	if errors.Is(err, device.CodeOutOfMemory) && w.trim() {
		block, err = w.pool.Alloc(r)
	}
	return block.Addr, err
}

// trim frees the idle workspaces; false: there is none.
func (w *workspaces) trim() bool {
	w.mu.Lock()
	idle := w.idle
	w.idle = nil
	w.mu.Unlock()
	for _, one := range idle {
		w.count(workspace{}, one)
		w.discard(one)
	}
	return len(idle) > 0
}

// discard frees a workspace that is not counted. If that fails, it stays for reuse.
func (w *workspaces) discard(one workspace) {
	if one.size == 0 || w.pool.Free(one.addr, nil) == nil {
		return
	}
	w.count(one, workspace{})
	one.isFresh = false
	w.put(one)
}

// count adds a workspace to the sum, and takes another one away.
func (w *workspaces) count(added, removed workspace) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes += added.size - removed.size
}

// put keeps a workspace for later, or frees one that was not used.
func (w *workspaces) put(one workspace) {
	if one.size == 0 {
		return
	}
	if one.isFresh {
		w.count(workspace{}, one)
		w.discard(one)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := 0
	for at < len(w.idle) && w.idle[at].size < one.size {
		at++
	}
	w.idle = append(w.idle, workspace{})
	copy(w.idle[at+1:], w.idle[at:])
	w.idle[at] = one
}

// held returns the size of all workspaces.
func (w *workspaces) held() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes
}

// drop forgets the workspaces, because the pool has ended.
func (w *workspaces) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle, w.bytes = nil, 0
}
