package library

import (
	"time"

	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/track"
)

// streams and events belong to the manager factory, which counts them and destroys them
// with their device.
type streams struct{ of *registry }

func (*streams) handles() handle.Kind { return handle.Stream }
func (*streams) traits() traits       { return traits{listed: listedLast} }

func (s *streams) count(only *Device) int {
	return s.of.countMade(only, func(n manager.Leftovers) int { return n.Streams })
}

// each skips default streams, which belong to their devices.
func (s *streams) each(visit func(id uint64, m member) bool) {
	// One variable for all visits, so that many streams allocate no memory.
	var m queued
	s.of.factory.EachStream(func(found manager.StreamInfo) bool {
		m = queued{kind: "stream", id: found.Handle.ID(), engine: found.Engine, madeAt: found.MadeAt}
		return found.IsDefault || visit(m.id, &m)
	})
}

type events struct{ of *registry }

func (*events) handles() handle.Kind { return handle.Event }
func (*events) traits() traits       { return traits{listed: listedLast} }

func (s *events) count(only *Device) int {
	return s.of.countMade(only, func(n manager.Leftovers) int { return n.Events })
}

func (s *events) each(visit func(id uint64, m member) bool) {
	var m queued
	s.of.factory.EachEvent(func(found manager.EventInfo) bool {
		m = queued{kind: "event", id: found.Handle.ID(), engine: found.Engine, madeAt: found.MadeAt}
		return visit(m.id, &m)
	})
}

// countMade counts the objects that the factory has created on a device or, with nil,
// on all devices.
func (g *registry) countMade(only *Device, pick func(manager.Leftovers) int) (n int) {
	g.devices.Each(func(_ uint64, d *Device) bool {
		if only == nil || d == only {
			n += pick(g.factory.Leftovers(d.Engine))
		}
		return true
	})
	return n
}

// queued is a stream or an event.
type queued struct {
	kind   string
	id     uint64
	engine *engine.Engine
	madeAt time.Duration
}

func (q *queued) hasEnded() bool                  { return false }
func (q *queued) known() (uint64, *engine.Engine) { return q.id, q.engine }
func (q *queued) of(d *Device) bool               { return d != nil && d.Engine == q.engine }

func (q *queued) leak() leak {
	return leak{Kind: q.kind, Device: q.engine.ID().String(), AgeNS: age(track.Now(), q.madeAt)}
}
