package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm"
)

// DeviceGetPageSizes is what pages virtual pools of a device may have; a device
// without virtual memory is CodeUnsupportedDevice.
func (l *Library) DeviceGetPageSizes(id uint64) (device.Granularity, error) {
	const op = "device.page_sizes"
	d, err := find(l, l.devices, op, id)
	if err != nil {
		return device.Granularity{}, err
	}
	virtual, err := d.engine.VirtualMemory()
	if err != nil {
		return device.Granularity{}, late(device.Errorf(device.CodeUnsupportedDevice, op, "%w", err), d)
	}
	sizes := virtual.Granularity()
	return device.Granularity{
		MinimumBytes:     max(sizes.MinimumBytes, vmm.MinPageBytes),
		RecommendedBytes: max(sizes.RecommendedBytes, vmm.MinPageBytes),
	}, nil
}

// VPoolCreate makes a virtual pool on a device.
func (l *Library) VPoolCreate(deviceID uint64, c vmm.Config) (uint64, error) {
	return create(l, l.vpools, "vpool.create", deviceID, func(d *openDevice) (*openVPool, error) {
		made, err := vmm.NewPool(d.engine, c)
		return &openVPool{pool: made, device: d}, err
	}, func(_ uint64, p *openVPool) {
		l.log.printf(LogDebug, "%v: virtual pool %q made, %d bytes in pages of %d", p.device.engine.ID(), c.Name,
			p.pool.CapacityBytes(), p.pool.PageBytes())
	})
}

// VPoolDestroy destroys a virtual pool and gives its memory and address space
// back, after the work that uses freed ranges. While ranges are mapped it is
// CodeBusy, unless forced.
func (l *Library) VPoolDestroy(id uint64, force bool) error {
	return destroy(l, l.vpools, "vpool.destroy", id, force)
}

// RangeRequest is a range, as asked for.
type RangeRequest struct {
	vmm.AllocRequest
	// StreamHandle takes the place of Stream: what uses the range first; 0: the default
	// stream.
	StreamHandle uint64
}

// VPoolAlloc is VPoolAllocWith for a range of which nothing else is asked for.
func (l *Library) VPoolAlloc(id uint64, r ByteRange) (device.Addr, error) {
	return l.VPoolAllocWith(id, RangeRequest{AllocRequest: vmm.AllocRequest{OffsetBytes: r.OffsetBytes, SizeBytes: r.SizeBytes}})
}

// VPoolAllocWith maps memory behind every page that a range touches, and gives the
// address of its offset.
func (l *Library) VPoolAllocWith(id uint64, r RangeRequest) (device.Addr, error) {
	const op = "vpool.alloc"
	entry, err := find(l, l.vpools, op, id)
	if err != nil {
		return 0, err
	}
	if r.Stream, err = l.streamOrDefault(op, r.StreamHandle, entry.device); err != nil {
		return 0, err
	}
	addr, err := entry.pool.AllocTagged(r.AllocRequest)
	return addr, late(err, entry)
}

// ByteRange is a range of a virtual pool, or of a model's address space.
type ByteRange struct{ OffsetBytes, SizeBytes uint64 }

// VPoolFree takes the memory of a range away once the work is done that is queued
// now on the streams that use it and on the one named here (0: the default one).
func (l *Library) VPoolFree(id uint64, r ByteRange, stream uint64) error {
	const op = "vpool.free"
	entry, err := find(l, l.vpools, op, id)
	if err != nil {
		return err
	}
	last, err := l.streamOrDefault(op, stream, entry.device)
	if err != nil {
		return err
	}
	return l.lateOn(stream, entry.pool.Free(r.OffsetBytes, r.SizeBytes, orDefault(last, entry.device)), entry)
}

// orDefault is the default stream of a device instead of none.
func orDefault(stream device.Stream, d *openDevice) device.Stream {
	if stream == nil {
		return d.engine.Device().DefaultStream()
	}
	return stream
}

// VPoolRecordStream says that a stream (0: the default one) uses a range too.
func (l *Library) VPoolRecordStream(id uint64, r ByteRange, stream uint64) error {
	const op = "vpool.record_stream"
	entry, err := find(l, l.vpools, op, id)
	if err != nil {
		return err
	}
	user, err := l.streamOrDefault(op, stream, entry.device)
	if err != nil {
		return err
	}
	return late(entry.pool.RecordStream(r.OffsetBytes, r.SizeBytes, user), entry)
}

// VPoolIsMapped says whether every page that a range touches is mapped.
func (l *Library) VPoolIsMapped(id uint64, r ByteRange) (bool, error) {
	return tell(l, l.vpools, "vpool.is_mapped", id, func(p *openVPool) bool { return p.pool.IsMapped(r.OffsetBytes, r.SizeBytes) })
}

// VPoolInfo describes a virtual pool.
type VPoolInfo struct {
	vmm.Stats
	// BaseAddress is where its address space starts.
	BaseAddress device.Addr
}

// VPoolGetInfo describes a virtual pool.
func (l *Library) VPoolGetInfo(id uint64) (VPoolInfo, error) {
	return tell(l, l.vpools, "vpool.info", id, func(p *openVPool) VPoolInfo {
		return VPoolInfo{Stats: p.pool.Stats(), BaseAddress: p.pool.BaseAddress()}
	})
}

// VPoolGetStatistics is the books of a virtual pool.
func (l *Library) VPoolGetStatistics(id uint64) (track.Statistics, error) {
	return tell(l, l.vpools, "vpool.statistics", id, func(p *openVPool) track.Statistics { return p.pool.Physical().Statistics() })
}

// VPoolCompact brings together what nobody uses.
func (l *Library) VPoolCompact(id uint64) (vmm.CompactReport, error) {
	return ask(l, l.vpools, "vpool.compact", id, func(p *openVPool) (vmm.CompactReport, error) { return p.pool.Compact() })
}

// VPoolTrim gives free pages back to the device until at most keepBytes of them are
// held, and says how much was given.
func (l *Library) VPoolTrim(id, keepBytes uint64) (releasedBytes uint64, err error) {
	return ask(l, l.vpools, "vpool.trim", id, func(p *openVPool) (uint64, error) { return p.pool.Physical().Trim(keepBytes / p.pool.PageBytes()) })
}

// VPoolSetLimit changes the limit of a virtual pool; 0: what the device has.
func (l *Library) VPoolSetLimit(id, limitBytes uint64) error {
	return do(l, l.vpools, "vpool.set_limit", id, func(p *openVPool) error { return p.pool.SetLimit(limitBytes) })
}

// VPoolSynchronize waits until no range is retiring any more, at most timeout
// (device.Forever: no limit, 0: only asks), else CodeTimeout.
func (l *Library) VPoolSynchronize(id uint64, timeout time.Duration) error {
	return do(l, l.vpools, "vpool.synchronize", id, func(p *openVPool) error { return awaitFlights(p.pool.Physical(), timeout) })
}

// awaitFlights waits until nothing of a stock of pages is retiring.
func awaitFlights(ph *vmm.Physical, timeout time.Duration) error {
	start := track.Now()
	for {
		left := timeout
		if timeout != device.Forever {
			left = max(timeout-(track.Now()-start), 0)
		}
		if more, err := ph.WaitForFlight(left); err != nil || !more {
			return err
		}
	}
}

// VPoolPause has the worker of a virtual pool make no more pages ready.
func (l *Library) VPoolPause(id uint64) error {
	return do(l, l.vpools, "vpool.pause", id, func(p *openVPool) error {
		p.pool.Physical().Pause()
		return nil
	})
}

// VPoolResume ends a VPoolPause.
func (l *Library) VPoolResume(id uint64) error {
	return do(l, l.vpools, "vpool.resume", id, func(p *openVPool) error {
		p.pool.Physical().Resume()
		return nil
	})
}
