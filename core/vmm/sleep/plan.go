package sleep

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/pageset"
)

// Plan has the pages that a Wake has to map and to copy.
type Plan struct {
	Jobs []Job
	// Kept and Zeros count the pages to map, with and without kept contents. Jammed has
	// runs that are already mapped.
	Kept, Zeros uint64
	Jammed      []pageset.Run
	// KeptPages and ZeroPages have the allocated pages that are not mapped yet.
	KeptPages, ZeroPages []device.Page
	// Mapped has the runs that are mapped now.
	Mapped []Mapping
}

// Mapping is a run with the pages that are mapped there.
type Mapping struct {
	Run   pageset.Run
	Pages []device.Page
}

// Pages returns how many pages the Wake needs.
func (p *Plan) Pages() uint64 { return p.Kept + p.Zeros }

// Add adds a job to the lists. jammed reports whether a page is still mapped from a
// failed Wake; nil: no page is.
func (p *Plan) Add(j Job, jammed func(page uint64) bool) {
	for _, r := range j.Runs {
		if jammed == nil {
			j.Fresh = append(j.Fresh, r)
			continue
		}
		for at := r.Start; at < r.End(); at++ {
			if page := (pageset.Run{Start: at, Pages: 1}); jammed(at) {
				p.Jammed = appendRun(p.Jammed, page)
			} else {
				j.Fresh = appendRun(j.Fresh, page)
			}
		}
	}
	if j.Chunk.Discarded() {
		p.Zeros += LengthOf(j.Fresh)
	} else {
		p.Kept += LengthOf(j.Fresh)
	}
	p.Jobs = append(p.Jobs, j)
}

// pagesFor returns the list that has the pages of a job.
func (p *Plan) pagesFor(j Job) *[]device.Page {
	if j.Chunk.Discarded() {
		return &p.ZeroPages
	}
	return &p.KeptPages
}

// Next returns the pages to map for a run of a job.
func (p *Plan) Next(j Job, r pageset.Run) []device.Page { return (*p.pagesFor(j))[:r.Pages] }

// Map records that a run of a job was mapped to its next pages.
func (p *Plan) Map(j Job, r pageset.Run) {
	pages := p.pagesFor(j)
	p.Mapped = append(p.Mapped, Mapping{Run: r, Pages: (*pages)[:r.Pages]})
	*pages = (*pages)[r.Pages:]
}

// AlreadyMapped returns the parts of runs that were already mapped.
func (p *Plan) AlreadyMapped(runs []pageset.Run) (parts []pageset.Run) {
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

// Copies returns the jobs to copy back. Contents that are kept in place need no copy. Of a
// job with discarded contents it has only the parts that were already mapped, because fresh
// pages are zeros.
func (p *Plan) Copies() (jobs []Job) {
	for _, j := range p.Jobs {
		if j.Chunk.InPlace() != 0 {
			continue
		}
		if j.Chunk.Discarded() {
			if j.Runs = p.AlreadyMapped(j.Runs); len(j.Runs) == 0 {
				continue
			}
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// Fresh returns the runs of its jobs that this Wake has mapped. Contents that are kept in
// place have runs of their own.
func (p *Plan) Fresh(mapped func(page uint64) bool) (fresh []FreshRun) {
	for _, j := range p.Jobs {
		for _, r := range j.Runs {
			for at := r.Start; at < r.End(); at++ {
				if !mapped(at) || contains(p.Jammed, at) {
					continue
				}
				last := len(fresh) - 1
				if last >= 0 && fresh[last].Run.End() == at && fresh[last].Mark == j.Chunk.InPlace() {
					fresh[last].Run.Pages++
				} else {
					fresh = append(fresh, FreshRun{Run: pageset.Run{Start: at, Pages: 1}, Mark: j.Chunk.InPlace()})
				}
			}
		}
	}
	return fresh
}

// FreshRun is a run that a Wake has mapped, with the mark of contents that are kept in place.
type FreshRun struct {
	Run  pageset.Run
	Mark uint32
}

func contains(runs []pageset.Run, page uint64) bool {
	for _, r := range runs {
		if r.Start <= page && page < r.End() {
			return true
		}
	}
	return false
}

// Unmapped returns the pages that were allocated for the Wake and are not mapped.
func (p *Plan) Unmapped() []device.Page { return slices.Concat(p.KeptPages, p.ZeroPages) }
