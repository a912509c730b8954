package sleep

import (
	"runtime"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/extent"
)

// Transfer copies chunks. Several copies run at once, each on its own stream and
// thread.
type Transfer struct {
	Device  device.Device
	Extent  *extent.Extent
	Keepers *Keepers
	// Op is the operation: "sleep" or "wake".
	Op   string
	Jobs []Job
	// Prepare is called with each job of Back, in order, before its copy begins. The
	// copies of earlier jobs continue meanwhile. nil: there is nothing to prepare.
	Prepare func(Job) error
	// Stopped returns an error if no further copy may begin, and nil otherwise.
	Stopped func() error
	// Held is called with the memory that was allocated for contents, before the copy.
	Held func(engine.Asleep)

	copy func(l *lane, j Job) error
	// ready has the jobs that may be copied.
	ready chan Job
	mu    sync.Mutex
	// failed is the first failure, pageable the reason why no more memory is locked.
	failed, pageable error
}

// ToMemory copies the bytes of all jobs to host memory. If it fails, some jobs are
// copied, and no copy is in progress except for the chunks in left.
func (t *Transfer) ToMemory(streams int) (left []Leftover, err error) {
	t.copy = (*lane).toBlock
	return t.run(streams)
}

// ToFile copies the bytes of all jobs to a new file of a directory. It returns the path
// of the file, or "" if there is none.
func (t *Transfer) ToFile(dir string, streams int) (path string, left []Leftover, err error) {
	f, err := newFile(t.Extent, t.Keepers, dir, t.Jobs)
	if err != nil {
		return "", nil, err
	}
	t.Held(engine.Asleep{FileBytes: PagesOf(t.Jobs) * t.Extent.PageBytes})
	t.copy = (*lane).toFile
	if left, err = t.run(streams); err == nil {
		err = f.seal()
	}
	return f.file.Name(), left, err
}

// Back copies the kept bytes of all jobs back to their pages, and zeros the pages of
// discarded contents. It compares contents of files with their checksums.
func (t *Transfer) Back(streams int) (left []Leftover, err error) {
	t.copy = (*lane).back
	return t.run(streams)
}

// CheckHeads compares the heads of the files of jobs with the heads that were written.
func CheckHeads(jobs []Job) error {
	var checked *savedFile
	for _, j := range jobs {
		if f := j.Chunk.file; f != nil && f != checked {
			checked = f
			if err := f.checkHead(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Transfer) run(streams int) (left []Leftover, err error) {
	if streams == 0 {
		streams = min(runtime.GOMAXPROCS(0), defaultStreams)
	}
	var lanes []*lane
	var running []<-chan struct{}
	count := min(streams, len(t.Jobs))
	t.ready = make(chan Job, len(t.Jobs))
	for range count {
		stream, err := t.Device.NewStream()
		if err != nil {
			t.fail(err)
			break
		}
		l := newLane(t, stream, t.Keepers.bufferBytes(t.longest(), count))
		lanes = append(lanes, l)
		running = append(running, device.Go(t.Extent.Op(t.Op), l.work))
	}
	t.prepare()
	for i, l := range lanes {
		<-running[i]
		if !l.ended {
			t.fail(t.Extent.Fault(device.CodeInternal, t.Op, "a thread that copies ended before its work was done"))
		}
		left = append(left, l.close()...)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return left, t.failed
}

// prepare prepares all jobs, until one fails.
func (t *Transfer) prepare() {
	defer close(t.ready)
	for _, j := range t.Jobs {
		if t.over() {
			return
		}
		if t.Prepare != nil {
			if err := t.Prepare(j); err != nil {
				t.fail(err)
				return
			}
		}
		t.ready <- j
	}
}

// longest returns the size of the longest chunk.
func (t *Transfer) longest() (bytes uint64) {
	for _, j := range t.Jobs {
		bytes = max(bytes, j.Chunk.Run.Pages*t.Extent.PageBytes)
	}
	return bytes
}

// Pageable returns the reason why ToMemory uses pageable memory for some contents; nil:
// it does not, or the device has no use for page-locked memory.
func (t *Transfer) Pageable() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pageable
}

func (t *Transfer) setPageable(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pageable = err
}

func (t *Transfer) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = err
	}
}

func (t *Transfer) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed != nil
}
