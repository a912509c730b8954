package vmm

import (
	"errors"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/roster"
)

// ElasticConfig has the settings of an elastic pool.
type ElasticConfig struct {
	// Name is the pool's name in reports.
	Name string
	// LimitBytes bounds the physical memory of all models together, in whole pages. 0
	// means the device's capacity, or its limit if that is lower.
	LimitBytes uint64
	// PageBytes, ReadyPages and Backing are as in PhysicalConfig.
	PageBytes  uint64
	ReadyPages int
	Backing    device.Backing
	// Stepped pools have no worker. The caller runs its steps, Physical.Settle and
	// Physical.Tick, and so decides the time.
	Stepped bool
}

// Elastic is an elastic pool: several models under one physical limit, each with its
// own address space. Each model may have a guarantee, which is a part of the limit, and
// a maximum. The rest of the limit goes to any model that requests it, and models above
// their guarantee release pages when others need them (quota.go, elastic_search.go).
// All methods are safe for concurrent use. After Close every call that can fail fails
// with CodeInvalidState.
type Elastic struct {
	scale    scale
	physical *Physical

	// limits is held during a change of the limit.
	limits sync.Mutex

	mu    sync.Mutex
	state state
	quota quota
	// stage enforces the limit of the pool.
	stage stage
	// supply is the queue of allocations that the limit allows but the device has no
	// memory for.
	supply line
	// limitBytes is the limit as the caller set it; 0 means the device's capacity.
	limitBytes uint64
	// models includes the models that are being registered.
	models map[string]*Model
	// ordered has the models with an address space, in order of registration.
	ordered roster.List[*Model]
	// peak is the highest number of pages in use.
	peak uint64
}

// NewElastic creates an elastic pool without models. It allocates nothing from the
// device yet. Errors: CodeUnsupportedDevice for a device without virtual memory,
// CodeInvalidPageSize, CodeInvalidConfig, CodeOutOfPhysicalMemory for a limit above the
// device's memory.
func NewElastic(e *engine.Engine, c ElasticConfig) (*Elastic, error) {
	return newElastic(e, c, !c.Stepped)
}

func newElastic(e *engine.Engine, c ElasticConfig, hands bool) (*Elastic, error) {
	const op = "shared.new"
	if c.Backing == device.BackingShareable || c.Backing == device.BackingFabric {
		return nil, device.Errorf(device.CodeInvalidConfig, op,
			"backing %d: models exchange their pages, so other processes cannot share them", c.Backing).On(e.ID())
	}
	physical, err := newPhysical(op, e, PhysicalConfig{
		Name: c.Name, PageBytes: c.PageBytes, LimitBytes: c.LimitBytes, ReadyPages: c.ReadyPages, Backing: c.Backing,
	}, hands)
	if err != nil {
		return nil, err
	}
	s := &Elastic{
		scale:    scale{engine: e, name: c.Name, pageBytes: physical.PageBytes()},
		physical: physical, limitBytes: c.LimitBytes,
		models: map[string]*Model{},
	}
	s.quota.limit = s.scale.limitPages(c.LimitBytes)
	s.stage = stage{guaranteed: true, over: s.quota.over, charge: s.charge}
	if s.quota.limit == 0 {
		err := device.Errorf(device.CodeInvalidConfig, op, "limit_bytes %d is less than a page of %v",
			c.LimitBytes, device.Size(s.scale.pageBytes)).On(e.ID())
		return nil, errors.Join(err, physical.Close())
	}
	return s, nil
}

// scale converts between bytes and pages of an elastic pool, and names the pool in
// errors.
type scale struct {
	engine    *engine.Engine
	name      string
	pageBytes uint64
}

// limitPages converts a limit to whole pages.
func (u *scale) limitPages(limitBytes uint64) uint64 {
	if limitBytes == 0 {
		limitBytes = u.engine.Capacity()
	}
	return limitBytes / u.pageBytes
}

// SetLimit changes the limit of all models together while they run; 0 means the
// device's capacity. A limit below the pages in use takes no live page: free pages
// above the limit are released at once, and a request for more waits until models
// release pages, or fails. Errors: CodeInvalidConfig if the limit is less than one page
// or less than the sum of the guarantees, including guarantees that wait for pages;
// CodeOutOfPhysicalMemory if it is more than the device has.
func (s *Elastic) SetLimit(limitBytes uint64) error {
	const op = "set_limit"
	s.limits.Lock()
	defer s.limits.Unlock()
	if err := checkLimit("shared."+op, s.scale.engine, limitBytes); err != nil {
		return err
	}
	pages := s.scale.limitPages(limitBytes)
	s.mu.Lock()
	err := s.checkOpen(op)
	if err == nil && pages < max(s.quota.asked, 1) {
		err = s.scale.fault(device.CodeInvalidConfig, op,
			"limit_bytes %d is %s of %v: less than one, or than the %d that models are guaranteed",
			limitBytes, device.Count(pages, "page"), device.Size(s.scale.pageBytes), s.quota.asked)
	}
	raised := pages >= s.quota.limit
	if err == nil && !raised {
		s.quota.setLimit(pages)
		s.limitBytes = limitBytes
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	// Physical must allow all pages that the quota allows.
	if err := s.physical.SetLimit(limitBytes); err != nil || !raised {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quota.setLimit(pages)
	s.limitBytes = limitBytes
	s.stage.serve()
	return nil
}

// Limit returns the present limit in bytes.
func (s *Elastic) Limit() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scale.bytes(s.quota.limit)
}

// Name returns the name of the pool.
func (s *Elastic) Name() string { return s.scale.name }

// PageBytes returns the size of a page.
func (s *Elastic) PageBytes() uint64 { return s.scale.pageBytes }

// Physical returns the pages of all models; callers use its Pause, Resume and Trim.
func (s *Elastic) Physical() *Physical { return s.physical }

// Model finds a model by its id. It returns CodeModelNotFound if there is none.
func (s *Elastic) Model(id string) (*Model, error) { return s.find("model", id) }

func (s *Elastic) find(op, id string) (*Model, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.findLocked(op, id)
}

// findLocked implements find. The caller holds mu.
func (s *Elastic) findLocked(op, id string) (*Model, error) {
	if err := s.checkOpen(op); err != nil {
		return nil, err
	}
	m := s.models[id]
	if m == nil || m.gone {
		return nil, s.scale.fault(device.CodeModelNotFound, op, "model %q is not registered in %q", id, s.scale.name).OfModel(id)
	}
	return m, nil
}

// checkOpen returns an error if the pool is not open. The caller holds mu.
func (s *Elastic) checkOpen(op string) error {
	if s.state != stateOpen {
		return s.scale.fault(device.CodeInvalidState, op, "%q is closed", s.scale.name)
	}
	return nil
}

func (u *scale) fault(code device.Code, op, format string, args ...any) *device.Error {
	return device.Errorf(code, "shared."+op, format, args...).On(u.engine.ID())
}

func (u *scale) bytes(pages uint64) uint64 { return pages * u.pageBytes }
