package sleep

import "ferrum_mem/core/vmm/pageset"

// Job is a chunk to copy. Runs has those of its pages that are asleep, or go to sleep. Fresh
// has those of them that a Wake has to map.
type Job struct {
	Chunk *Chunk
	Runs  []pageset.Run
	Fresh []pageset.Run
	// Unmapped states that a Sleep has unmapped it.
	Unmapped bool
}

// PagesOf returns the number of pages of jobs.
func PagesOf(jobs []Job) (pages uint64) {
	for _, j := range jobs {
		pages += LengthOf(j.Runs)
	}
	return pages
}

// LengthOf returns the number of pages of runs.
func LengthOf(runs []pageset.Run) (pages uint64) {
	for _, r := range runs {
		pages += r.Pages
	}
	return pages
}

// appendRun extends the last run if next begins at its end.
func appendRun(runs []pageset.Run, next pageset.Run) []pageset.Run {
	if last := len(runs) - 1; last >= 0 && runs[last].End() == next.Start {
		runs[last].Pages += next.Pages
		return runs
	}
	return append(runs, next)
}

// Cut cuts pages into chunks of adjacent pages of one tag, with at most Most pages
// each.
type Cut struct {
	Most uint64
	jobs []Job
}

// Add adds pages of one tag, which come after the pages that were added before.
func (c *Cut) Add(r pageset.Run, tag uint32) {
	for r.Pages > 0 {
		last := len(c.jobs) - 1
		if last < 0 || c.jobs[last].Chunk.Run.End() != r.Start || c.jobs[last].Chunk.Tag != tag || c.jobs[last].Chunk.Run.Pages == c.Most {
			c.jobs = append(c.jobs, Job{Chunk: &Chunk{Run: pageset.Run{Start: r.Start}, Tag: tag}})
			last++
		}
		in := &c.jobs[last].Chunk.Run
		n := min(r.Pages, c.Most-in.Pages)
		in.Pages += n
		r = pageset.Run{Start: r.Start + n, Pages: r.Pages - n}
	}
}

// Jobs returns a job for each chunk.
func (c *Cut) Jobs() []Job {
	for i := range c.jobs {
		c.jobs[i].Runs = []pageset.Run{c.jobs[i].Chunk.Run}
	}
	return c.jobs
}
