package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/manager"
)

// mortal is an object with a handle that may end under a call which has found it: the
// object ends a moment before its handle does.
type mortal interface {
	// isOver says that the object has ended or is ending: its handle is as good as dead.
	isOver() bool
	// known gives its handle and the device that it is of; nil: it is of none.
	known() (id uint64, e *engine.Engine)
}

// late turns what objects say of a call that found one of them as it ended into what
// its handle will say in a moment: CodeInvalidHandle. Any other error names the device
// of the first.
func late(err error, objects ...mortal) error {
	if err == nil {
		return nil
	}
	for _, o := range objects {
		if o.isOver() {
			return over(o)
		}
	}
	if _, e := objects[0].known(); e != nil {
		return on(err, e)
	}
	return err
}

// over is what a call hears of an object that is over.
func over(o mortal) error {
	id, e := o.known()
	kind := handle.KindOf(id)
	ended := device.Errorf(device.CodeInvalidHandle, "handle.late",
		"%s handle %#x: the %s has ended, or is being ended", kind, id, kind)
	if e != nil {
		return ended.On(e.ID())
	}
	return ended
}

// lateOn is late for a call that uses a stream as well; 0: the default one.
func (l *Library) lateOn(stream uint64, err error, object mortal) error {
	if err == nil {
		return nil
	}
	if stream != 0 && device.CodeOf(err) == device.CodeInvalidState {
		if ended := l.factory.StreamEnded(manager.StreamHandle(stream)); ended != nil {
			err = ended
		}
	}
	return late(err, object)
}

func (o *object) id() uint64 { return o.handle.Load() }

// A device is over when nothing more is made on it.
func (d *openDevice) isOver() bool                     { return d.gate.isClosed() }
func (d *openDevice) known() (uint64, *engine.Engine)  { return d.id(), d.engine }
func (p *openPool) isOver() bool                       { return p.pool.IsOver() }
func (p *openPool) known() (uint64, *engine.Engine)    { return p.id(), p.device.engine }
func (p *openVPool) isOver() bool                      { return p.pool.IsOver() }
func (p *openVPool) known() (uint64, *engine.Engine)   { return p.id(), p.device.engine }
func (m *openManager) isOver() bool                    { return m.manager.IsOver() }
func (m *openManager) known() (uint64, *engine.Engine) { return m.id(), m.device.engine }
func (m *openMonitor) isOver() bool                    { return m.monitor.IsOver() }
func (m *openMonitor) known() (uint64, *engine.Engine) { return m.id(), nil }

func (p *openElasticPool) isOver() bool                        { return p.pool.IsOver() }
func (p *openElasticPool) known() (uint64, *engine.Engine)     { return p.id(), p.device.engine }
func (m *openFallbackManager) isOver() bool                    { return m.manager.IsOver() }
func (m *openFallbackManager) known() (uint64, *engine.Engine) { return m.id(), m.device.engine }

// A buffer goes with its manager.
func (b *openBuffer) isOver() bool                    { return b.buffer.IsOver() }
func (b *openBuffer) known() (uint64, *engine.Engine) { return b.id(), b.owner.device.engine }

// A tracker of a manager or of a generic pool goes with that; one of the caller's is
// over with its handle, and so is a generic pool.
func (t *openTracker) isOver() bool                        { return t.owner != nil && t.owner.isOver() }
func (t *openTracker) known() (uint64, *engine.Engine)     { return t.id(), nil }
func (p *openGenericPool) isOver() bool                    { return p.ended.Load() }
func (p *openGenericPool) known() (uint64, *engine.Engine) { return p.id(), nil }

// A strategy of the caller's is called no more once it is over; the others have no end
// but that of their handle.
func (p *openPlacement) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

func (p *openPlacement) known() (uint64, *engine.Engine) { return p.id(), nil }
