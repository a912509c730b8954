package library

import (
	"ferrum_mem/core/device"
	dummylist "ferrum_mem/core/dummy"
)

// DummyCreate creates a dummy without items. It belongs to no device.
func (l *Library) DummyCreate(c dummylist.Config) (uint64, error) {
	const op = "dummy.create"
	list, err := dummylist.New(c)
	if err != nil {
		return 0, err
	}
	// The lock keeps the library from stopping, because a stopping library has already
	// listed its objects.
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	return insert(l, l.registry.dummies, &Dummy{List: list})
}

// Destroy ends the dummy. If the dummy has a job, it returns CodeBusy, unless forced.
func (d *Dummy) Destroy(force bool) error { return d.end(d.library, d.id(), force) }

// Sort starts to sort the dummy. It returns CodeBusy if the dummy has a job.
func (d *Dummy) Sort(order dummylist.Order) (uint64, error) {
	const op = "dummy.sort"
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return 0, device.Errorf(device.CodeInvalidState, op, "dummy handle %#x has ended", d.id())
	}
	if d.job != nil {
		return 0, device.Errorf(device.CodeBusy, op, "dummy handle %#x has a job, handle %#x", d.id(), d.job.id())
	}
	work, err := d.List.Sort(order)
	if err != nil {
		return 0, err
	}
	entry := &DummyJob{dummy: d, Job: work}
	made, err := insert(d.library, d.library.registry.dummyJobs, entry)
	if err != nil {
		work.Cancel()
		return 0, err
	}
	d.job = entry
	return made, nil
}

// Destroy ends the job. If the job runs, it returns CodeBusy, unless forced.
func (j *DummyJob) Destroy(force bool) error { return j.end(j.library, j.id(), force) }
