package vmm

import (
	"context"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/pageset"
)

// waking is a Wake under way.
type waking struct {
	WakeRequest
	jobs []job
	// kept and zeros are runs to map, of which bytes are kept and not; jammed are
	// mapped already.
	kept, zeros, jammed []pageset.Run
	// keptPages and zeroPages are what is to be mapped there, once it is there.
	keptPages, zeroPages []device.Page
	// mapped are the runs that are mapped now.
	mapped []mappedRun
}

type mappedRun struct {
	run   pageset.Run
	pages []device.Page
}

func lengthOf(runs []pageset.Run) (pages uint64) {
	for _, r := range runs {
		pages += r.Pages
	}
	return pages
}

// pages is how many a Wake needs.
func (w *waking) pages() uint64 { return lengthOf(w.kept) + lengthOf(w.zeros) }

// wake has room get the pages: it calls supply.
func (s *space) wake(ctx context.Context, r WakeRequest, room func(context.Context, *waking) error) (WakeReport, error) {
	const op = "wake"
	start := track.Now()
	err := s.checkWake(r)
	if err == nil {
		err = s.takeTurn(ctx, op, r.NoWait)
	}
	if err != nil {
		return WakeReport{}, err
	}
	defer s.endTurn()
	s.sweepQuietly()
	w, err := s.beginWake(r)
	if err != nil {
		return WakeReport{}, err
	}
	if err = s.stopped(ctx, op); err == nil && w.pages() > 0 {
		err = room(ctx, w)
	}
	if err == nil {
		if err = s.mapWaking(w); err == nil {
			err = s.copyIn(ctx, w)
		}
		if err != nil {
			s.undoWake(w)
		}
	}
	report := WakeReport{Ns: uint64(track.Now() - start)}
	s.endWake(w, err == nil, report.Ns)
	s.sweepQuietly()
	s.physical.engine.Changed()
	if err != nil {
		return WakeReport{}, err
	}
	report.Bytes = pagesOf(w.jobs) * s.extent.PageBytes
	return report, nil
}

func (s *space) checkWake(r WakeRequest) error {
	const op = "wake"
	if len(r.Tag) > MaxNameBytes {
		return s.extent.Fault(device.CodeInvalidArgument, op, "tag %q has %d bytes, at most %d are allowed", r.Tag, len(r.Tag), MaxNameBytes)
	}
	return s.checkStreams(op, r.Streams)
}

// beginWake makes the pages that are to wake the calling thread's.
func (s *space) beginWake(r WakeRequest) (*waking, error) {
	const op = "wake"
	w := &waking{WakeRequest: r}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.state != stateOpen:
		return nil, s.extent.Closed(op)
	case r.Tag == "" && !s.bed.anything():
		return nil, s.extent.Fault(device.CodeInvalidState, op, "nothing of %q sleeps", s.owner.name)
	case r.Tag != "" && !s.bed.sleeps(r.Tag):
		return nil, s.extent.Fault(device.CodeInvalidState, op, "tag %q of %q does not sleep", r.Tag, s.owner.name)
	}
	for _, c := range s.kept.ordered() {
		if r.Tag != "" && s.tags.Name(c.tag) != r.Tag {
			continue
		}
		j := job{chunk: c, runs: s.kept.partsOf(c)}
		for _, part := range j.runs {
			s.shifting.Add(part)
			s.sortWaking(w, c, part)
		}
		w.jobs = append(w.jobs, j)
	}
	s.claims++
	return w, nil
}

// sortWaking puts pages of a chunk into the lists of a Wake.
func (s *space) sortWaking(w *waking, c *chunk, r pageset.Run) {
	list := &w.kept
	if c.block == nil && c.file == nil {
		list = &w.zeros
	}
	if s.jammed == 0 {
		*list = appendRun(*list, r)
		return
	}
	for at := r.Start; at < r.End(); at++ {
		if s.numbers[at] != 0 {
			w.jammed = appendRun(w.jammed, pageset.Run{Start: at, Pages: 1})
		} else {
			*list = appendRun(*list, pageset.Run{Start: at, Pages: 1})
		}
	}
}

// supply gets the pages of a Wake from the stock, all or none.
func (s *space) supply(_ context.Context, w *waking) error {
	const op = "wake"
	ph, pages := s.physical, w.pages()
	if !ph.charge(pages, 0) {
		ph.Land()
		if !ph.charge(pages, 0) {
			ph.failed()
			return ph.overLimit(s.extent.Op(op), pages)
		}
	}
	var err error
	if n := lengthOf(w.kept); n > 0 {
		w.keptPages, err = ph.fetch(&fetching{space: s, op: s.extent.Op(op), pages: n, noWait: w.NoWait})
	}
	if n := lengthOf(w.zeros); n > 0 && err == nil {
		w.zeroPages, err = ph.fetch(&fetching{space: s, op: s.extent.Op(op), pages: n, zeros: true, noWait: w.NoWait})
	}
	if err != nil {
		ph.give(s.owner, w.keptPages)
		w.keptPages = nil
		ph.discharge(pages, 0)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used += pages
	s.peak = max(s.peak, s.used)
	return nil
}

func (s *space) mapWaking(w *waking) error {
	pages := slices.Concat(w.keptPages, w.zeroPages)
	for _, r := range slices.Concat(w.kept, w.zeros) {
		part := pages[:r.Pages]
		pages = pages[r.Pages:]
		if err := s.physical.virtual.Map(s.extent.Addr(r.Start), part); err != nil {
			return err
		}
		w.mapped = append(w.mapped, mappedRun{r, part})
		if err := s.grant(r); err != nil {
			return err
		}
	}
	for _, r := range w.jammed {
		if err := s.grant(r); err != nil {
			return err
		}
	}
	return nil
}

// copyIn brings the bytes back.
func (s *space) copyIn(ctx context.Context, w *waking) error {
	t := &transfer{space: s, ctx: ctx, op: "wake", copy: s.copyBack}
	var file *sleepFile
	for _, j := range w.jobs {
		if j.chunk.file != nil && j.chunk.file != file {
			file = j.chunk.file
			if err := s.checkHead(file); err != nil {
				return err
			}
		}
		if j.chunk.file == nil && j.chunk.block == nil {
			// Fresh pages are zeros.
			if j.runs = s.jammedOf(w, j.runs); len(j.runs) == 0 {
				continue
			}
		}
		t.jobs = append(t.jobs, j)
	}
	return t.run(w.Streams)
}

// jammedOf is the parts of runs that are mapped from a Wake that failed before.
func (s *space) jammedOf(w *waking, runs []pageset.Run) (parts []pageset.Run) {
	for _, r := range runs {
		for _, jam := range w.jammed {
			low, high := max(r.Start, jam.Start), min(r.End(), jam.End())
			if low < high {
				parts = append(parts, pageset.Run{Start: low, Pages: high - low})
			}
		}
	}
	return parts
}

// copyBack gives the pages of a chunk what is kept of them: zeros if nothing is.
func (s *space) copyBack(l *lane, j job) error {
	c := j.chunk
	switch {
	case c.block != nil:
		return l.fromHost(j, c.block.addr)
	case c.file == nil:
		return l.zero(j)
	}
	size := c.run.Pages * s.extent.PageBytes
	buffer, err := l.staging(size)
	if err != nil {
		return err
	}
	if err := s.readChunk(c, buffer.bytes[:size]); err != nil {
		return err
	}
	return l.fromHost(j, buffer.addr)
}
