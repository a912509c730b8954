package vmm

import (
	"context"
	"errors"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
	"ferrum_mem/core/vmm/sleep"
)

// sleepCall is a Sleep in progress.
type sleepCall struct {
	SleepRequest
	jobs []sleep.Job
	// path is the file that the Sleep has created.
	path string
	// before has the tags that were asleep before.
	before sleep.Tags
}

func (s *space) sleep(ctx context.Context, r SleepRequest) (SleepReport, error) {
	const op = "sleep"
	start := track.Now()
	err := s.table.checkSleep(r)
	if err == nil {
		err = s.table.turn.Take(ctx, &s.table.extent, op, r.NoWait, s.physical.engine.MayWait)
	}
	if err != nil {
		return SleepReport{}, err
	}
	defer s.table.turn.End()
	if !r.NoWait && s.physical.engine.MayWait() {
		// Otherwise the machine would need memory for both contents.
		s.table.late.wait(ctx)
	}
	s.sweepQuietly()
	d, err := s.beginSleep(ctx, r)
	if err != nil {
		return SleepReport{}, err
	}
	if err = s.awaitUsers(ctx, d); err == nil {
		err = s.copyAndUnmap(ctx, d)
	}
	if err == nil && d.Backing != SleepDiscard {
		s.releaseUnmapped(d.jobs)
	}
	report := SleepReport{Ns: uint64(track.Now() - start)}
	if err != nil {
		s.endSleep(d, false, &SleepStats{SleepFailures: 1})
	} else {
		report.Bytes = s.endSleep(d, true, &SleepStats{Sleeps: 1, SleepNs: report.Ns}) * s.table.extent.PageBytes
		report.Path = d.path
	}
	s.sweepQuietly()
	s.physical.engine.Changed()
	s.physical.engine.SegmentsChanged()
	if err != nil {
		return SleepReport{}, err
	}
	return report, nil
}

// sweepQuietly calls sweep and only logs an error, for callers with another result.
func (s *space) sweepQuietly() {
	if err := s.sweep(); err != nil {
		s.physical.engine.Log(engine.Warning, err.Error())
	}
}

func (t *pageTable) checkSleep(r SleepRequest) error {
	const op = "sleep"
	if r.Backing < SleepToHost || r.Backing > SleepDiscard {
		return t.extent.Fault(device.CodeInvalidArgument, op, "backing %d is not known", r.Backing)
	}
	if r.Dir != "" && r.Backing != SleepToFile {
		return t.extent.Fault(device.CodeInvalidArgument, op, "directory %q: the backing is %v, which uses no file", r.Dir, r.Backing)
	}
	if len(r.Tag) > MaxNameBytes {
		return t.extent.Fault(device.CodeInvalidArgument, op, "tag %q has %v, at most %d are allowed", r.Tag, device.Size(len(r.Tag)), MaxNameBytes)
	}
	return checkStreams(&t.extent, op, r.Streams)
}

// beginSleep waits for loads, stops new allocations, waits for those in progress and claims
// the pages for the calling thread.
func (s *space) beginSleep(ctx context.Context, r SleepRequest) (*sleepCall, error) {
	const op = "sleep"
	d := &sleepCall{SleepRequest: r}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table.state != stateOpen {
		return nil, s.table.extent.Closed(op)
	}
	w := sleepWait{space: s, ctx: ctx, noWait: r.NoWait}
	if err := w.forKeepers(r.Tag); err != nil {
		return nil, err
	}
	d.before = s.table.saved.Tags.Clone()
	switch {
	case r.Tag == "" && s.table.saved.Tags.All():
		return nil, s.table.extent.Fault(device.CodeInvalidState, op, "%s is asleep already", s.table.extent.Title())
	case r.Tag != "" && s.table.saved.Tags.Sleeps(r.Tag):
		return nil, s.table.extent.Fault(device.CodeInvalidState, op, "tag %q of %s is asleep already", r.Tag, s.table.extent.Title())
	}
	s.table.saved.Tags.Begin(r.Tag)
	err := w.forClaims()
	if err == nil {
		if d.jobs = s.table.awakeJobs(r, s.physical.mapper.mostBytes(r.Backing, &s.physical.keepers)); len(d.jobs) == 0 && r.Tag != "" {
			err = s.table.extent.Fault(device.CodeNotFound, op, "no allocation of %s has the tag %q", s.table.extent.Title(), r.Tag)
		}
	}
	if err != nil {
		s.table.saved.Tags = d.before
		s.changed.Broadcast()
		return nil, err
	}
	for _, j := range d.jobs {
		s.table.shifting.Add(j.Chunk.Run)
	}
	s.claims++
	return d, nil
}

// awakeJobs cuts the live pages of a tag, or of all, into chunks. Pages that are not
// copied are cut only where the tag changes.
func (t *pageTable) awakeJobs(r SleepRequest, chunkBytes uint64) []sleep.Job {
	cut := sleep.Cut{Most: max(chunkBytes/t.extent.PageBytes, 1)}
	if r.Backing == SleepDiscard {
		cut.Most = t.extent.Pages
	}
	for at, ok := t.live.Next(0); ok; at, ok = t.live.Next(at) {
		tag, first := t.records.all[t.allocated[at]-1].tag, at
		for at++; at < t.extent.Pages && t.live.Has(at) && t.allocated[at] == t.allocated[first]; at++ {
		}
		if r.Tag == "" || t.tags.Name(tag) == r.Tag {
			cut.Add(pageset.Run{Start: first, Pages: at - first}, tag)
		}
		if at == t.extent.Pages {
			break
		}
	}
	return cut.Jobs()
}

// workSlice is the time after which a wait for queued work checks its context.
const workSlice = 2 * time.Millisecond

func (s *space) awaitWork(ctx context.Context, noWait bool, wait func(time.Duration) error) error {
	const op = "sleep"
	if noWait {
		err := wait(0)
		if errors.Is(err, device.CodeTimeout) {
			return s.table.extent.Fault(device.CodeTimeout, op, "%s: queued work may still use the memory, and the call must not wait for it: %w", s.table.extent.Title(), err)
		}
		return err
	}
	if !s.physical.engine.MayWait() {
		if err := wait(0); err != nil {
			return s.table.extent.Fault(device.CodeBusy, op, "%s: queued work may still use the memory, and this thread must not wait for it: %w", s.table.extent.Title(), err)
		}
		return nil
	}
	for {
		slice := device.Forever
		if ctx.Done() != nil {
			slice = workSlice
		}
		if err := wait(slice); !errors.Is(err, device.CodeTimeout) {
			return err
		}
		if err := s.stopped(ctx, op); err != nil {
			return err
		}
	}
}

func checkStreams(e *extent.Extent, op string, streams int) error {
	if streams < 0 || streams > MaxSleepStreams {
		return e.Fault(device.CodeInvalidArgument, op, "streams %d: 0 to %d are possible", streams, MaxSleepStreams)
	}
	return nil
}
