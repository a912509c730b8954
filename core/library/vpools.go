package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm"
)

// VPoolCreate creates a virtual pool on a device.
func (l *Library) VPoolCreate(deviceID uint64, c vmm.Config) (uint64, error) {
	return create(l, l.registry.vpools, "vpool.create", deviceID, func(d *Device) (*VPool, error) {
		made, err := vmm.NewPool(d.Engine, c)
		return &VPool{Pool: made, device: d}, err
	}, func(_ uint64, p *VPool) {
		l.log.printf(LogDebug, "%v: virtual pool %q created, %v in pages of %v", p.device.Engine.ID(), c.Name,
			device.Size(p.CapacityBytes()), device.Size(p.PageBytes()))
	})
}

// Destroy destroys the pool and releases its memory and address space, after the work
// that uses freed ranges. Without force it returns CodeBusy while ranges are mapped.
func (p *VPool) Destroy(force bool) error {
	return destroy(p.library.registry.vpools, "vpool.destroy", p, force)
}

// RangeRequest is the request for a range.
type RangeRequest struct {
	vmm.AllocRequest
	// StreamHandle replaces Stream: the stream that uses the range first; 0: the
	// default stream.
	StreamHandle uint64
}

// ByteRange is a range of a virtual pool, or of a model's address space.
type ByteRange = vmm.ByteRange

// BatchRequest has the options that all allocations of a batch share.
type BatchRequest struct {
	vmm.BatchRequest
	// StreamHandle is as in RangeRequest.
	StreamHandle uint64
}

// Alloc is AllocWith for a range without further options.
func (p *VPool) Alloc(r ByteRange) (device.Addr, error) {
	return p.AllocWith(RangeRequest{AllocRequest: vmm.AllocRequest{OffsetBytes: r.OffsetBytes, SizeBytes: r.SizeBytes}})
}

// AllocWith maps memory for every page that a range touches, and returns the address of
// its offset.
func (p *VPool) AllocWith(r RangeRequest) (device.Addr, error) {
	var err error
	if r.Stream, err = p.library.registry.streamOrDefault("vpool.alloc", r.StreamHandle, p.device); err != nil {
		return 0, err
	}
	return p.AllocTagged(r.AllocRequest)
}

// Free frees the memory of a range, after the work that is queued now on the streams
// that use it and on the stream passed here (0: the default one).
func (p *VPool) Free(r ByteRange, stream uint64) error {
	last, err := p.library.registry.streamOrDefault("vpool.free", stream, p.device)
	if err != nil {
		return err
	}
	return p.library.registry.callErrorOn(stream, p.Pool.Free(r.OffsetBytes, r.SizeBytes, orDefault(last, p.device)), p)
}

// AllocBatch maps many ranges, or none.
func (p *VPool) AllocBatch(ranges []ByteRange, r BatchRequest) (err error) {
	if r.Stream, err = p.library.registry.streamOrDefault("vpool.alloc_batch", r.StreamHandle, p.device); err != nil {
		return err
	}
	return p.Pool.AllocBatch(ranges, r.BatchRequest)
}

// FreeBatch frees many ranges, or none.
func (p *VPool) FreeBatch(ranges []ByteRange, stream uint64) error {
	last, err := p.library.registry.streamOrDefault("vpool.free_batch", stream, p.device)
	if err != nil {
		return err
	}
	return p.library.registry.callErrorOn(stream, p.Pool.FreeBatch(ranges, orDefault(last, p.device)), p)
}

// orDefault returns the stream, or the default stream of the device for nil.
func orDefault(stream device.Stream, d *Device) device.Stream {
	if stream == nil {
		return d.Engine.Device().DefaultStream()
	}
	return stream
}

// RecordStream records that a stream (0: the default one) also uses a range.
func (p *VPool) RecordStream(r ByteRange, stream uint64) error {
	user, err := p.library.registry.streamOrDefault("vpool.record_stream", stream, p.device)
	if err != nil {
		return err
	}
	return p.Pool.RecordStream(r.OffsetBytes, r.SizeBytes, user)
}

// RecordStreamBatch records that a stream (0: the default one) also uses many ranges, or
// none.
func (p *VPool) RecordStreamBatch(ranges []ByteRange, stream uint64) error {
	user, err := p.library.registry.streamOrDefault("vpool.record_stream_batch", stream, p.device)
	if err != nil {
		return err
	}
	return p.Pool.RecordStreamBatch(ranges, user)
}

// IsMapped reports whether every page that a range touches is mapped.
func (p *VPool) IsMapped(r ByteRange) bool { return p.Pool.IsMapped(r.OffsetBytes, r.SizeBytes) }

// VPoolInfo describes a virtual pool.
type VPoolInfo struct {
	vmm.Stats
	// BaseAddress is the start of its address space.
	BaseAddress device.Addr
}

// Info describes the pool.
func (p *VPool) Info() VPoolInfo { return VPoolInfo{Stats: p.Stats(), BaseAddress: p.BaseAddress()} }

// Statistics returns the counters of the pool.
func (p *VPool) Statistics() track.Statistics { return p.Physical().Statistics() }

// Trim releases free pages to the device until at most keepBytes of them are held, and
// returns the released bytes.
func (p *VPool) Trim(keepBytes uint64) (releasedBytes uint64, err error) {
	return p.Physical().Trim(keepBytes / p.PageBytes())
}

// Synchronize waits until no range is retiring. It returns CodeTimeout if that takes
// longer than timeout (device.Forever: no limit, 0: no wait).
func (p *VPool) Synchronize(timeout time.Duration) error { return awaitFlights(p.Physical(), timeout) }

// awaitFlights waits until no range of a Physical is retiring.
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

// Pause stops the worker of the pool from making pages ready.
func (p *VPool) Pause() { p.Physical().Pause() }

// Resume ends a Pause.
func (p *VPool) Resume() { p.Physical().Resume() }
