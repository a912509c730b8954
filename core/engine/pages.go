package engine

import (
	"math/bits"

	"ferrum_mem/core/device"
)

// VirtualMemory returns the virtual memory capability of the device, or
// CodeUnsupported.
func (e *Engine) VirtualMemory() (device.VirtualMemory, error) {
	virtual, ok := e.dev.(device.VirtualMemory)
	if !ok || !e.info.VirtualMemory {
		return nil, device.Errorf(device.CodeUnsupported, "engine.virtual_memory",
			"the device %q has no virtual memory", e.info.Name).On(e.ID())
	}
	return virtual, nil
}

// CreatePages fills pages with new physical pages of pageBytes each, all of them or
// none. They read as zeros if they are filled, otherwise their contents are undefined
// (device.UnfilledCreator). They count against the limit like segments. It returns
// CodeOutOfMemory if the device or the limit has no room for them; it does not reclaim
// cached memory.
func (e *Engine) CreatePages(pages []device.Page, pageBytes uint64, backing device.Backing, filled bool) error {
	virtual, err := e.VirtualMemory()
	if err != nil {
		return err
	}
	create := virtual.Create
	if quick, is := e.dev.(device.UnfilledCreator); is && !filled {
		create = quick.CreateUnfilled
	}
	carry, size := bits.Mul64(pageBytes, uint64(len(pages)))
	if carry != 0 {
		return device.Errorf(device.CodeOverflow, "engine.create_pages", "%s of %v overflow",
			device.Count(len(pages), "page"), device.Size(pageBytes)).On(e.ID())
	}
	e.discards.retry()
	if err := e.chargePages(size, uint64(len(pages)), pageBytes); err != nil {
		return err
	}
	if err := create(pages, pageBytes, backing); err != nil {
		e.NoteRefusal(err)
		e.discharge(size)
		return err
	}
	return nil
}

// ReleasePages releases pages of pageBytes each. If it fails all of them are still
// held.
func (e *Engine) ReleasePages(pages []device.Page, pageBytes uint64) error {
	virtual, err := e.VirtualMemory()
	if err != nil {
		return err
	}
	if err := virtual.Release(pages); err != nil {
		return err
	}
	e.discharge(pageBytes * uint64(len(pages)))
	return nil
}

// chargePages counts size bytes of pages if the limit allows all of them.
func (e *Engine) chargePages(size, pages, pageBytes uint64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return e.closedError("engine.create_pages")
	}
	if e.headroom() < size {
		return device.Errorf(device.CodeOutOfMemory, "engine.create_pages",
			"%s of %v: the limit of the device is %v and %v are held",
			device.Count(pages, "page"), device.Size(pageBytes), device.Size(e.limit.Load()), device.Size(e.held)).On(e.ID()).Stating(device.FactRequestedBytes, size).
			Stating(device.FactAvailableBytes, e.headroom())
	}
	after, carry := bits.Add64(e.held, size, 0)
	if carry != 0 {
		return device.Errorf(device.CodeOverflow, "engine.create_pages",
			"%s of %v: with the %v held that overflows", device.Count(pages, "page"), device.Size(pageBytes), device.Size(e.held)).On(e.ID())
	}
	e.held = after
	return nil
}

// MayWait reports whether the calling thread may wait for queued work.
func (e *Engine) MayWait() bool { return e.mayWait() }
