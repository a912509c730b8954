package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
)

// BufferRecord is what a tracker knows of a buffer, with the handle of its device.
type BufferRecord struct {
	ID                     fallback.BufferID
	SizeBytes, NumElements uint64
	Age                    time.Duration
	Side                   fallback.Side
	// Device is 0 where none is known, or where it is closed by now.
	Device uint64
	Tag    string
}

// TrackerTotals is the numbers of a tracker.
type TrackerTotals struct{ Count, TotalBytes, PeakBytes uint64 }

// TrackerCreate makes a tracker that knows nothing. It belongs to no device.
func (l *Library) TrackerCreate() (uint64, error) {
	const op = "tracker.create"
	// Not while the library stops: it has listed what there is by then.
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	return l.insertTracker(fallback.NewAllocationTracker(), nil)
}

// mayChange says that the caller may change the tracker.
func (t *Tracker) mayChange(op string) error {
	if t.owner != nil {
		return device.Errorf(device.CodeInvalidState, op,
			"tracker handle %#x is of a manager or a pool, and is only read", t.id())
	}
	return nil
}

// Destroy destroys the tracker. One of a manager or a pool goes with that.
func (t *Tracker) Destroy() error {
	if err := t.mayChange("tracker.destroy"); err != nil {
		return CallError(err, t)
	}
	_, err := t.library.registry.trackers.Remove(t.id())
	return err
}

// Track adds a buffer, as fallback.AllocationTracker.Track.
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

// record is what a tracker knows, as its callers see it.
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

// Untrack removes a buffer; CodeNotFound when it is not known.
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

// Get is the record of a buffer; CodeNotFound when it is not known.
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

// FindOld lists those that are strictly older than an age, the oldest first.
func (t *Tracker) FindOld(age time.Duration) []BufferRecord {
	return t.library.records(t.tracker.FindOldAllocations(age))
}

// Totals is the numbers of the tracker.
func (t *Tracker) Totals() TrackerTotals {
	known := t.tracker
	return TrackerTotals{Count: uint64(known.Count()), TotalBytes: known.TotalBytes(), PeakBytes: known.PeakBytes()}
}

// Clear forgets all buffers.
func (t *Tracker) Clear() error {
	if err := t.mayChange("tracker.clear"); err != nil {
		return err
	}
	t.tracker.Clear()
	return nil
}
