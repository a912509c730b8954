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

func (l *Library) insertTracker(t *fallback.AllocationTracker, owner member) (uint64, error) {
	entry := &openTracker{tracker: t, owner: owner}
	return insert(l.trackers, entry)
}

// forgetTracker takes the handle of a tracker away; 0 is none.
func (l *Library) forgetTracker(id uint64) {
	if id != 0 {
		// It is only ever taken away by its one owner.
		_, _ = l.trackers.Remove(id)
	}
}

// ownTracker finds a tracker that the caller may change.
func (l *Library) ownTracker(op string, id uint64) (*fallback.AllocationTracker, error) {
	entry, err := find(l, l.trackers, op, id)
	if err != nil {
		return nil, err
	}
	if entry.owner != nil {
		return nil, late(device.Errorf(device.CodeInvalidState, op,
			"tracker handle %#x is of a manager or a pool, and is only read", id), entry)
	}
	return entry.tracker, nil
}

// TrackerDestroy destroys a tracker. One of a manager or a pool goes with that.
func (l *Library) TrackerDestroy(id uint64) error {
	const op = "tracker.destroy"
	if _, err := l.ownTracker(op, id); err != nil {
		return err
	}
	_, err := l.trackers.Remove(id)
	return err
}

// TrackerTrack adds a buffer, as fallback.AllocationTracker.Track.
func (l *Library) TrackerTrack(id uint64, r BufferRecord) error {
	const op = "tracker.track"
	t, err := l.ownTracker(op, id)
	if err != nil {
		return err
	}
	if err := r.Side.Check(op); err != nil {
		return err
	}
	m := fallback.NewBufferMetadata(r.ID, fallback.Extent{SizeBytes: r.SizeBytes, NumElements: r.NumElements},
		fallback.BufferLocation{Side: r.Side}).WithTag(r.Tag)
	m.AllocatedAt -= r.Age
	if r.Device != 0 {
		d, err := l.devices.Get(r.Device)
		if err != nil {
			return err
		}
		m.Location.Device = d.engine.ID()
	}
	return t.Track(m)
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

// TrackerUntrack removes a buffer; CodeNotFound when it is not known.
func (l *Library) TrackerUntrack(id uint64, buffer fallback.BufferID) (BufferRecord, error) {
	const op = "tracker.untrack"
	t, err := l.ownTracker(op, id)
	if err != nil {
		return BufferRecord{}, err
	}
	m, ok := t.Untrack(buffer)
	if !ok {
		return BufferRecord{}, notTracked(op, buffer)
	}
	return l.record(m), nil
}

// TrackerGet is the record of a buffer; CodeNotFound when it is not known.
func (l *Library) TrackerGet(id uint64, buffer fallback.BufferID) (BufferRecord, error) {
	const op = "tracker.get"
	entry, err := find(l, l.trackers, op, id)
	if err != nil {
		return BufferRecord{}, err
	}
	m, ok := entry.tracker.Get(buffer)
	if !ok {
		return BufferRecord{}, late(notTracked(op, buffer), entry)
	}
	return l.record(m), nil
}

func notTracked(op string, buffer fallback.BufferID) error {
	return device.Errorf(device.CodeNotFound, op, "%v is not tracked", buffer)
}

// TrackerGetAll lists the buffers, the oldest first.
func (l *Library) TrackerGetAll(id uint64) ([]BufferRecord, error) {
	return tell(l, l.trackers, "tracker.all", id, func(t *openTracker) []BufferRecord { return l.records(t.tracker.AllAllocations()) })
}

// TrackerFindOld lists those that are strictly older than an age, the oldest first.
func (l *Library) TrackerFindOld(id uint64, age time.Duration) ([]BufferRecord, error) {
	return tell(l, l.trackers, "tracker.find_old", id, func(t *openTracker) []BufferRecord {
		return l.records(t.tracker.FindOldAllocations(age))
	})
}

// TrackerGetTotals is the numbers of a tracker.
func (l *Library) TrackerGetTotals(id uint64) (TrackerTotals, error) {
	return tell(l, l.trackers, "tracker.totals", id, func(t *openTracker) TrackerTotals {
		known := t.tracker
		return TrackerTotals{Count: uint64(known.Count()), TotalBytes: known.TotalBytes(), PeakBytes: known.PeakBytes()}
	})
}

// TrackerClear forgets all buffers.
func (l *Library) TrackerClear(id uint64) error {
	t, err := l.ownTracker("tracker.clear", id)
	if err != nil {
		return err
	}
	t.Clear()
	return nil
}
