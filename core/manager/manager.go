package manager

import (
	"slices"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/internal/roster"
	"ferrum_mem/core/manager/relocation"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/pressure"
	"ferrum_mem/core/track"
)

// Manager is the memory manager of a device. All methods are safe for concurrent use.
// After Close all methods except Engine, Statistics, LiveByType, EachBlock and Pools
// return CodeInvalidHandle.
type Manager struct {
	factory   *Factory
	owner     *openDevice
	config    Config
	transfers transfers
	collector collector
	relocator *relocation.Relocator[*block, blockPool]
	mover     mover
	// totals has the peaks of the sum of all pools.
	totals track.Totals
	// closing rejects new blocks and new work on blocks.
	closing atomic.Bool
	// handle is the value set by SetHandle.
	handle atomic.Uint64

	closeMu sync.Mutex

	mu sync.Mutex
	// changed is signalled when a call has ended or a block was freed.
	changed *sync.Cond
	closed  bool
	// calls counts the allocations and pool changes in progress.
	calls int
	// homes has the pool for new blocks of each type.
	homes map[MemoryType]*home
	// former has homes that were replaced and are not closed yet.
	former []*home
	live   [MemoryTypeCount]uint64
	// lent counts memory of this manager whose handle is removed, while its linked
	// block is live.
	lent uint64
	// adopted counts live external memory.
	adopted Adopted
	// past has the counts of closed pools.
	past track.Statistics
	// onClose has the functions to call when the manager is closed.
	onClose roster.List[*closeHook]
}

// home is a pool of a manager.
type home struct {
	pool *pool.Pool
	// keep states that a collection does not release the pool's memory.
	keep bool
	// source is the source of memory of the type.
	source engine.Source

	// Manager.mu guards the fields below. users counts live blocks and allocations in
	// progress.
	users uint64
	// ending states that a thread is closing it.
	ending bool
}

// CreateMemoryManager creates a manager on a device. It serves both the plain and the
// advanced interface of the seed designs: all calls of the factory accept its blocks.
// Errors: CodeInvalidConfig for settings, those of pool.New for the settings of a pool,
// CodeUnsupported for settings of a memory type that the device lacks.
func (f *Factory) CreateMemoryManager(e *engine.Engine, c Config) (*Manager, error) {
	settings, err := c.complete(e)
	if err != nil {
		return nil, err
	}
	d := f.deviceOf(e)
	if err := d.begin("manager.create", &d.managers); err != nil {
		return nil, err
	}
	m, err := f.build(d, settings)
	if err == nil {
		d.mu.Lock()
		d.built.Add(m)
		d.mu.Unlock()
	}
	d.end(&d.managers, err)
	return m, err
}

func (f *Factory) build(d *openDevice, c Config) (*Manager, error) {
	m := &Manager{factory: f, owner: d, config: c, homes: map[MemoryType]*home{}}
	m.changed = sync.NewCond(&m.mu)
	m.transfers.init(c.MaxConcurrentTransfers)
	m.relocator, m.mover.Manager = relocation.New[*block, blockPool](), m
	m.collector.init(c.shareToCollect())
	for kind := range MemoryType(MemoryTypeCount) {
		settings, ok := c.PoolConfigs[kind]
		if !ok {
			continue
		}
		made, err := m.newHome(kind, settings)
		if err != nil {
			for _, other := range m.homes {
				m.logFailure("closing a pool of a manager that could not be created", other.pool.Close(true))
			}
			return nil, err
		}
		m.homes[kind] = made
	}
	if m.collector.wanted() {
		d.engine.WatchUse(true)
	}
	return m, nil
}

func (m *Manager) newHome(kind MemoryType, settings pool.Config) (*home, error) {
	source, open := kind.sourceOn(m.owner.engine), pool.NewInGroup
	switch source {
	case engine.SourcePinned:
		open = pool.NewPinned
	case engine.SourceManaged:
		open = pool.NewManaged
	}
	made, err := open(m.owner.engine, m.config.forPool(kind, settings), &m.totals)
	if err != nil {
		return nil, forType(err, kind)
	}
	return &home{pool: made, keep: settings.PreAlloc, source: source}, nil
}

// SetHandle stores the handle of the manager's owner for Handle. A caller that finds
// the manager by one of its blocks then finds the owner's object without a search.
func (m *Manager) SetHandle(id uint64) { m.handle.Store(id) }

// Handle returns the last value of SetHandle; 0: none.
func (m *Manager) Handle() uint64 { return m.handle.Load() }

// Engine returns the engine of the manager's device.
func (m *Manager) Engine() *engine.Engine { return m.owner.engine }

// Config returns the settings of the manager.
func (m *Manager) Config() Config { return m.config }

// MemoryInfo queries the memory of the device, including all other users.
func (m *Manager) MemoryInfo() (engine.MemoryInfo, error) {
	if m.closing.Load() {
		return engine.MemoryInfo{}, m.closedError("manager.memory_info")
	}
	return m.owner.engine.MemoryInfo()
}

// SetPressureCallback registers a further callback for changes of the device's pressure
// level. It runs on the device's worker with no lock held, and may call the manager.
// The caller removes it with the registration's Remove.
func (m *Manager) SetPressureCallback(fn func(pressure.Level)) (*engine.Registration, error) {
	const op = "manager.set_pressure_callback"
	if fn == nil {
		return nil, device.Errorf(device.CodeNullPointer, op, "callback is nil").On(m.owner.engine.ID())
	}
	if m.closing.Load() {
		return nil, m.closedError(op)
	}
	return m.owner.engine.OnPressure(fn)
}

// LiveByType returns the number of live blocks of each memory type.
func (m *Manager) LiveByType() map[MemoryType]uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := make(map[MemoryType]uint64, MemoryTypeCount)
	for kind, count := range m.live {
		counts[MemoryType(kind)] = count
	}
	return counts
}

// liveBlocks returns the number of live blocks.
func (m *Manager) liveBlocks() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.countLive()
}

// EachBlock calls visit for the live blocks until visit returns false. Blocks that are
// allocated or freed during the call may be skipped. visit may call the manager.
func (m *Manager) EachBlock(visit func(HandleInfo) bool) {
	m.eachBlock(func(b *block) bool {
		b.mu.Lock()
		if b.dead {
			b.mu.Unlock()
			return true
		}
		info := b.info()
		b.mu.Unlock()
		return visit(info)
	})
}

func (m *Manager) eachBlock(visit func(*block) bool) {
	m.factory.memory.Each(func(_ uint64, b *block) bool {
		return b.manager != m || visit(b)
	})
}

// Pools lists the manager's pools, including pools that still have blocks from before a
// ConfigurePool.
func (m *Manager) Pools() []*pool.Pool {
	m.mu.Lock()
	defer m.mu.Unlock()
	var pools []*pool.Pool
	for _, h := range m.listHomes() {
		pools = append(pools, h.pool)
	}
	return pools
}

// listHomes lists the homes in the order of their types. The caller holds m.mu.
func (m *Manager) listHomes() []*home {
	homes := slices.Clone(m.former)
	for kind := range MemoryType(MemoryTypeCount) {
		if h := m.homes[kind]; h != nil {
			homes = append(homes, h)
		}
	}
	return homes
}

func (m *Manager) closedError(op string) error {
	return device.Errorf(device.CodeInvalidHandle, op,
		"%s has been destroyed", handle.Manager).On(m.owner.engine.ID())
}

// logFailure logs a failure that the caller cannot handle.
func (m *Manager) logFailure(what string, err error) {
	if err != nil {
		m.owner.engine.Log(engine.Warning, what+": "+err.Error())
	}
}

// countLive returns the number of live blocks. The caller holds m.mu.
func (m *Manager) countLive() uint64 {
	live := uint64(0)
	for _, count := range m.live {
		live += count
	}
	return live
}
