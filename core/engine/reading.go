package engine

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

// pastReading is what the device said, when, and what was had from it then.
type pastReading struct {
	device.MemoryReading
	at   time.Duration
	held uint64
}

// read asks the device and keeps what it says.
func (e *Engine) read() (device.MemoryReading, error) {
	e.mu.Peek()
	held := e.held
	e.mu.Unlock()
	reading, err := e.dev.Memory()
	if err != nil {
		return device.MemoryReading{}, err
	}
	past := &pastReading{MemoryReading: reading, at: track.Now(), held: held}
	e.mu.Lock()
	e.last.Store(past)
	e.mu.Unlock()
	return reading, nil
}

// now is the reading brought up to date with what is held now.
func (r *pastReading) now(held uint64) device.MemoryReading {
	reading := r.MemoryReading
	if held >= r.held {
		reading.FreeBytes -= min(held-r.held, reading.FreeBytes)
		return reading
	}
	reading.FreeBytes = saturatingAdd(reading.FreeBytes, r.held-held)
	if reading.TotalBytes != 0 {
		reading.FreeBytes = min(reading.FreeBytes, reading.TotalBytes)
	}
	return reading
}

// briefed is a pool that can give the present values of its books without
// stopping anybody who is at work.
type briefed interface{ Brief() track.Brief }

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
	pools, held, headroom, closed := e.pools.All(), e.held, e.headroom(), e.closed
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
	e.fill(&info, last.now(held), headroom, books)
	info.ReadingAge = max(age, 1)
	return info, nil
}
