package engine

import (
	"time"

	"ferrum_mem/core/pressure"
	"ferrum_mem/core/track"
)

// MemoryInfo is a device's memory at one moment. When the total is known,
// used + free + reserved = total.
type MemoryInfo struct {
	// TotalBytes is what this library may hold: LimitBytes, or DeviceTotalBytes
	// where there is no limit or the device has less. Utilization and pressure are
	// computed from it. 0 means unknown, and ReservedBytes is then 0.
	TotalBytes uint64 `json:"total_bytes"`
	// UsedBytes is blocks that are live or in use by queued work, and what
	// cannot be handed out. A limit that was lowered below that cuts it: it is never
	// above TotalBytes.
	UsedBytes uint64 `json:"used_bytes"`
	// FreeBytes can still be handed out: free in the device as far as the limit
	// allows, and cached here.
	FreeBytes uint64 `json:"free_bytes"`
	// ReservedBytes is the rest of TotalBytes: it cannot be had, because the driver or
	// other processes hold that much of the device.
	ReservedBytes     uint64 `json:"reserved_bytes"`
	ActiveAllocations uint64 `json:"active_allocations"`
	// LargestFreeBytes is the longest run that can be handed out as things are: of
	// what is cached, or of what is free in the device as far as the limit allows.
	LargestFreeBytes uint64 `json:"largest_free_bytes"`
	// FragmentationRatio is 1 - largest free run / total free, over what was
	// had from the driver; 0 when nothing is free.
	FragmentationRatio float32 `json:"fragmentation_ratio"`
	// BandwidthGBps is 10^9 bytes copied per second; nil: not measured.
	BandwidthGBps *float32 `json:"bandwidth_gbps"`
	// Pressure is the level of the moment, without hysteresis.
	Pressure pressure.Level `json:"pressure"`
	// ReadingAge is how long ago the device was asked; what this library has taken
	// and given back since is reckoned in.
	ReadingAge time.Duration `json:"reading_age_ns"`
	// LimitBytes is the limit of the device; 0: none.
	LimitBytes uint64 `json:"limit_bytes"`
	// DeviceTotalBytes and DeviceFreeBytes are what the device says of itself, without
	// the limit and with everybody's use. A total of 0 means unknown.
	DeviceTotalBytes uint64 `json:"device_total_bytes"`
	DeviceFreeBytes  uint64 `json:"device_free_bytes"`
}

// Bandwidth is BandwidthGBps, and 0 where that is not known.
func (i *MemoryInfo) Bandwidth() float32 {
	if i.BandwidthGBps == nil {
		return 0
	}
	return *i.BandwidthGBps
}

// UtilizationPercent is used / total * 100, for display; 0 when the total is
// unknown.
func (m MemoryInfo) UtilizationPercent() float32 {
	if m.TotalBytes == 0 {
		return 0
	}
	return float32(float64(m.UsedBytes) / float64(m.TotalBytes) * 100)
}

// PressureLevel is the level of (total - free) / total, decided in integers.
func (m MemoryInfo) PressureLevel() pressure.Level {
	return pressure.LevelOf(m.TotalBytes, m.FreeBytes)
}

// MemoryInfo asks the device for its reading and joins it with the books.
func (e *Engine) MemoryInfo() (info MemoryInfo, err error) {
	reading, err := e.read()
	if err != nil {
		return info, err
	}
	e.mu.Peek()
	room := roomOf(reading, e)
	e.mu.Unlock()
	info.fill(room, e.Statistics().Brief(), e.bandwidth.measured.Load())
	return info, nil
}

// fill makes one record of the room in the device and of the books. It writes where
// the caller has the record: for a call that has to be short, handing it from one to
// the next took longer than making it.
func (info *MemoryInfo) fill(room room, books track.Brief, measured *float64) {
	total, available := room.totalBytes, room.availableBytes
	used := books.ActiveBytes + books.UnusableBytes
	free := saturatingAdd(available, books.CachedBytes)
	largest := max(books.LargestFreeBytes, available)
	if total != 0 {
		// The reading and the books are of two moments, and a driver may round:
		// what does not fit is cut, so that the sum is always right.
		used = min(used, total)
		free = min(free, total-used)
		largest = min(largest, free)
		info.ReservedBytes = total - used - free
	}
	info.TotalBytes, info.UsedBytes, info.FreeBytes, info.LargestFreeBytes = total, used, free, largest
	info.LimitBytes = room.limitBytes
	info.DeviceTotalBytes, info.DeviceFreeBytes = room.device.TotalBytes, room.device.FreeBytes
	info.ActiveAllocations = books.LiveBlocks
	info.FragmentationRatio = books.Fragmentation()
	info.Pressure = pressure.LevelOf(total, free)
	if measured != nil {
		gbps := float32(*measured)
		info.BandwidthGBps = &gbps
	}
}

// Statistics is the books of the device: the sum over its pools, the counts of
// pools that are gone included. Peaks are of the sum, not the sum of peaks.
func (e *Engine) Statistics() track.Statistics {
	e.mu.Peek()
	sum := e.retired
	pools := e.pools.All()
	e.mu.Unlock()
	for p := range pools {
		sum = sum.Plus(p.Statistics())
	}
	return e.totals.WithPeaks(sum)
}

// Tags is the use by tag over all pools, the largest first.
func (e *Engine) Tags() []track.TagUse {
	var uses []track.TagUse
	for _, p := range e.Pools(nil) {
		uses = append(uses, p.Tags()...)
	}
	return track.SumTags(uses)
}

// AddAsleep enters what a space keeps while it sleeps.
func (e *Engine) AddAsleep(a Asleep) { e.asleep.add(a) }

// RemoveAsleep takes out what AddAsleep has entered.
func (e *Engine) RemoveAsleep(a Asleep) { e.asleep.remove(a) }

// Asleep is what all that sleeps on this device keeps elsewhere. It is no part of
// Statistics, which is about the device's own memory.
func (e *Engine) Asleep() Asleep { return e.asleep.sum() }

func saturatingAdd(a, b uint64) uint64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return ^uint64(0)
}

// RecentMemoryInfo is MemoryInfo from the books and a reading of the device that
// is no older than maxAge; 0 and less asks the device. Where a pool has thread
// caches, what other threads did to it since they last asked the pool is left
// out; MemoryInfo has it.
func (e *Engine) RecentMemoryInfo(maxAge time.Duration) (info MemoryInfo, err error) {
	last := e.last.Load()
	if last == nil || maxAge <= 0 {
		return e.MemoryInfo()
	}
	age := track.Now() - last.at
	if age > maxAge {
		return e.MemoryInfo()
	}
	e.mu.Peek()
	pools, room, closed := e.pools.All(), roomOf(last.now(e.held), e), e.closed
	e.mu.Unlock()
	if closed {
		return info, e.closedError("engine.memory_info")
	}
	var books track.Brief
	for p := range pools {
		if b, ok := p.(briefed); ok {
			books = books.Plus(b.Brief())
		} else {
			books = books.Plus(p.Statistics().Brief())
		}
	}
	info.fill(room, books, e.bandwidth.measured.Load())
	info.ReadingAge = max(age, 1)
	return info, nil
}
