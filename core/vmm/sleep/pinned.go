package sleep

import (
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

// Contents in page-locked memory wake at the speed of the device's link, because the
// device reads them without the processor. The system can neither swap nor move such
// memory, and the kernel does not count what a driver allocates against the limits of a
// control group. So all sleeping contents of the process together lock at most half of the
// machine's memory. The other contents are in pageable memory. A device that locks ordinary
// memory, which the kernel counts, keeps below these limits itself.

// lockedBudget bounds the page-locked memory of all transfers and kept contents.
type lockedBudget struct {
	mu sync.Mutex
	// limit is 0 until the first call of admit.
	limit, used uint64
}

var lockedMemory lockedBudget

// LockedBytes returns the size of the page-locked memory that the kept contents and the
// staging buffers of the process hold now.
func LockedBytes() uint64 {
	lockedMemory.mu.Lock()
	defer lockedMemory.mu.Unlock()
	return lockedMemory.used
}

// admit counts more bytes, or returns CodeResourceExhausted.
func (b *lockedBudget) admit(bytes uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit == 0 {
		b.limit = lockedLimit()
	}
	if b.used+bytes > b.limit {
		return device.Errorf(device.CodeResourceExhausted, "vmm.sleep",
			"%v more would make %v of page-locked memory for sleeping contents, above half of the machine's memory, %v",
			device.Size(bytes), device.Size(b.used+bytes), device.Size(b.limit))
	}
	b.used += bytes
	return nil
}

func (b *lockedBudget) release(bytes uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= bytes
}

// pinnedOf returns the function that allocates page-locked memory for a device; nil if
// the device has none, or if the host can address its memory: then the processor copies,
// and page-locked memory is not faster.
func pinnedOf(dev device.Device) func(uint64) (*Block, error) {
	pinned, is := dev.(device.PinnedHost)
	if info := dev.Info(); !is || !info.PinnedHost || info.HostAddressable {
		return nil
	}
	return func(bytes uint64) (*Block, error) {
		return TakePinned(dev, pinned, bytes, func(at device.HostAddr, size uint64) []byte {
			return offheap.View(uintptr(at), int(size))
		})
	}
}

// TakePinned allocates page-locked memory of at least that many bytes. view returns the
// memory at an address of the process.
func TakePinned(dev device.Device, pinned device.PinnedHost, bytes uint64, view func(device.HostAddr, uint64) []byte) (*Block, error) {
	unit := dev.Info().GranularityBytes
	size := (bytes + unit - 1) / unit * unit
	if err := lockedMemory.admit(size); err != nil {
		return nil, err
	}
	made, err := pinned.AllocPinned(size)
	if err != nil {
		lockedMemory.release(size)
		return nil, err
	}
	return &Block{Addr: made.HostAddr, Bytes: view(made.HostAddr, size), Locked: true, Free: func() error {
		err := pinned.FreePinned(made.Addr, size)
		if err == nil {
			lockedMemory.release(size)
		}
		return err
	}}, nil
}
