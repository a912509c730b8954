package sleep

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/pageset"
)

// Plan is what a Wake has to map and to copy.
type Plan struct {
	Jobs []Job
	// Kept and Zeros are runs to map, of which bytes are kept and not; Jammed are
	// mapped already.
	Kept, Zeros, Jammed []pageset.Run
	// KeptPages and ZeroPages are what is to be mapped there, once it is there.
	KeptPages, ZeroPages []device.Page
	// Mapped are the runs that are mapped now.
	Mapped []Mapping
}

// Mapping is a run with the pages that are mapped there.
type Mapping struct {
	Run   pageset.Run
	Pages []device.Page
}

// Pages is how many it needs.
func (p *Plan) Pages() uint64 { return LengthOf(p.Kept) + LengthOf(p.Zeros) }

// Add puts a job into the lists; jammed says whether a page is mapped from a Wake that
// failed, nil: none is.
func (p *Plan) Add(j Job, jammed func(page uint64) bool) {
	p.Jobs = append(p.Jobs, j)
	list := &p.Kept
	if j.Chunk.Discarded() {
		list = &p.Zeros
	}
	for _, r := range j.Runs {
		if jammed == nil {
			*list = appendRun(*list, r)
			continue
		}
		for at := r.Start; at < r.End(); at++ {
			if page := (pageset.Run{Start: at, Pages: 1}); jammed(at) {
				p.Jammed = appendRun(p.Jammed, page)
			} else {
				*list = appendRun(*list, page)
			}
		}
	}
}

// JammedOf is the parts of runs that were mapped already.
func (p *Plan) JammedOf(runs []pageset.Run) (parts []pageset.Run) {
	for _, r := range runs {
		for _, jam := range p.Jammed {
			low, high := max(r.Start, jam.Start), min(r.End(), jam.End())
			if low < high {
				parts = append(parts, pageset.Run{Start: low, Pages: high - low})
			}
		}
	}
	return parts
}

// Copies is the jobs to copy back: of those of which nothing is kept only what was mapped
// already, for fresh pages are zeros.
func (p *Plan) Copies() (jobs []Job) {
	for _, j := range p.Jobs {
		if j.Chunk.Discarded() {
			if j.Runs = p.JammedOf(j.Runs); len(j.Runs) == 0 {
				continue
			}
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// Fresh is the runs of its jobs that it has mapped itself.
func (p *Plan) Fresh(mapped func(page uint64) bool) (runs []pageset.Run) {
	for _, j := range p.Jobs {
		for _, r := range j.Runs {
			for at := r.Start; at < r.End(); at++ {
				if mapped(at) && !contains(p.Jammed, at) {
					runs = appendRun(runs, pageset.Run{Start: at, Pages: 1})
				}
			}
		}
	}
	return runs
}

func contains(runs []pageset.Run, page uint64) bool {
	for _, r := range runs {
		if r.Start <= page && page < r.End() {
			return true
		}
	}
	return false
}

// Unmapped is the pages that were had for it and are mapped nowhere.
func (p *Plan) Unmapped() (loose []device.Page) {
	at := uint64(0)
	for _, m := range p.Mapped {
		at += m.Run.Pages
	}
	for _, pages := range [][]device.Page{p.KeptPages, p.ZeroPages} {
		skip := min(at, uint64(len(pages)))
		loose = append(loose, pages[skip:]...)
		at -= skip
	}
	return loose
}
