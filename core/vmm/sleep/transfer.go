package sleep

import (
	"runtime"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/extent"
)

// defaultStreams bounds what 0 streams stand for.
const defaultStreams = 8

// Transfer copies chunks, some at a time, each on a stream and a thread of its own.
type Transfer struct {
	Device  device.Device
	Extent  *extent.Extent
	Keepers *Keepers
	// Op is what is under way: "sleep" or "wake".
	Op   string
	Jobs []Job
	// Stopped says why a copy must not begin; nil: it may.
	Stopped func() error
	// Held is told what was had to keep bytes in, before they are copied.
	Held func(engine.Asleep)

	copy   func(l *lane, j Job) error
	next   atomic.Int64
	mu     sync.Mutex
	failed error
}

// ToMemory keeps the bytes of all jobs in host memory. When a transfer fails, some jobs are
// done and none is under way, but for the chunks of what is left.
func (t *Transfer) ToMemory(streams int) (left []Leftover, err error) {
	t.copy = (*lane).toBlock
	return t.run(streams)
}

// ToFile keeps the bytes of all jobs in a new file of a directory, whose path it gives, ""
// if there is none.
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

// Back gives the pages of all jobs what is kept of them: zeros where nothing is. What is in
// files is compared with its sums.
func (t *Transfer) Back(streams int) (left []Leftover, err error) {
	t.copy = (*lane).back
	return t.run(streams)
}

// CheckHeads compares the heads of the files that jobs are kept in with what was written.
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
	for range min(streams, len(t.Jobs)) {
		stream, err := t.Device.NewStream()
		if err != nil {
			t.fail(err)
			break
		}
		l := &lane{Transfer: t, stream: stream}
		lanes = append(lanes, l)
		running = append(running, device.Go(t.Extent.Op(t.Op), l.work))
	}
	for i, l := range lanes {
		<-running[i]
		if !l.ended {
			t.fail(t.Extent.Fault(device.CodeInternal, t.Op, "a thread that copies ended before its work"))
		}
		left = append(left, l.close()...)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return left, t.failed
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
