package library

import (
	"sync"

	"ferrum_mem/core/device"
	dummylist "ferrum_mem/core/dummy"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/job"
)

// Dummy is a dummy that DummyCreate created. Most of its methods are those of its list.
type Dummy struct {
	object
	*dummylist.List

	mu sync.Mutex
	// job is the job on the dummy until that job ends; nil: there is none.
	job  *DummyJob
	over bool
}

// Dummy returns the dummy with this handle.
func (l *Library) Dummy(op string, id uint64) (*Dummy, error) {
	return find(l, l.registry.dummies, op, id)
}

func (d *Dummy) hasEnded() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.over
}
func (d *Dummy) known() (uint64, *engine.Engine) { return d.id(), nil }
func (d *Dummy) of(e *Device) bool               { return e == nil }
func (d *Dummy) leak() leak                      { return d.alive("dummy", nil) }
func (d *Dummy) endByForce(l *Library, id uint64) error {
	return d.end(l, id, true)
}

// end ends the dummy once. If the dummy has a job, it returns CodeBusy, or with force ends
// the job too.
func (d *Dummy) end(l *Library, id uint64, force bool) error {
	d.mu.Lock()
	if d.over {
		d.mu.Unlock()
		return endedError(d)
	}
	work := d.job
	if work != nil && !force {
		d.mu.Unlock()
		return device.Errorf(device.CodeBusy, "dummy.destroy", "dummy handle %#x has a job, handle %#x", id, work.id())
	}
	d.over = true
	d.mu.Unlock()
	if work != nil {
		// Another call may have ended the job meanwhile.
		_ = work.end(l, work.id(), true)
	}
	_, err := l.registry.dummies.Remove(id)
	d.Release()
	return err
}

// DummyJob is a job on a dummy.
type DummyJob struct {
	object
	*job.Job[dummylist.Sorted]
	dummy *Dummy
}

// DummyJob returns the job with this handle.
func (l *Library) DummyJob(op string, id uint64) (*DummyJob, error) {
	return find(l, l.registry.dummyJobs, op, id)
}

func (j *DummyJob) hasEnded() bool                  { return j.id() == 0 }
func (j *DummyJob) known() (uint64, *engine.Engine) { return j.id(), nil }
func (j *DummyJob) of(e *Device) bool               { return e == nil }
func (j *DummyJob) leak() leak                      { return j.alive("dummy_job", nil) }
func (j *DummyJob) endByForce(l *Library, id uint64) error {
	return j.end(l, id, true)
}

// end removes the handle of the job. If the job runs, it returns CodeBusy, or with force
// cancels the job and waits for it.
func (j *DummyJob) end(l *Library, id uint64, force bool) error {
	if force {
		j.Cancel()
		if err := j.Wait(device.Forever); err != nil {
			return err
		}
	}
	if !j.HasEnded() {
		return device.Errorf(device.CodeBusy, "dummy_job.destroy", "job handle %#x is not over", id)
	}
	if _, err := l.registry.dummyJobs.Remove(id); err != nil {
		return err
	}
	j.dummy.mu.Lock()
	defer j.dummy.mu.Unlock()
	j.dummy.job = nil
	return nil
}
