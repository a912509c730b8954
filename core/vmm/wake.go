package vmm

import (
	"context"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/sleep"
)

// wakeCall is a Wake in progress.
type wakeCall struct {
	WakeRequest
	sleep.Plan
}

// wake implements Wake. room gets the pages by calling supply.
func (s *space) wake(ctx context.Context, r WakeRequest, room func(context.Context, *wakeCall) error) (WakeReport, error) {
	const op = "wake"
	start := track.Now()
	err := s.table.checkWake(r)
	if err == nil {
		err = s.table.turn.Take(ctx, &s.table.extent, op, r.NoWait, s.physical.engine.MayWait)
	}
	if err != nil {
		return WakeReport{}, err
	}
	defer s.table.turn.End()
	s.sweepQuietly()
	w, err := s.beginWake(r)
	if err != nil {
		return WakeReport{}, err
	}
	if err = s.stopped(ctx, op); err == nil && w.Pages() > 0 {
		err = room(ctx, w)
	}
	if err == nil {
		if err = s.bringBack(ctx, w); err != nil {
			s.undoWake(w)
		}
	}
	report := WakeReport{Ns: uint64(track.Now() - start)}
	if !s.endWake(w, err == nil, report.Ns) {
		s.sweepQuietly()
	}
	s.physical.engine.Changed()
	if err != nil {
		return WakeReport{}, err
	}
	report.Bytes = sleep.PagesOf(w.Jobs) * s.table.extent.PageBytes
	return report, nil
}

func (t *pageTable) checkWake(r WakeRequest) error {
	const op = "wake"
	if len(r.Tag) > MaxNameBytes {
		return t.extent.Fault(device.CodeInvalidArgument, op, "tag %q has %v, at most %d are allowed", r.Tag, device.Size(len(r.Tag)), MaxNameBytes)
	}
	return checkStreams(&t.extent, op, r.Streams)
}

// beginWake claims the pages that wake for the calling thread.
func (s *space) beginWake(r WakeRequest) (*wakeCall, error) {
	const op = "wake"
	w := &wakeCall{WakeRequest: r}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.table.state != stateOpen:
		return nil, s.table.extent.Closed(op)
	case r.Tag == "" && !s.table.saved.Tags.Any():
		return nil, s.table.extent.Fault(device.CodeInvalidState, op, "nothing of %s is asleep", s.table.extent.Title())
	case r.Tag != "" && !s.table.saved.Tags.Sleeps(r.Tag):
		return nil, s.table.extent.Fault(device.CodeInvalidState, op, "tag %q of %s is not asleep", r.Tag, s.table.extent.Title())
	}
	var jammed func(page uint64) bool
	if s.table.stillMapped > 0 {
		jammed = s.table.isMappedAt
	}
	for _, j := range s.table.saved.Jobs(func(tag uint32) bool { return r.Tag == "" || s.table.tags.Name(tag) == r.Tag }) {
		for _, part := range j.Runs {
			s.table.shifting.Add(part)
		}
		w.Add(j, jammed)
	}
	s.claims++
	return w, nil
}

// isMappedAt reports whether a page has a physical page.
func (t *pageTable) isMappedAt(page uint64) bool { return t.numbers[page] != 0 }

// supply gets the pages of a Wake from the Physical, all or none.
func (s *space) supply(_ context.Context, w *wakeCall) error {
	const op = "wake"
	ph, pages := s.physical, w.Pages()
	if !ph.charge(pages, 0) {
		ph.CompleteFrees()
		if !ph.charge(pages, 0) {
			ph.failed()
			return ph.overLimit(s.table.extent.Op(op), pages)
		}
	}
	var err error
	if w.Kept > 0 {
		w.KeptPages, err = ph.fetch(&fetching{space: s, op: s.table.extent.Op(op), pages: w.Kept, overwritten: true, noWait: w.NoWait})
	}
	if w.Zeros > 0 && err == nil {
		w.ZeroPages, err = ph.fetch(&fetching{space: s, op: s.table.extent.Op(op), pages: w.Zeros, zeros: true, noWait: w.NoWait})
	}
	if err != nil {
		ph.returnPages(nil, w.KeptPages)
		w.KeptPages = nil
		ph.discharge(pages, 0)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.used += pages
	s.peak = max(s.peak, s.table.used)
	return nil
}

// bringBack maps the pages of a Wake and copies the bytes back. While the pages of one job
// are being mapped, the jobs before are copied. First it makes everything accessible whose
// contents are not copied: pages that wake as zeros, contents that are kept in place, and
// pages that are still mapped.
func (s *space) bringBack(ctx context.Context, w *wakeCall) error {
	for _, j := range w.Jobs {
		if needsNoCopy(j.Chunk) {
			if err := s.mapFresh(w, j); err != nil {
				return err
			}
		}
	}
	for _, r := range w.Jammed {
		if err := s.table.grant(s.physical.virtual, r); err != nil {
			return err
		}
	}
	if err := sleep.CheckHeads(w.Jobs); err != nil {
		return err
	}
	t := s.transfer(ctx, "wake", w.Copies())
	t.Prepare = func(j sleep.Job) error {
		if needsNoCopy(j.Chunk) {
			return nil
		}
		return s.mapFresh(w, j)
	}
	return s.copyBack(t, w.Streams)
}

// needsNoCopy states that fresh pages of a chunk have its contents.
func needsNoCopy(c *sleep.Chunk) bool { return c.Discarded() || c.InPlace() != 0 }

// mapFresh maps the fresh pages of a job.
func (s *space) mapFresh(w *wakeCall, j sleep.Job) error {
	for _, r := range j.Fresh {
		pages := w.Next(j, r)
		if err := s.physical.mapper.mapPages(&s.table.extent, r.Start, pages, j.Chunk.InPlace()); err != nil {
			return err
		}
		w.Map(j, r)
		if err := s.table.grant(s.physical.virtual, r); err != nil {
			return err
		}
	}
	return nil
}
