package library

import (
	"ferrum_mem/core/engine"
	"ferrum_mem/core/fallback"
	"ferrum_mem/core/track"
)

// openBuffer is a live buffer of a fallback manager.
type openBuffer struct {
	object
	buffer *fallback.Buffer
	owner  *openFallbackManager
}

// A buffer ends with its manager.
func (b *openBuffer) isOver() bool                    { return b.buffer.IsOver() }
func (b *openBuffer) known() (uint64, *engine.Engine) { return b.id(), b.owner.device.engine }
func (b *openBuffer) of(d *openDevice) bool           { return b.owner.of(d) }

func (b *openBuffer) leak() leak {
	found := b.alive("buffer", b.owner.device.engine)
	found.Device, found.Bytes = b.buffer.Location().Device.String(), b.buffer.SizeBytes()
	if addr, _, err := b.buffer.Addr(); err == nil {
		found.Address = uint64(addr)
	}
	if t := b.owner.manager.Tracker(); t != nil {
		if meta, ok := t.Get(b.buffer.ID()); ok {
			found.Tag, found.AgeNS = meta.Tag, age(track.Now(), meta.AllocatedAt)
		}
	}
	return found
}
