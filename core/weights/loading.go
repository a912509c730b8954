package weights

import (
	"context"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
)

// Loading is a load that runs on a worker. The source stays open until it has ended.
type Loading struct {
	cancel context.CancelFunc
	over   <-chan struct{}
	began  time.Time
	// ended is the duration of the load; 0 while it runs.
	ended       atomic.Int64
	done, total atomic.Uint64
	set         *Set
	err         error
}

// Start checks specs and options and starts a load. The owner must wait for the end, also after
// Cancel. Errors: the errors of Load that are found without memory and without reading.
func (s *Source) Start(specs []Spec, options LoadOptions) (*Loading, error) {
	if _, err := s.layoutOf(specs, options.Memory); err != nil {
		return nil, err
	}
	if err := options.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &Loading{cancel: cancel, began: time.Now()}
	told := options.Progress
	options.Progress = func(p Progress) {
		l.total.Store(p.TotalBytes)
		l.done.Store(p.DoneBytes)
		if told != nil {
			told(p)
		}
	}
	l.err = device.Errorf(device.CodeInternal, opLoad, "the load failed")
	l.over = device.Go(opLoad, func() {
		defer cancel()
		l.set, l.err = s.Load(ctx, specs, options)
		l.ended.Store(int64(max(time.Since(l.began), 1)))
	})
	return l, nil
}

// Progress returns the progress of the load. It takes no lock and never waits.
func (l *Loading) Progress() Progress {
	p := Progress{IsOver: l.IsOver()}
	p.DoneBytes, p.TotalBytes = l.done.Load(), l.total.Load()
	took := time.Duration(l.ended.Load())
	if took == 0 {
		took = time.Since(l.began)
	}
	p.BytesPerSecond = rate(p.DoneBytes, took)
	return p
}

// IsOver states whether the load has ended, with or without success.
func (l *Loading) IsOver() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// Cancel makes the load end soon if it still runs. It does not wait.
func (l *Loading) Cancel() { l.cancel() }

// Wait waits until the load has ended, with or without success; device.Forever: no limit. Errors:
// CodeTimeout.
func (l *Loading) Wait(timeout time.Duration) error {
	if timeout == device.Forever {
		<-l.over
		return nil
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-l.over:
		return nil
	case <-timer.C:
	}
	if l.IsOver() {
		return nil
	}
	return device.Errorf(device.CodeTimeout, opLoad, "the load has not ended after %v", timeout)
}

// Result returns the loaded tensors, or the error of Load; with an error no tensor is loaded. The
// caller frees the set once, even if Result was called several times. Errors: CodeInvalidState
// while the load runs.
func (l *Loading) Result() (*Set, error) {
	if !l.IsOver() {
		return nil, device.Errorf(device.CodeInvalidState, opLoad, "the load has not ended")
	}
	return l.set, l.err
}
