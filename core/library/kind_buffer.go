package library

import (
	"ferrum_mem/core/engine"
	"ferrum_mem/core/fallback"
	"ferrum_mem/core/track"
)

// FallbackBuffer is a live buffer of a fallback manager. The other methods are those of
// the embedded buffer.
type FallbackBuffer struct {
	object
	*fallback.Buffer
	owner *FallbackManager
}

// FallbackBuffer finds a buffer of a fallback manager by its handle.
func (l *Library) FallbackBuffer(op string, id uint64) (*FallbackBuffer, error) {
	return find(l, l.registry.buffers, op, id)
}

// A buffer ends with its manager.
func (b *FallbackBuffer) hasEnded() bool                  { return b.Buffer.HasEnded() }
func (b *FallbackBuffer) known() (uint64, *engine.Engine) { return b.id(), b.owner.device.Engine }
func (b *FallbackBuffer) of(d *Device) bool               { return b.owner.of(d) }

func (b *FallbackBuffer) leak() leak {
	found := b.alive("buffer", b.owner.device.Engine)
	found.Device, found.Bytes = b.Location().Device.String(), b.SizeBytes()
	if addr, _, err := b.Addr(); err == nil {
		found.Address = uint64(addr)
	}
	if t := b.owner.Manager.Tracker(); t != nil {
		if meta, ok := t.Get(b.ID()); ok {
			found.Tag, found.AgeNS = meta.Tag, age(track.Now(), meta.AllocatedAt)
		}
	}
	return found
}
