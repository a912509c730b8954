package weights

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights/diskfile"
)

const opLoad = "weights.load"

// job is one tensor to read, with the place of its result.
type job struct {
	plan *plan
	// host is the destination memory if the host can write it. Otherwise a lane copies the result
	// to addr.
	host []byte
	addr device.Addr
	lane *lane
}

func (j *job) size() uint64 {
	size, _ := j.plan.kind.Size(j.plan.view.elements() * j.plan.unit)
	return size
}

// lane has the staging buffers of one device. spare has the buffers that no worker uses.
type lane struct {
	buffers []buffer
	spare   chan buffer
}

// buffer is host memory from which a device copies. Each buffer has a stream of its own for these
// copies. The length is a multiple of 4096 bytes.
type buffer struct {
	memory []byte
	addr   device.HostAddr
	stream device.Stream
}

func newLane(buffers []buffer) *lane {
	l := &lane{buffers: buffers, spare: make(chan buffer, len(buffers))}
	for _, b := range buffers {
		l.spare <- b
	}
	return l
}

// drain waits for the copies. Afterwards the owner may reuse the memory of the buffers.
func (l *lane) drain() error {
	var failed error
	for _, b := range l.buffers {
		if err := b.stream.Synchronize(device.Forever); failed == nil {
			failed = err
		}
	}
	return failed
}

// chunkBytes is the number of bytes of a file or of a result that one thread reads at a time.
// scatteredBytes is this number for a result whose adjacent elements are far apart in the file.
// Each chunk of such a result reads from the whole tensor, so longer chunks read fewer bytes in total.
const (
	chunkBytes     = 4 << 20
	scatteredBytes = 16 << 20
)

// chunkElements returns how many elements a chunk has at most: whole blocks, and whole rows of a
// scattered result.
func (p *plan) chunkElements() uint64 {
	each, width := p.kind.Block()
	row := p.view.scatteredRow() * p.unit
	if row == 0 || len(p.steps) > 0 {
		count := chunkBytes / width * each
		if each, width := p.read.Block(); len(p.steps) > 0 {
			count = min(count, chunkBytes/width*each)
		}
		return count
	}
	count := scatteredBytes / width * each
	if whole := row * each; count > whole {
		count = count / whole * whole
	}
	return count
}

// slackBytes is the largest number of further bytes of the file at each end of a chunk. A separate chunk
// for them would wait behind the long requests that the disk has.
const slackBytes = 256 << 10

// pieces has the numbers of elements of the chunks of a result: of the first chunk, of each other chunk,
// and the largest number of further elements of the last chunk.
type pieces struct{ first, others, slack uint64 }

// pieces divides the result of the plan. If the elements are adjacent in the file, the first chunk ends at
// a multiple of chunkBytes in the file, so that each other chunk is one direct read of whole blocks.
func (p *plan) pieces() pieces {
	others := p.chunkElements()
	begin, is := p.inFile()
	if !is {
		return pieces{first: others, others: others}
	}
	_, width := p.tensor.Type.Block()
	each, _ := p.kind.Block()
	each = max(each, 2) // whole bytes of a result of 4 bits
	whole := func(bytes uint64) uint64 { return bytes / width * p.unit / each * each }
	c := pieces{first: whole(chunkBytes-begin%chunkBytes) % others, others: others, slack: whole(slackBytes)}
	if c.first <= c.slack {
		c.first += others
	}
	return c
}

// longestChunk returns how many bytes of the result a chunk has at most.
func (p *plan) longestChunk() uint64 {
	c := p.pieces()
	size, _ := p.kind.Size(min(c.others+2*c.slack, p.view.elements()*p.unit))
	return size
}

// inFile returns where the elements of the result begin in the file, if they are adjacent there and have
// whole bytes.
func (p *plan) inFile() (offset uint64, is bool) {
	each, width := p.tensor.Type.Block()
	place, is := p.view.adjacent()
	return p.tensor.Offset + place*width, is && (p.unit > 1 || each == 1)
}

// chunk is a part of a job: elements [first, first+count).
type chunk struct {
	job          *job
	first, count uint64
}

// transfer reads jobs into their places.
type transfer struct {
	jobs  []*job
	lanes []*lane
	// threads is the number of threads that read, at least 1.
	threads int
	// tell is called with the number of bytes that are in their places, from one thread at a time.
	// The last call has all bytes. nil: progress is not reported.
	tell func(done, all uint64)

	stop context.CancelCauseFunc
	all  uint64
	done atomic.Uint64
	// telling is held while tell runs.
	telling sync.Mutex
}

// run reads all jobs. When it returns, also with an error, no read and no copy is queued or
// running. After an error the content of all places is undefined. If the context ends, run returns
// CodeCancelled.
func (t *transfer) run(ctx context.Context) error {
	for _, j := range t.jobs {
		t.all += j.size()
	}
	ctx, t.stop = context.WithCancelCause(ctx)
	defer t.stop(nil)
	work := make(chan chunk)
	var workers []<-chan struct{}
	for range max(t.threads, 1) {
		workers = append(workers, device.Go(opLoad, func() { t.work(ctx, work) }))
	}
	t.cut(ctx, work)
	close(work)
	for _, over := range workers {
		<-over
	}
	for _, l := range t.lanes {
		if err := l.drain(); err != nil {
			t.stop(err)
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		var typed *device.Error
		if errors.As(cause, &typed) {
			return cause
		}
		return cancelled(opLoad, "the load", t.done.Load(), t.all)
	}
	t.report(0)
	return nil
}

// report counts bytes and calls tell.
func (t *transfer) report(bytes uint64) {
	t.done.Add(bytes)
	if t.tell == nil {
		return
	}
	t.telling.Lock()
	defer t.telling.Unlock()
	t.tell(t.done.Load(), t.all)
}

// cut sends the jobs to the workers in chunks of whole blocks.
func (t *transfer) cut(ctx context.Context, work chan<- chunk) {
	for _, j := range t.jobs {
		p := j.plan
		elements := p.view.elements() * p.unit
		size := p.pieces()
		count := size.first
		if p.encoded() {
			count = elements // one thread decodes the whole tensor
		}
		for first := uint64(0); first < elements; first, count = first+count, size.others {
			if left := elements - first; left <= count+size.slack {
				count = left
			}
			select {
			case work <- chunk{job: j, first: first, count: count}:
			case <-ctx.Done():
				return
			}
		}
	}
}

// work is the function of one thread of a transfer.
func (t *transfer) work(ctx context.Context, work <-chan chunk) {
	w := worker{transfer: t, tiles: map[*job]*tiles{}}
	for c := range work {
		if ctx.Err() != nil {
			continue
		}
		if err := w.safely(c); err != nil {
			t.stop(err)
		}
	}
}

// safely converts a memory fault to an error. The fault comes from memory of the caller that is not
// mapped, or from a mapped file that became shorter.
func (w *worker) safely(c chunk) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		fault, is := value.(interface{ Addr() uintptr })
		if !is {
			w.stop(device.Errorf(device.CodeInternal, opLoad, "a thread of the load failed"))
			panic(value)
		}
		t := c.job.plan.tensor
		err = device.Errorf(device.CodeInvalidAddress, opLoad, "%s: %q: the memory at %#x is not mapped, or its file became shorter", t.File(), t.Name, fault.Addr())
	}()
	return w.do(c)
}

type worker struct {
	*transfer
	tiles map[*job]*tiles
}

func (w *worker) do(c chunk) error {
	t := w.tiles[c.job]
	if t == nil {
		var err error
		if t, err = c.job.plan.open(); err != nil {
			return err
		}
		clear(w.tiles) // chunks come in the order of the jobs, so the earlier tiles are done
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
	if c.job.lane != nil {
		return w.staged(t, c, start, size)
	}
	if err := t.read(c.job.host[start:start+size], c.first, c.count); err != nil {
		return err
	}
	w.report(size)
	return nil
}

// staged reads a chunk in parts that fit a staging buffer, and queues a copy of each.
func (w *worker) staged(t *tiles, c chunk, start, size uint64) error {
	each, width := t.kind.Block()
	begin, isAdjacent := t.inFile()
	for done := uint64(0); done < size; {
		b := <-c.job.lane.spare
		// Direct reads move no byte if memory and file have the same distance from a block.
		skip := uint64(0)
		if isAdjacent && len(t.steps) == 0 {
			skip = (begin + start + done) % diskfile.Block
		}
		part := min(size-done, (uint64(len(b.memory))-skip)/width*width)
		count := part / width * each
		err := b.stream.Synchronize(device.Forever) // wait for the previous copy from this memory
		if err == nil {
			err = t.read(b.memory[skip:skip+part], c.first+done/width*each, count)
		}
		if err == nil {
			err = b.stream.CopyFromHost(c.job.addr+device.Addr(start+done), b.addr+device.HostAddr(skip), part)
		}
		c.job.lane.spare <- b
		if err != nil {
			return err
		}
		done += part
		w.report(part)
	}
	return nil
}
