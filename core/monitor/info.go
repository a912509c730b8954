package monitor

import (
	"errors"
	"math/bits"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pressure"
)

// DeviceInfo describes one device of a monitor.
type DeviceInfo struct {
	Device device.ID
	Engine *engine.Engine
	// Managers is the number of its registered managers.
	Managers int
	// Memory is the last information of a successful query. Err is the reason why there
	// is no newer one, and Known states whether there is any.
	Memory engine.MemoryInfo
	Err    error
	Known  bool
	// Level is the higher of ByBytes, which has hysteresis, and BySystem.
	Level, ByBytes, BySystem pressure.Level
	// System is the system's own pressure; nil when the device has none.
	System *device.SystemPressure
}

// Summary is the pressure of all devices together.
type Summary struct {
	// Level is the highest level of the devices; Low without devices.
	Level pressure.Level
	// WeightedLevel is the level of all known bytes together, without hysteresis.
	WeightedLevel pressure.Level
	// Devices is the number of devices, Unknown the number of those whose capacity is
	// not known or whose query failed.
	Devices, Unknown int
	// TotalBytes and UsedBytes (total - free) are sums over the known devices; a sum
	// above 2^64-1 is reported as 2^64-1.
	TotalBytes, UsedBytes uint64
}

// Info returns the present information of every device, in order of registration, from
// readings that are at most maxAge old; 0 or less queries the devices and the system. A
// device whose query fails is included with its error and its last information.
func (m *Monitor) Info(maxAge time.Duration) []DeviceInfo {
	var infos []DeviceInfo
	for _, w := range m.listWatched() {
		infos = append(infos, m.infoOf(w, maxAge))
	}
	return infos
}

func (m *Monitor) infoOf(w *watched, maxAge time.Duration) DeviceInfo {
	memory, err := w.engine.RecentMemoryInfo(maxAge)
	if err == nil && memory.ReadingAge == 0 {
		// This makes the engine's own watch read what other processes have changed.
		w.engine.SegmentsChanged()
	}
	m.systemWithin(w, maxAge)
	level, listening := w.engine.PressureLevel(m.config.Profile)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		w.memory, w.known = memory, true
	}
	if listening = listening && m.callback != nil; !listening {
		if err == nil {
			used := memory.TotalBytes - min(memory.FreeBytes, memory.TotalBytes)
			w.bytes = m.config.Profile.Bounds(memory.TotalBytes).Next(w.bytes, used)
		}
		level = w.bytes
	}
	return DeviceInfo{
		Device: w.engine.ID(), Engine: w.engine, Managers: w.managers,
		Memory: w.memory, Err: err, Known: w.known,
		Level: max(level, w.system), ByBytes: level, BySystem: w.system, System: w.reading,
	}
}

// Pressure returns the pressure of all devices together, from readings that are at most
// maxAge old.
func (m *Monitor) Pressure(maxAge time.Duration) Summary { return m.Summarize(m.Info(maxAge)) }

// Summarize returns the pressure of those devices together.
func (m *Monitor) Summarize(infos []DeviceInfo) Summary {
	s := Summary{Devices: len(infos)}
	var total, used sum
	for _, info := range infos {
		s.Level = max(s.Level, info.Level)
		if !info.Known || info.Memory.TotalBytes == 0 {
			s.Unknown++
			continue
		}
		total.add(info.Memory.TotalBytes)
		used.add(info.Memory.TotalBytes - min(info.Memory.FreeBytes, info.Memory.TotalBytes))
	}
	s.TotalBytes, s.UsedBytes = total.saturated(), used.saturated()
	// Halve both until they fit. The share stays the same, except for the lost low
	// bits.
	for total.high > 0 {
		total.halve()
		used.halve()
	}
	s.WeightedLevel = m.config.Profile.LevelOf(total.low, total.low-min(used.low, total.low))
	return s
}

// sum is a sum that cannot overflow.
type sum struct{ high, low uint64 }

func (s *sum) add(n uint64) {
	var carry uint64
	s.low, carry = bits.Add64(s.low, n, 0)
	s.high += carry
}

func (s *sum) halve() {
	s.low = s.low>>1 | s.high<<63
	s.high >>= 1
}

func (s *sum) saturated() uint64 {
	if s.high > 0 {
		return ^uint64(0)
	}
	return s.low
}

// Collected is the result of a collection on one device.
type Collected struct {
	Device device.ID
	Engine *engine.Engine
	// Managers is the number of collected managers. Stats has the sums over them,
	// except the fragmentation, which is the highest.
	Managers int
	Stats    manager.DefragmentationStats
	// Err is the error, or nil; the other managers were still collected.
	Err error
}

// Collect defragments every registered manager, one after another. It skips a manager
// that is closed during the call, and a device without managers. The error joins those
// of the devices.
func (m *Monitor) Collect() ([]Collected, error) {
	m.mu.Lock()
	entries := m.entries.Copy()
	m.mu.Unlock()
	var done []Collected
	of := func(e *engine.Engine) *Collected {
		for i := range done {
			if done[i].Engine == e {
				return &done[i]
			}
		}
		done = append(done, Collected{Device: e.ID(), Engine: e})
		return &done[len(done)-1]
	}
	var failures []error
	for _, entry := range entries {
		stats, err := entry.manager.Defragment()
		if errors.Is(err, device.CodeInvalidHandle) {
			continue
		}
		c := of(entry.manager.Engine())
		c.Managers++
		c.add(stats)
		if err != nil {
			c.Err = errors.Join(c.Err, err)
			failures = append(failures, err)
		}
	}
	return done, errors.Join(failures...)
}

func (c *Collected) add(s manager.DefragmentationStats) {
	sum := &c.Stats
	sum.FragmentationBefore = max(sum.FragmentationBefore, s.FragmentationBefore)
	sum.FragmentationAfter = max(sum.FragmentationAfter, s.FragmentationAfter)
	sum.MemoryFreedBytes += s.MemoryFreedBytes
	sum.BlocksMoved += s.BlocksMoved
	sum.BlocksSkipped += s.BlocksSkipped
	sum.TimeTakenNs += s.TimeTakenNs
	sum.TimeTakenMs += s.TimeTakenMs
	sum.BytesMoved += s.BytesMoved
	sum.PagesEmptied += s.PagesEmptied
	sum.SegmentsEmptied += s.SegmentsEmptied
	sum.BlocksKept += s.BlocksKept
	sum.Skipped.NotRelocatable += s.Skipped.NotRelocatable
	sum.Skipped.Debugged += s.Skipped.Debugged
	sum.Skipped.Pinned += s.Skipped.Pinned
	sum.Skipped.InUse += s.Skipped.InUse
	sum.Skipped.NoRoom += s.Skipped.NoRoom
	sum.Skipped.OverBudget += s.Skipped.OverBudget
	sum.Skipped.Mapped += s.Skipped.Mapped
	sum.BudgetEnded = sum.BudgetEnded || s.BudgetEnded
}
