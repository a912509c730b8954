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

// Manager is the memory manager of a device. All methods are safe for
// concurrent use; after Close every one but Engine, Statistics, LiveByType,
// EachBlock and Pools is CodeInvalidHandle.
type Manager struct {
	factory   *Factory
	owner     *openDevice
	config    Config
	transfers transfers
	collector collector
	relocator *relocation.Relocator[*block, blockPool]
	mover     mover
	// totals has the peaks of all pools together.
	totals track.Totals
	// closing refuses new blocks and new work on blocks.
	closing atomic.Bool
	// handle is what SetHandle was told.
	handle atomic.Uint64

	closeMu sync.Mutex

	mu sync.Mutex
	// changed is signalled when a call has ended or a block has gone.
	changed *sync.Cond
	closed  bool
	// calls counts the allocations and pool changes that are under way.
	calls int
	// homes is where new blocks of each type come from.
	homes map[MemoryType]*home
	// former are homes that were replaced and are not closed yet.
	former []*home
	live   [MemoryTypeCount]uint64
	// lent counts memory of this manager whose handle is gone, but not that of the
	// block which is linked to it.
	lent uint64
	// adopted is what is live of other people's memory.
	adopted Adopted
	// past is the counts of pools that are gone.
	past track.Statistics
	// onClose is told when the manager is closed.
	onClose roster.List[*closeHook]
}

// home is a pool of a manager.
type home struct {
	pool *pool.Pool
	// keep says that a collection leaves the pool's memory alone.
	keep bool
	// source is where memory of the type comes from.
	source engine.Source

	// All below is guarded by Manager.mu.
	// users counts live blocks and allocations under way.
	users uint64
	// ending says that somebody is closing it.
	ending bool
}

// CreateMemoryManager makes a manager on a device. It is the one object behind
// the plain and the advanced view of seed designs: what it hands out is known to
// every call of the factory. Errors: CodeInvalidConfig for settings, those of
// pool.New for the settings of a pool, CodeUnsupported for settings of a memory
// type that the device lacks.
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
				m.logFailure("a pool of a manager that could not be made", other.pool.Close(true))
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

// SetHandle keeps the handle that the manager's owner knows it by, for Handle: who finds
// the manager by one of its blocks finds its owner's object with no search.
func (m *Manager) SetHandle(id uint64) { m.handle.Store(id) }

// Handle is what SetHandle was told last; 0: nothing.
func (m *Manager) Handle() uint64 { return m.handle.Load() }

// Engine is the device that the manager is on.
func (m *Manager) Engine() *engine.Engine { return m.owner.engine }

// Config is the settings that the manager was made with.
func (m *Manager) Config() Config { return m.config }

// MemoryInfo asks the device for its memory, all uses of it together.
func (m *Manager) MemoryInfo() (engine.MemoryInfo, error) {
	if m.closing.Load() {
		return engine.MemoryInfo{}, m.closedError("manager.memory_info")
	}
	return m.owner.engine.MemoryInfo()
}

// SetPressureCallback registers one more callback for changes of the device's
// pressure level. It runs on the device's worker with no lock held, and may call
// the manager. Whoever registers removes it, with the registration's Remove.
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

// LiveByType counts the live blocks of each memory type.
func (m *Manager) LiveByType() map[MemoryType]uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := make(map[MemoryType]uint64, MemoryTypeCount)
	for kind, count := range m.live {
		counts[MemoryType(kind)] = count
	}
	return counts
}

// liveBlocks counts the live blocks.
func (m *Manager) liveBlocks() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.countLive()
}

// EachBlock visits the live blocks until visit returns false. A block that
// comes or goes meanwhile is visited or not. visit may call the manager.
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

// Pools lists the manager's pools, those included that are kept for blocks from
// before a ConfigurePool.
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

// logFailure reports a failure that the caller can do nothing about.
func (m *Manager) logFailure(what string, err error) {
	if err != nil {
		m.owner.engine.Log(engine.Warning, what+": "+err.Error())
	}
}

// countLive counts the live blocks. The caller holds m.mu.
func (m *Manager) countLive() uint64 {
	live := uint64(0)
	for _, count := range m.live {
		live += count
	}
	return live
}
