package engine

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

// pastReading is a reading of the device, its time, and the bytes that were held then.
type pastReading struct {
	device.MemoryReading
	at   time.Duration
	held uint64
}

// read queries the device and stores the reading.
func (e *Engine) read() (device.MemoryReading, error) {
	e.mu.LockToRead()
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

// now returns the reading adjusted to the bytes that are held now.
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
