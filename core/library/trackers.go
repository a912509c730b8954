package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
)

// BufferRecord is a tracker's record of a buffer, with the handle of its device.
type BufferRecord struct {
	ID                     fallback.BufferID
	SizeBytes, NumElements uint64
	Age                    time.Duration
	Side                   fallback.Side
	// Device is 0 if the device is not known or is closed by now.
	Device uint64
	Tag    string
}

// TrackerTotals has the totals of a tracker.
type TrackerTotals struct{ Count, TotalBytes, PeakBytes uint64 }

// TrackerCreate creates an empty tracker. It belongs to no device.
func (l *Library) TrackerCreate() (uint64, error) {
	const op = "tracker.create"
	// The stop of the library has already listed the objects, so no object may be
	// created then.
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	return l.insertTracker(fallback.NewAllocationTracker(), nil)
}

// mayChange returns an error if callers may only read the tracker.
func (t *Tracker) mayChange(op string) error {
	if t.owner != nil {
		return device.Errorf(device.CodeInvalidState, op,
			"tracker handle %#x belongs to a manager or a pool and can only be read", t.id())
	}
	return nil
}

// Destroy destroys the tracker. A tracker of a manager or a pool ends with its owner
// instead.
func (t *Tracker) Destroy() error {
	if err := t.mayChange("tracker.destroy"); err != nil {
		return CallError(err, t)
	}
	_, err := t.library.registry.trackers.Remove(t.id())
	return err
}

// Track adds a buffer like fallback.AllocationTracker.Track.
func (t *Tracker) Track(r BufferRecord) error {
	const op = "tracker.track"
	if err := t.mayChange(op); err != nil {
		return err
	}
	if err := r.Side.Check(op); err != nil {
		return err
	}
	m := fallback.NewBufferMetadata(r.ID, fallback.Extent{SizeBytes: r.SizeBytes, NumElements: r.NumElements},
		fallback.BufferLocation{Side: r.Side}).WithTag(r.Tag)
	m.AllocatedAt -= r.Age
	if r.Device != 0 {
		d, err := t.library.registry.devices.Get(r.Device)
		if err != nil {
			return err
		}
		m.Location.Device = d.ID()
	}
	return t.tracker.Track(m)
}

// record converts a tracker's record for callers.
func (l *Library) record(m fallback.BufferMetadata) BufferRecord {
	r := BufferRecord{
		ID: m.ID, SizeBytes: m.SizeBytes, NumElements: m.NumElements, Age: m.Age(), Side: m.Location.Side, Tag: m.Tag,
	}
	if m.Location.Device.Backend != "" {
		l.mu.Lock()
		defer l.mu.Unlock()
		if d := l.opened[m.Location.Device]; d != nil {
			r.Device = d.handle.Load()
		}
	}
	return r
}

func (l *Library) records(all []fallback.BufferMetadata) []BufferRecord {
	made := make([]BufferRecord, len(all))
	for i, m := range all {
		made[i] = l.record(m)
	}
	return made
}

// Untrack removes a buffer. It returns CodeNotFound for an unknown buffer.
func (t *Tracker) Untrack(buffer fallback.BufferID) (BufferRecord, error) {
	const op = "tracker.untrack"
	if err := t.mayChange(op); err != nil {
		return BufferRecord{}, err
	}
	m, ok := t.tracker.Untrack(buffer)
	if !ok {
		return BufferRecord{}, notTracked(op, buffer)
	}
	return t.library.record(m), nil
}

// Get returns the record of a buffer. It returns CodeNotFound for an unknown buffer.
func (t *Tracker) Get(buffer fallback.BufferID) (BufferRecord, error) {
	m, ok := t.tracker.Get(buffer)
	if !ok {
		return BufferRecord{}, notTracked("tracker.get", buffer)
	}
	return t.library.record(m), nil
}

func notTracked(op string, buffer fallback.BufferID) error {
	return device.Errorf(device.CodeNotFound, op, "%v is not tracked", buffer)
}

// All lists the buffers, the oldest first.
func (t *Tracker) All() []BufferRecord { return t.library.records(t.tracker.AllAllocations()) }

// FindOld lists the buffers that are strictly older than an age, the oldest first.
func (t *Tracker) FindOld(age time.Duration) []BufferRecord {
	return t.library.records(t.tracker.FindOldAllocations(age))
}

// Totals returns the totals of the tracker.
func (t *Tracker) Totals() TrackerTotals {
	known := t.tracker
	return TrackerTotals{Count: uint64(known.Count()), TotalBytes: known.TotalBytes(), PeakBytes: known.PeakBytes()}
}

// Clear removes all buffers.
func (t *Tracker) Clear() error {
	if err := t.mayChange("tracker.clear"); err != nil {
		return err
	}
	t.tracker.Clear()
	return nil
}
