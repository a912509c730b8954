package engine

import (
	"time"

	"ferrum_mem/core/pressure"
	"ferrum_mem/core/track"
)

// MemoryInfo describes the memory of a device at one moment. If the total is known,
// used + free + reserved = total.
type MemoryInfo struct {
	// TotalBytes is the most memory that this library may hold: LimitBytes, or
	// DeviceTotalBytes if there is no limit or the device has less. Utilization and
	// pressure are computed from it. 0 means unknown, and ReservedBytes is then 0.
	TotalBytes uint64 `json:"total_bytes"`
	// UsedBytes counts blocks that are live or in flight, and unusable bytes. It is
	// never above TotalBytes, even if the limit was lowered below the bytes in use.
	UsedBytes uint64 `json:"used_bytes"`
	// FreeBytes counts the bytes that can still be allocated: free on the device within
	// the limit, and cached here.
	FreeBytes uint64 `json:"free_bytes"`
	// ReservedBytes is the rest of TotalBytes. It cannot be allocated, because the
	// driver or other processes hold that much of the device.
	ReservedBytes     uint64 `json:"reserved_bytes"`
	ActiveAllocations uint64 `json:"active_allocations"`
	// LargestFreeBytes is the longest free run that can be allocated now: of the cached
	// memory, or of the free memory of the device within the limit.
	LargestFreeBytes uint64 `json:"largest_free_bytes"`
	// FragmentationRatio is 1 - largest free run / total free, over the memory
	// allocated from the driver; 0 if nothing is free.
	FragmentationRatio float32 `json:"fragmentation_ratio"`
	// BandwidthGBps is 10^9 bytes copied per second; nil: not measured.
	BandwidthGBps *float32 `json:"bandwidth_gbps"`
	// Pressure is the present level, without hysteresis.
	Pressure pressure.Level `json:"pressure"`
	// ReadingAge is the age of the device's reading. Later allocations and releases of
	// this library are added to the reading.
	ReadingAge time.Duration `json:"reading_age_ns"`
	// LimitBytes is the limit of the device; 0: none.
	LimitBytes uint64 `json:"limit_bytes"`
	// DeviceTotalBytes and DeviceFreeBytes are the device's own numbers, without the
	// limit and with the use of all processes. A total of 0 means unknown.
	DeviceTotalBytes uint64 `json:"device_total_bytes"`
	DeviceFreeBytes  uint64 `json:"device_free_bytes"`
}

// Bandwidth returns BandwidthGBps, or 0 if it is not known.
func (i *MemoryInfo) Bandwidth() float32 {
	if i.BandwidthGBps == nil {
		return 0
	}
	return *i.BandwidthGBps
}

// UtilizationPercent returns used / total * 100, for display; 0 if the total is
// unknown.
func (m MemoryInfo) UtilizationPercent() float32 {
	if m.TotalBytes == 0 {
		return 0
	}
	return float32(float64(m.UsedBytes) / float64(m.TotalBytes) * 100)
}

// PressureLevel returns the level of (total - free) / total, computed in integers.
func (m MemoryInfo) PressureLevel() pressure.Level {
	return pressure.LevelOf(m.TotalBytes, m.FreeBytes)
}

// MemoryInfo queries the device and combines its reading with the counters.
func (e *Engine) MemoryInfo() (info MemoryInfo, err error) {
	reading, err := e.read()
	if err != nil {
		return info, err
	}
	e.mu.LockToRead()
	room := roomOf(reading, e)
	e.mu.Unlock()
	info.fill(room, e.Statistics().Brief(), e.bandwidth.measured.Load())
	return info, nil
}

// fill combines the room in the device and the counters in one record. It writes to the
// caller's record, because returning the record took longer than computing it, and this
// call has to be short.
func (info *MemoryInfo) fill(room room, counters track.Brief, measured *float64) {
	total, available := room.totalBytes, room.availableBytes
	used := counters.ActiveBytes + counters.UnusableBytes
	free := saturatingAdd(available, counters.CachedBytes)
	largest := max(counters.LargestFreeBytes, available)
	if total != 0 {
		// The reading and the counters are of two moments, and a driver may round.
		// Reduce the values, so that the sum is always right.
		used = min(used, total)
		free = min(free, total-used)
		largest = min(largest, free)
		info.ReservedBytes = total - used - free
	}
	info.TotalBytes, info.UsedBytes, info.FreeBytes, info.LargestFreeBytes = total, used, free, largest
	info.LimitBytes = room.limitBytes
	info.DeviceTotalBytes, info.DeviceFreeBytes = room.device.TotalBytes, room.device.FreeBytes
	info.ActiveAllocations = counters.LiveBlocks
	info.FragmentationRatio = counters.Fragmentation()
	info.Pressure = pressure.LevelOf(total, free)
	if measured != nil {
		gbps := float32(*measured)
		info.BandwidthGBps = &gbps
	}
}

// Statistics returns the counters of the device: the sum over its pools, including the
// counts of closed pools. Peaks are peaks of the sum, not the sum of the peaks.
func (e *Engine) Statistics() track.Statistics {
	e.mu.LockToRead()
	sum := e.retired
	pools := e.pools.All()
	e.mu.Unlock()
	for p := range pools {
		sum = sum.Plus(p.Statistics())
	}
	return e.totals.WithPeaks(sum)
}

// Tags returns the use by tag over all pools, the largest first.
func (e *Engine) Tags() []track.TagUse {
	var uses []track.TagUse
	for _, p := range e.Pools(nil) {
		uses = append(uses, p.Tags()...)
	}
	return track.SumTags(uses)
}

// AddAsleep counts the memory that a space keeps while it is asleep.
func (e *Engine) AddAsleep(a Asleep) { e.asleep.add(a) }

// RemoveAsleep undoes AddAsleep.
func (e *Engine) RemoveAsleep(a Asleep) { e.asleep.remove(a) }

// Asleep returns what all sleeping spaces of this device keep elsewhere. It is not part
// of Statistics, which counts the device's own memory.
func (e *Engine) Asleep() Asleep { return e.asleep.sum() }

func saturatingAdd(a, b uint64) uint64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return ^uint64(0)
}

// RecentMemoryInfo returns a MemoryInfo from the counters and a reading of the device
// that is at most maxAge old; 0 or less queries the device. It does not include what
// thread caches did since they last called their pool; MemoryInfo does.
func (e *Engine) RecentMemoryInfo(maxAge time.Duration) (info MemoryInfo, err error) {
	last := e.last.Load()
	if last == nil || maxAge <= 0 {
		return e.MemoryInfo()
	}
	age := track.Now() - last.at
	if age > maxAge {
		return e.MemoryInfo()
	}
	e.mu.LockToRead()
	pools, room, closed := e.pools.All(), roomOf(last.now(e.held), e), e.closed
	e.mu.Unlock()
	if closed {
		return info, e.closedError("engine.memory_info")
	}
	var counters track.Brief
	for p := range pools {
		if b, ok := p.(briefed); ok {
			counters = counters.Plus(b.Brief())
		} else {
			counters = counters.Plus(p.Statistics().Brief())
		}
	}
	info.fill(room, counters, e.bandwidth.measured.Load())
	info.ReadingAge = max(age, 1)
	return info, nil
}
