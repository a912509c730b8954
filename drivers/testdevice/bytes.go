package testdevice

import (
	"bytes"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// Bytes reads and changes the memory of a device from the process. It accesses the memory
// directly if the process can address it. Else it copies on the default stream and waits
// for that. No queued work may use the range meanwhile. It is safe for concurrent use.
type Bytes struct {
	dev device.Device

	mu     sync.Mutex
	buffer []byte
}

// NewBytes returns the Bytes of a device.
func NewBytes(dev device.Device) *Bytes { return &Bytes{dev: dev} }

// visible returns the device's own interface to its memory, or nil.
func (b *Bytes) visible() device.HostVisible {
	if visible, ok := b.dev.(device.HostVisible); ok && b.dev.Info().HostAddressable {
		return visible
	}
	return nil
}

// Fill writes the value over size bytes.
func (b *Bytes) Fill(addr device.Addr, value byte, size uint64) error {
	if visible := b.visible(); visible != nil {
		return visible.FillNow(addr, value, size)
	}
	stream := b.dev.DefaultStream()
	if err := stream.Fill(addr, device.Pattern{Value: uint64(value), WidthBytes: 1}, size); err != nil {
		return err
	}
	return stream.Synchronize(device.Forever)
}

// FirstOther finds the first of size bytes that differs from value. false: no byte differs.
func (b *Bytes) FirstOther(addr device.Addr, value byte, size uint64) (device.Difference, bool, error) {
	if visible := b.visible(); visible != nil {
		return visible.FirstOther(addr, value, size)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if uint64(len(b.buffer)) < size {
		b.buffer = make([]byte, size)
	}
	found := b.buffer[:size]
	stream := b.dev.DefaultStream()
	if err := stream.CopyToHost(device.HostAddr(dl.Pointer(&found[0])), addr, size); err != nil {
		return device.Difference{}, false, err
	}
	if err := stream.Synchronize(device.Forever); err != nil {
		return device.Difference{}, false, err
	}
	if found[0] == value && bytes.Equal(found[1:], found[:size-1]) {
		return device.Difference{}, false, nil
	}
	for i, other := range found {
		if other != value {
			return device.Difference{OffsetBytes: uint64(i), Found: other}, true, nil
		}
	}
	return device.Difference{}, false, nil
}

// edgeBytes is the number of bytes that Edges reads at each end of a range when reads are
// copies.
const edgeBytes = 4 << 10

// Edges is like FirstOther, for checks that are often repeated. When reads are copies, it
// checks only both ends of the range.
func (b *Bytes) Edges(addr device.Addr, value byte, size uint64) (device.Difference, bool, error) {
	if b.visible() != nil || size <= 2*edgeBytes {
		return b.FirstOther(addr, value, size)
	}
	found, differs, err := b.FirstOther(addr, value, edgeBytes)
	if differs || err != nil {
		return found, differs, err
	}
	found, differs, err = b.FirstOther(addr+device.Addr(size-edgeBytes), value, edgeBytes)
	found.OffsetBytes += size - edgeBytes
	return found, differs, err
}
