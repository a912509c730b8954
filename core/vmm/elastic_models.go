package vmm

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// ModelConfig has the settings of a model in an elastic pool.
type ModelConfig struct {
	// VirtualBytes is the size of the model's address space, rounded up to whole pages.
	// The sum over the models may exceed the limit of the pool.
	VirtualBytes uint64
	// GuaranteedBytes of the limit are reserved for the model, rounded up to whole
	// pages. The guarantees of all models together stay within the limit. Each
	// guarantee is backed by pages that no other model uses or is guaranteed.
	GuaranteedBytes uint64
	// GuaranteeMayWait accepts a guarantee that is not backed yet. The missing part
	// becomes effective when pages are freed.
	GuaranteeMayWait bool
	// MaxBytes is the maximum of the model, in whole pages; 0: no maximum of its own.
	MaxBytes uint64
	// Priority decides three orders. Unused pages are taken from models of lower
	// priority first. Models of lower priority are called first to free pages in use.
	// Allocations of models of higher priority are served first.
	Priority int32
	// Unscrubbed allows pages to pass to another unscrubbed model without being zeroed.
	Unscrubbed bool
}

// ModelLimits has the settings of a model that can change while it runs.
type ModelLimits struct {
	GuaranteedBytes  uint64
	MaxBytes         uint64
	Priority         int32
	GuaranteeMayWait bool
}

func (c ModelConfig) limits() ModelLimits {
	return ModelLimits{
		GuaranteedBytes: c.GuaranteedBytes, MaxBytes: c.MaxBytes, Priority: c.Priority, GuaranteeMayWait: c.GuaranteeMayWait,
	}
}

// bounds converts the limits of a model to pages and checks them against its address
// space.
func (u *scale) bounds(op, id string, l ModelLimits, virtualBytes uint64) (bounds, error) {
	b := bounds{guaranteed: l.GuaranteedBytes / u.pageBytes, most: noBound, priority: l.Priority}
	if l.GuaranteedBytes%u.pageBytes != 0 {
		b.guaranteed++
	}
	if l.MaxBytes != 0 {
		b.most = l.MaxBytes / u.pageBytes
	}
	switch {
	case b.most == 0:
		return b, u.fault(device.CodeInvalidConfig, op, "model %q: max_bytes %d is less than a page of %v", id,
			l.MaxBytes, device.Size(u.pageBytes))
	case b.guaranteed > b.most:
		return b, u.fault(device.CodeInvalidConfig, op, "model %q: guaranteed_bytes %d is above max_bytes %d, in pages of %v",
			id, l.GuaranteedBytes, l.MaxBytes, device.Size(u.pageBytes))
	case l.GuaranteedBytes > virtualBytes:
		return b, u.fault(device.CodeInvalidConfig, op, "model %q: guaranteed_bytes %d is above its virtual_bytes %d", id,
			l.GuaranteedBytes, virtualBytes)
	}
	return b, nil
}

// checkGuarantees checks that a guarantee fits beside those of the other models. If the
// guarantee may not wait for pages, it also checks that pages back it. The caller holds
// mu.
func (s *Elastic) checkGuarantees(op, id string, of *share, l ModelLimits, b bounds) error {
	q := &s.quota
	sum, ok := q.guaranteesWith(of, b.guaranteed)
	if !ok || sum > q.limit {
		return s.scale.fault(device.CodeInvalidConfig, op,
			"model %q: guaranteed_bytes %d: the guarantees of all models would be above the limit of %v, of which %v are guaranteed now",
			id, l.GuaranteedBytes, device.Size(s.scale.bytes(q.limit)), device.Size(s.scale.bytes(q.asked)))
	}
	backed := q.backed(of, b.guaranteed)
	if backed == b.guaranteed || l.GuaranteeMayWait {
		return nil
	}
	return s.scale.fault(device.CodeOutOfPhysicalMemory, op,
		"model %q: guaranteed_bytes %d: pages back %v of them, the others are used by other models; of the limit of %v %v are in use, and %v more are guaranteed",
		id, l.GuaranteedBytes, device.Size(s.scale.bytes(backed)), device.Size(s.scale.bytes(q.limit)), device.Size(s.scale.bytes(q.used)), device.Size(s.scale.bytes(q.unused))).OfModel(id).
		Stating(device.FactRequestedBytes, l.GuaranteedBytes).Stating(device.FactAvailableBytes, s.scale.bytes(backed))
}

// withCompletedFrees calls try. If pages are missing for a guarantee, it parks the retiring
// ranges whose work has completed and calls try again.
func (s *Elastic) withCompletedFrees(try func() error) error {
	err := try()
	if errors.Is(err, device.CodeOutOfPhysicalMemory) {
		s.physical.CompleteFrees()
		err = try()
	}
	return err
}

// Register adds a model with its own empty address space. It takes no physical memory
// except for tables. Errors:
//
//   - CodeModelAlreadyExists;
//   - CodeInvalidArgument for an id that is empty, longer than MaxNameBytes, not UTF-8,
//     or has a NUL;
//   - CodeInvalidSize for an address space of 0 bytes or one that overflows;
//   - CodeOutOfVirtualMemory when the address space cannot be reserved;
//   - CodeInvalidConfig for limits that contradict each other, or guarantees above the
//     pool's limit;
//   - CodeOutOfPhysicalMemory, with the bytes that are backed, for a guarantee that may
//     not wait for pages while other models use too many.
func (s *Elastic) Register(id string, c ModelConfig) (*Model, error) {
	const op = "register"
	var m *Model
	err := s.withCompletedFrees(func() (err error) {
		m, err = s.enroll(op, id, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	space, err := newSpace(s.physical, spaceConfig{
		kind: modelKind, name: id, capacityBytes: c.VirtualBytes, unscrubbed: c.Unscrubbed,
		left: func(pages uint64) { s.discharge(m, pages) },
	})
	if err == nil {
		s.physical.rank(space.owner, c.Priority)
		if err = s.list(op, m, space); err == nil {
			return m, nil
		}
		if failure := space.close(op, true); failure != nil {
			s.scale.engine.Log(engine.Warning, failure.Error())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeModel(m)
	m.settle(false)
	return nil, err
}

// list adds a model that has its space to the pool.
func (s *Elastic) list(op string, m *Model, space *space) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(op); err != nil {
		return err
	}
	m.space = space
	s.ordered.Add(m)
	m.settle(true)
	return nil
}

// enroll reserves the id and the guarantee. The model counts as removed until it has
// its space.
func (s *Elastic) enroll(op, id string, c ModelConfig) (*Model, error) {
	if len(id) == 0 || len(id) > MaxNameBytes {
		return nil, s.scale.fault(device.CodeInvalidArgument, op, "id %q has %v, 1 to %d are allowed", id, device.Size(len(id)), MaxNameBytes)
	}
	if !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
		return nil, s.scale.fault(device.CodeInvalidArgument, op, "id %q is not UTF-8 without NUL", id)
	}
	b, err := s.scale.bounds(op, id, c.limits(), c.VirtualBytes)
	if err != nil && c.VirtualBytes != 0 {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(op); err != nil {
		return nil, err
	}
	if s.models[id] != nil {
		return nil, s.scale.fault(device.CodeModelAlreadyExists, op, "model %q is registered in %q already", id, s.scale.name).OfModel(id)
	}
	if err := s.checkGuarantees(op, id, nil, c.limits(), b); err != nil {
		return nil, err
	}
	m := &Model{shared: s, id: id, gone: true, leaving: make(chan struct{}), share: s.quota.add(b)}
	m.stage = stage{over: (*share).over, charge: (*share).book}
	s.models[id] = m
	return m, nil
}

// removeModel removes a model that uses nothing from the list. The caller holds mu.
func (s *Elastic) removeModel(m *Model) {
	s.quota.remove(m.share)
	delete(s.models, m.id)
	s.ordered.Remove(m)
	s.stage.serve()
}

// SetModelLimits changes the guarantee, the maximum and the priority of a model while
// models run. Limits below the pages in use take no page. A raised guarantee keeps the
// part that is in effect. Errors: CodeModelNotFound, CodeInvalidConfig and
// CodeOutOfPhysicalMemory as for Register. A failed call changes nothing.
func (s *Elastic) SetModelLimits(id string, l ModelLimits) error {
	return s.withCompletedFrees(func() error { return s.setModelLimits("set_model_limits", id, l) })
}

func (s *Elastic) setModelLimits(op, id string, l ModelLimits) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.findLocked(op, id)
	if err != nil {
		return err
	}
	b, err := s.scale.bounds(op, id, l, m.space.table.extent.Bytes())
	if err != nil {
		return err
	}
	if err := s.checkGuarantees(op, id, m.share, l, b); err != nil {
		return err
	}
	s.quota.change(m.share, b)
	s.physical.rank(m.space.owner, l.Priority)
	m.stage.serve()
	s.stage.serve()
	return nil
}

// Models lists the ids of the models, sorted.
func (s *Elastic) Models() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, s.ordered.Len())
	for m := range s.ordered.All() {
		if !m.gone {
			ids = append(ids, m.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Alloc calls Model.Alloc of the model with that id.
func (s *Elastic) Alloc(id string, size uint64) (Allocation, error) {
	m, err := s.find("alloc", id)
	if err != nil {
		return Allocation{}, err
	}
	return m.Alloc(size)
}

// AllocAt calls Model.AllocAt of the model with that id.
func (s *Elastic) AllocAt(id string, offset, size uint64) (Allocation, error) {
	m, err := s.find("alloc", id)
	if err != nil {
		return Allocation{}, err
	}
	return m.AllocAt(offset, size)
}

// Free calls Model.Free of the model with that id.
func (s *Elastic) Free(id string, offset, size uint64, stream device.Stream) error {
	m, err := s.find("free", id)
	if err != nil {
		return err
	}
	return m.Free(offset, size, stream)
}

// settle ends a registration or unregistration and wakes the threads that wait for its
// result. The caller holds Elastic.mu.
func (m *Model) settle(stays bool) {
	m.gone = !stays
	close(m.leaving)
}
