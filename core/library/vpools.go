package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm"
)

// VPoolCreate makes a virtual pool on a device.
func (l *Library) VPoolCreate(deviceID uint64, c vmm.Config) (uint64, error) {
	return create(l, l.registry.vpools, "vpool.create", deviceID, func(d *Device) (*VPool, error) {
		made, err := vmm.NewPool(d.Engine, c)
		return &VPool{Pool: made, device: d}, err
	}, func(_ uint64, p *VPool) {
		l.log.printf(LogDebug, "%v: virtual pool %q made, %d bytes in pages of %d", p.device.Engine.ID(), c.Name,
			p.CapacityBytes(), p.PageBytes())
	})
}

// Destroy destroys the pool and gives its memory and address space back, after the work
// that uses freed ranges. While ranges are mapped it is CodeBusy, unless forced.
func (p *VPool) Destroy(force bool) error {
	return destroy(p.library.registry.vpools, "vpool.destroy", p, force)
}

// RangeRequest is a range, as asked for.
type RangeRequest struct {
	vmm.AllocRequest
	// StreamHandle takes the place of Stream: what uses the range first; 0: the default
	// stream.
	StreamHandle uint64
}

// ByteRange is a range of a virtual pool, or of a model's address space.
type ByteRange struct{ OffsetBytes, SizeBytes uint64 }

// Alloc is AllocWith for a range of which nothing else is asked for.
func (p *VPool) Alloc(r ByteRange) (device.Addr, error) {
	return p.AllocWith(RangeRequest{AllocRequest: vmm.AllocRequest{OffsetBytes: r.OffsetBytes, SizeBytes: r.SizeBytes}})
}

// AllocWith maps memory behind every page that a range touches, and gives the
// address of its offset.
func (p *VPool) AllocWith(r RangeRequest) (device.Addr, error) {
	var err error
	if r.Stream, err = p.library.registry.streamOrDefault("vpool.alloc", r.StreamHandle, p.device); err != nil {
		return 0, err
	}
	return p.AllocTagged(r.AllocRequest)
}

// Free takes the memory of a range away once the work is done that is queued
// now on the streams that use it and on the one named here (0: the default one).
func (p *VPool) Free(r ByteRange, stream uint64) error {
	last, err := p.library.registry.streamOrDefault("vpool.free", stream, p.device)
	if err != nil {
		return err
	}
	return p.library.registry.callErrorOn(stream, p.Pool.Free(r.OffsetBytes, r.SizeBytes, orDefault(last, p.device)), p)
}

// orDefault is the default stream of a device instead of none.
func orDefault(stream device.Stream, d *Device) device.Stream {
	if stream == nil {
		return d.Engine.Device().DefaultStream()
	}
	return stream
}

// RecordStream says that a stream (0: the default one) uses a range too.
func (p *VPool) RecordStream(r ByteRange, stream uint64) error {
	user, err := p.library.registry.streamOrDefault("vpool.record_stream", stream, p.device)
	if err != nil {
		return err
	}
	return p.Pool.RecordStream(r.OffsetBytes, r.SizeBytes, user)
}

// IsMapped says whether every page that a range touches is mapped.
func (p *VPool) IsMapped(r ByteRange) bool { return p.Pool.IsMapped(r.OffsetBytes, r.SizeBytes) }

// VPoolInfo describes a virtual pool.
type VPoolInfo struct {
	vmm.Stats
	// BaseAddress is where its address space starts.
	BaseAddress device.Addr
}

// Info describes the pool.
func (p *VPool) Info() VPoolInfo { return VPoolInfo{Stats: p.Stats(), BaseAddress: p.BaseAddress()} }

// Statistics is the books of the pool.
func (p *VPool) Statistics() track.Statistics { return p.Physical().Statistics() }

// Trim gives free pages back to the device until at most keepBytes of them are
// held, and says how much was given.
func (p *VPool) Trim(keepBytes uint64) (releasedBytes uint64, err error) {
	return p.Physical().Trim(keepBytes / p.PageBytes())
}

// Synchronize waits until no range is retiring any more, at most timeout
// (device.Forever: no limit, 0: only asks), else CodeTimeout.
func (p *VPool) Synchronize(timeout time.Duration) error { return awaitFlights(p.Physical(), timeout) }

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

// Pause has the worker of the pool make no more pages ready.
func (p *VPool) Pause() { p.Physical().Pause() }

// Resume ends a Pause.
func (p *VPool) Resume() { p.Physical().Resume() }
