package library

import (
	"time"

	"ferrum_mem/core/device"
	dummylist "ferrum_mem/core/dummy"
	"ferrum_mem/core/job"
)

// DummyCreate makes a dummy without items. It belongs to no device.
func (l *Library) DummyCreate(c dummylist.Config) (uint64, error) {
	const op = "dummy.create"
	list, err := dummylist.New(c)
	if err != nil {
		return 0, err
	}
	// Not while the library stops: it has listed what there is by then.
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	return insert(l.dummies, &openDummy{list: list})
}

// DummyDestroy ends a dummy; with a job on it that is CodeBusy, unless forced.
func (l *Library) DummyDestroy(id uint64, force bool) error {
	return do(l, l.dummies, "dummy.destroy", id, func(d *openDummy) error { return d.end(l, id, force) })
}

// DummyGetInfo is what is known of a dummy.
func (l *Library) DummyGetInfo(id uint64) (dummylist.Info, error) {
	return tell(l, l.dummies, "dummy.get_info", id, func(d *openDummy) dummylist.Info { return d.list.Info() })
}

// DummySetTraits replaces the traits of a dummy.
func (l *Library) DummySetTraits(id uint64, traits uint32) error {
	return do(l, l.dummies, "dummy.set_traits", id, func(d *openDummy) error { return d.list.SetTraits(traits) })
}

// DummyAdd adds items to a dummy, all or none.
func (l *Library) DummyAdd(id uint64, items []dummylist.Item) error {
	return do(l, l.dummies, "dummy.add", id, func(d *openDummy) error { return d.list.Add(items) })
}

// DummyAddJSON is DummyAdd of items that are written as JSON.
func (l *Library) DummyAddJSON(id uint64, text []byte) error {
	return do(l, l.dummies, "dummy.add_json", id, func(d *openDummy) error { return d.list.AddJSON(text) })
}

// DummyGetItems is the items of a dummy in their order.
func (l *Library) DummyGetItems(id uint64) ([]dummylist.Item, error) {
	return tell(l, l.dummies, "dummy.get_items", id, func(d *openDummy) []dummylist.Item { return d.list.Items() })
}

// DummyNamesJSON is the names of the items of a dummy.
func (l *Library) DummyNamesJSON(id uint64) ([]byte, error) {
	return ask(l, l.dummies, "dummy.names_json", id, func(d *openDummy) ([]byte, error) { return d.list.NamesJSON() })
}

// DummyRemove removes the items with these names, all or none.
func (l *Library) DummyRemove(id uint64, names []string) (uint64, error) {
	return ask(l, l.dummies, "dummy.remove", id, func(d *openDummy) (uint64, error) { return d.list.Remove(names) })
}

// DummyFind is the place and the first item of a name.
func (l *Library) DummyFind(id uint64, name string) (at uint64, found dummylist.Item, err error) {
	err = do(l, l.dummies, "dummy.find", id, func(d *openDummy) error {
		at, found, err = d.list.Find(name)
		return err
	})
	return at, found, err
}

// DummyAdopt has a dummy keep something; release is called once when it ends.
func (l *Library) DummyAdopt(id uint64, release func()) error {
	return do(l, l.dummies, "dummy.adopt", id, func(d *openDummy) error { return d.list.Adopt(release) })
}

// DummyHold stops jobs on a dummy before their next step, or lets them go on.
func (l *Library) DummyHold(id uint64, held bool) error {
	return do(l, l.dummies, "dummy.hold", id, func(d *openDummy) error {
		d.list.Hold(held)
		return nil
	})
}

// DummySort begins to sort a dummy; CodeBusy while it has a job.
func (l *Library) DummySort(id uint64, order dummylist.Order) (uint64, error) {
	const op = "dummy.sort"
	return ask(l, l.dummies, op, id, func(d *openDummy) (uint64, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.over {
			return 0, device.Errorf(device.CodeInvalidState, op, "dummy handle %#x has ended", id)
		}
		if d.job != nil {
			return 0, device.Errorf(device.CodeBusy, op, "dummy handle %#x has a job, handle %#x", id, d.job.id())
		}
		work, err := d.list.Sort(order)
		if err != nil {
			return 0, err
		}
		entry := &openDummyJob{dummy: d, job: work}
		made, err := insert(l.dummyJobs, entry)
		if err != nil {
			work.Cancel()
			return 0, err
		}
		d.job = entry
		return made, nil
	})
}

// DummyJobGetProgress is how far a job is.
func (l *Library) DummyJobGetProgress(id uint64) (job.Progress, error) {
	return tell(l, l.dummyJobs, "dummy_job.get_progress", id, func(j *openDummyJob) job.Progress { return j.job.Progress() })
}

// DummyJobCancel asks a job to end before its next step.
func (l *Library) DummyJobCancel(id uint64) error {
	return do(l, l.dummyJobs, "dummy_job.cancel", id, func(j *openDummyJob) error {
		j.job.Cancel()
		return nil
	})
}

// DummyJobWait waits until a job is over.
func (l *Library) DummyJobWait(id uint64, timeout time.Duration) error {
	return do(l, l.dummyJobs, "dummy_job.wait", id, func(j *openDummyJob) error { return j.job.Wait(timeout) })
}

// DummyJobGetResult is the result of a job.
func (l *Library) DummyJobGetResult(id uint64) (dummylist.Sorted, error) {
	return ask(l, l.dummyJobs, "dummy_job.get_result", id, func(j *openDummyJob) (dummylist.Sorted, error) { return j.job.Result() })
}

// DummyJobDestroy ends a job; one that runs is CodeBusy, unless forced.
func (l *Library) DummyJobDestroy(id uint64, force bool) error {
	return do(l, l.dummyJobs, "dummy_job.destroy", id, func(j *openDummyJob) error { return j.end(l, id, force) })
}
