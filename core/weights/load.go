package weights

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
)

const opLoad = "weights.load"

// Target is where the result of a plan goes: memory that the host writes, or memory of a device that
// is written through staging buffers.
type Target struct {
	// Host is the memory itself, if the host can write it; Addr is then not used.
	Host []byte
	Addr device.Addr
}

// Staging is host memory that a device copies from, with the stream of these copies, which no other
// Staging has. Memory is a multiple of 4096 bytes.
type Staging struct {
	Memory []byte
	Addr   device.HostAddr
	Stream device.Stream
}

// Job is one tensor to load.
type Job struct {
	plan   *plan
	Target Target
}

// Options of a load.
type Options struct {
	// Threads is how many threads read; at least 1.
	Threads int
	// Staging is for targets that the host cannot write: one for each copy that may be in
	// flight. It is not used for others, and may then be empty.
	Staging []Staging
	// Progress is called with the bytes of results that are in their place, from one thread
	// at a time, and at last with all of them. nil: nobody asks.
	Progress func(done, all uint64)
}

// chunkBytes is how much of a result one thread reads at a time.
const chunkBytes = 4 << 20

// chunk is a part of a job: elements [first, first+count).
type chunk struct {
	job          *Job
	first, count uint64
}

// Load reads all jobs into their targets. When it returns, also with an error, nothing of it is
// queued or running any more. After an error the content of all targets is undefined. A context
// that ends is CodeCancelled.
func Load(ctx context.Context, jobs []Job, options Options) error {
	l := &load{jobs: jobs, options: options}
	for i := range jobs {
		l.all += jobs[i].size()
	}
	ctx, l.stop = context.WithCancelCause(ctx)
	defer l.stop(nil)
	work := make(chan chunk)
	spare := make(chan Staging, len(options.Staging))
	for _, s := range options.Staging {
		spare <- s
	}
	var threads sync.WaitGroup
	for range max(options.Threads, 1) {
		threads.Go(func() {
			w := worker{load: l, spare: spare, tiles: map[*Job]*tiles{}}
			for c := range work {
				if ctx.Err() != nil {
					continue
				}
				if err := w.do(c); err != nil {
					l.stop(err)
				}
			}
		})
	}
	l.cut(ctx, work)
	close(work)
	threads.Wait()
	for _, s := range options.Staging {
		// The memory is the caller's again when the last copy from it is done.
		if err := s.Stream.Synchronize(device.Forever); err != nil {
			l.stop(err)
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		var typed *device.Error
		if errors.As(cause, &typed) {
			return cause
		}
		return device.Errorf(device.CodeCancelled, opLoad, "after %d of %d bytes: %w", l.done.Load(), l.all, cause)
	}
	l.report(0)
	return nil
}

func (j *Job) size() uint64 {
	size, _ := j.plan.kind.Size(j.plan.view.elements() * j.plan.unit)
	return size
}

type load struct {
	jobs    []Job
	options Options
	stop    context.CancelCauseFunc
	all     uint64
	done    atomic.Uint64
	// telling is held while Progress runs.
	telling sync.Mutex
}

// report counts bytes and tells them.
func (l *load) report(bytes uint64) {
	l.done.Add(bytes)
	if l.options.Progress == nil {
		return
	}
	l.telling.Lock()
	defer l.telling.Unlock()
	l.options.Progress(l.done.Load(), l.all)
}

// cut hands out the jobs in chunks of whole blocks.
func (l *load) cut(ctx context.Context, work chan<- chunk) {
	for i := range l.jobs {
		job := &l.jobs[i]
		p := job.plan
		elements := p.view.elements() * p.unit
		each, width := p.kind.Block()
		per := chunkBytes / width * each
		if p.encoded() {
			per = max(elements, 1) // it is decoded as a whole, by one thread
		}
		for first := uint64(0); first < elements; first += per {
			select {
			case work <- chunk{job: job, first: first, count: min(per, elements-first)}:
			case <-ctx.Done():
				return
			}
		}
	}
}

// worker is one thread of a load.
type worker struct {
	*load
	spare chan Staging
	tiles map[*Job]*tiles
}

func (w *worker) do(c chunk) error {
	t := w.tiles[c.job]
	if t == nil {
		var err error
		if t, err = c.job.plan.open(); err != nil {
			return err
		}
		clear(w.tiles) // chunks come in the order of the jobs
		w.tiles[c.job] = t
	}
	start, err := t.kind.Size(c.first)
	if err != nil {
		return err
	}
	size, err := t.kind.Size(c.count)
	if err != nil {
		return err
	}
	if c.job.Target.Host != nil {
		if err := t.read(c.job.Target.Host[start:start+size], c.first, c.count); err != nil {
			return err
		}
		w.report(size)
		return nil
	}
	return w.staged(t, c, start, size)
}

// staged reads a chunk in parts that fit a staging buffer, and queues a copy of each.
func (w *worker) staged(t *tiles, c chunk, start, size uint64) error {
	each, width := t.kind.Block()
	for done := uint64(0); done < size; {
		s := <-w.spare
		part := min(size-done, uint64(len(s.Memory))/width*width)
		count := part / width * each
		err := s.Stream.Synchronize(device.Forever) // the copy before, from the same memory
		if err == nil {
			err = t.read(s.Memory[:part], c.first+done/width*each, count)
		}
		if err == nil {
			err = s.Stream.CopyFromHost(c.job.Target.Addr+device.Addr(start+done), s.Addr, part)
		}
		w.spare <- s
		if err != nil {
			return err
		}
		done += part
		w.report(part)
	}
	return nil
}
