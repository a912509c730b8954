package library

import (
	"sync"

	"ferrum_mem/core/device"
	dummylist "ferrum_mem/core/dummy"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/job"
)

// openDummy is a dummy that was made by DummyCreate.
type openDummy struct {
	object
	list *dummylist.List

	mu sync.Mutex
	// job is on it until that has ended; nil: none.
	job  *openDummyJob
	over bool
}

func (d *openDummy) isOver() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.over
}
func (d *openDummy) known() (uint64, *engine.Engine) { return d.id(), nil }
func (d *openDummy) of(e *openDevice) bool           { return e == nil }
func (d *openDummy) leak() leak                      { return d.alive("dummy", nil) }
func (d *openDummy) endByForce(l *Library, id uint64) error {
	return d.end(l, id, true)
}

// end ends it, once. With a job on it that is CodeBusy, or by force ends the job as well.
func (d *openDummy) end(l *Library, id uint64, force bool) error {
	d.mu.Lock()
	if d.over {
		d.mu.Unlock()
		return over(d)
	}
	work := d.job
	if work != nil && !force {
		d.mu.Unlock()
		return device.Errorf(device.CodeBusy, "dummy.destroy", "dummy handle %#x has a job, handle %#x", id, work.id())
	}
	d.over = true
	d.mu.Unlock()
	if work != nil {
		// Another call may have ended it meanwhile.
		_ = work.end(l, work.id(), true)
	}
	_, err := l.dummies.Remove(id)
	d.list.Release()
	return err
}

// openDummyJob is a job on a dummy.
type openDummyJob struct {
	object
	dummy *openDummy
	job   *job.Job[dummylist.Sorted]
}

func (j *openDummyJob) isOver() bool                    { return j.id() == 0 }
func (j *openDummyJob) known() (uint64, *engine.Engine) { return j.id(), nil }
func (j *openDummyJob) of(e *openDevice) bool           { return e == nil }
func (j *openDummyJob) leak() leak                      { return j.alive("dummy_job", nil) }
func (j *openDummyJob) endByForce(l *Library, id uint64) error {
	return j.end(l, id, true)
}

// end takes its handle away. One that runs is CodeBusy, or by force is cancelled and
// waited for.
func (j *openDummyJob) end(l *Library, id uint64, force bool) error {
	if force {
		j.job.Cancel()
		if err := j.job.Wait(device.Forever); err != nil {
			return err
		}
	}
	if !j.job.IsOver() {
		return device.Errorf(device.CodeBusy, "dummy_job.destroy", "job handle %#x is not over", id)
	}
	if _, err := l.dummyJobs.Remove(id); err != nil {
		return err
	}
	j.dummy.mu.Lock()
	defer j.dummy.mu.Unlock()
	j.dummy.job = nil
	return nil
}
