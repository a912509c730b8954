package engine

import (
	"math"

	"ferrum_mem/core/mirror"
)

// PublishAt sets the place where Publish publishes the counters of the device; nil: nowhere.
// Readers find the device by handle. No pool may be registered yet, and no other engine
// may use the place until this one has another place.
func (e *Engine) PublishAt(place *mirror.Device, handle uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.published.place, e.published.handle = place, handle
	if place == nil {
		e.mu.SetPlace(nil)
		return
	}
	e.mu.SetPlace(&place.Version)
}

// Publish publishes the counters, and those of each pool, if they are not published
// already. They can be read until they change. A closed engine publishes nothing.
func (e *Engine) Publish() {
	e.mu.LockToRead()
	if e.mu.NeedsPublish() && !e.closed {
		e.published.place.Counters = e.publishedCounters()
		e.mu.Publish()
	}
	pools := e.pools.All()
	e.mu.Unlock()
	for p := range pools {
		if s, ok := p.(publisher); ok {
			s.Publish()
		}
	}
}

// publishedCounters returns the published part of the counters. The caller holds mu.
func (e *Engine) publishedCounters() mirror.DeviceCounters {
	b := mirror.DeviceCounters{Handle: e.published.handle, Partial: 1}
	last := e.last.Load()
	if last == nil || e.published.others > 0 {
		return b
	}
	room := roomOf(last.now(e.held), e)
	b.Partial = 0
	b.TotalBytes, b.AvailableBytes, b.LimitBytes = room.totalBytes, room.availableBytes, room.limitBytes
	b.DeviceTotalBytes, b.DeviceFreeBytes = room.device.TotalBytes, room.device.FreeBytes
	b.TakenAt = uint64(last.at)
	for i, p := range e.published.pools {
		if p != nil {
			b.Pools |= 1 << i
		}
	}
	if measured := e.bandwidth.measured.Load(); measured != nil {
		b.Bandwidth = mirror.BandwidthKnown | uint64(math.Float32bits(float32(*measured)))
	}
	return b
}
