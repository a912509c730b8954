package library

import (
	"slices"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
)

// Compute is an open backend. The other methods are those of the embedded backend.
type Compute struct {
	object
	*backend.Backend
	device *Device
	// memory is the manager of the backend under its handle.
	memory *Manager
}

func (c *Compute) hasEnded() bool                  { return c.HasEnded() }
func (c *Compute) known() (uint64, *engine.Engine) { return c.id(), c.device.Engine }
func (c *Compute) of(d *Device) bool               { return c.device == d }

func (c *Compute) leak() leak {
	found := c.alive("compute", c.device.Engine)
	found.Tag = c.Name()
	return found
}

func (c *Compute) endByForce(l *Library, id uint64) error {
	c.destroying.Lock()
	defer c.destroying.Unlock()
	return endOf(l.registry.computes, c, func() error { return c.end(true) })
}

// end closes the backend, and removes the handle of its manager.
func (c *Compute) end(force bool) error {
	err := c.memory.using.endHeld("compute.close", c.device.Engine, force, func() error { return c.Backend.Close(force) })
	if err != nil {
		return err
	}
	_, err = c.library.registry.managers.Remove(c.memory.id())
	return err
}

// addMemory lists the blocks of the manager.
func (c *Compute) addMemory(l *Library, r *leakReport) { c.memory.addMemory(l, r) }

// snapshot adds the manager and its pools.
func (c *Compute) snapshot(d *Device, s deviceSnapshot) { c.memory.snapshot(d, s) }

func (c *Compute) ownerAt(d *Device, addr device.Addr) (Owner, bool) {
	return c.memory.ownerAt(d, addr)
}

// Close closes the backend. Without force it returns CodeBusy while operations, sequences, tensors or
// blocks of it exist.
func (c *Compute) Close(force bool) error {
	err := endNow(c.library.registry.computes, "compute.close", c, func() error { return c.end(force) })
	return c.library.log.orLog(err, force, c.id())
}

// Op is a prepared operation.
type Op struct {
	object
	op      *backend.Op
	compute *Compute
}

// An operation whose backend has ended has still to be destroyed.
func (o *Op) hasEnded() bool                  { return o.op.HasEnded() }
func (o *Op) known() (uint64, *engine.Engine) { return o.id(), o.compute.device.Engine }
func (o *Op) of(d *Device) bool               { return o.compute.of(d) }

func (o *Op) leak() leak {
	found := o.alive("op", o.compute.device.Engine)
	found.Tag = o.op.Name()
	return found
}

func (o *Op) endByForce(l *Library, _ uint64) error {
	o.destroying.Lock()
	defer o.destroying.Unlock()
	return endOf(l.registry.ops, o, o.op.Close)
}

// Destroy ends the operation.
func (o *Op) Destroy() error {
	return endNow(o.library.registry.ops, "op.destroy", o, o.op.Close)
}

// Sequence is a sequence of operations.
type Sequence struct {
	object
	sequence *backend.Sequence
	compute  *Compute
}

func (s *Sequence) hasEnded() bool                  { return s.sequence.HasEnded() }
func (s *Sequence) known() (uint64, *engine.Engine) { return s.id(), s.compute.device.Engine }
func (s *Sequence) of(d *Device) bool               { return s.compute.of(d) }
func (s *Sequence) leak() leak                      { return s.alive("sequence", s.compute.device.Engine) }

// endByForce waits for queued runs. They end, because a forced end begins with the callbacks of the
// program, which a stream might wait for.
func (s *Sequence) endByForce(l *Library, _ uint64) error {
	s.destroying.Lock()
	defer s.destroying.Unlock()
	if err := s.compute.Synchronize(device.Forever); err != nil && !s.compute.HasEnded() {
		l.log.printf(LogWarning, "%v: work before the end of a sequence has failed: %v", s.compute.device.Engine.ID(), err)
	}
	return endOf(l.registry.sequences, s, s.sequence.Close)
}

// Destroy ends the sequence. It returns CodeBusy while a run is queued or in progress.
func (s *Sequence) Destroy() error {
	return endNow(s.library.registry.sequences, "sequence.destroy", s, s.sequence.Close)
}

// endNow ends an object and removes its handle. It returns CodeBusy while another call ends the object.
func endNow[T interface {
	member
	base() *object
}](table *handle.Table[T], op string, of T, end func() error) error {
	o := of.base()
	if !o.destroying.TryLock() {
		word := handle.KindOf(o.id()).String()
		return on(device.Errorf(device.CodeBusy, op, "%s handle %#x: another call is ending the %s", word, o.id(), word), engineOf(of))
	}
	defer o.destroying.Unlock()
	return endOf(table, of, end)
}

// endOf ends an object and removes its handle. The caller holds object.destroying.
func endOf[T interface {
	member
	base() *object
}](table *handle.Table[T], of T, end func() error) error {
	id := of.base().id()
	if _, err := table.Get(id); err != nil {
		return err
	}
	if err := end(); err != nil {
		return on(err, engineOf(of))
	}
	_, err := table.Remove(id)
	return err
}

// hostDevices lists the devices of the registry of backends: those of the host and those that are open.
func (x *Computes) hostDevices() []device.ID {
	list := []device.ID{{Backend: "cpu"}}
	for _, d := range x.library.registry.listDevices() {
		if id := d.Engine.ID(); !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}
