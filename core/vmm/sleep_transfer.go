package vmm

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/pageset"
)

// defaultSleepStreams bounds what 0 streams stand for.
const defaultSleepStreams = 8

// job is a chunk to copy, as far as its pages sleep, or are to.
type job struct {
	chunk *chunk
	runs  []pageset.Run
	// unmapped says that a Sleep has unmapped it.
	unmapped bool
}

// transfer copies chunks, some at a time, each on a stream and a thread of its own.
type transfer struct {
	space *space
	ctx   context.Context
	op    string
	jobs  []job
	// copy does one job on a lane and returns when it is done.
	copy func(l *lane, j job) error

	next   atomic.Int64
	mu     sync.Mutex
	failed error
}

// lane is one of the streams of a transfer.
type lane struct {
	*transfer
	stream device.Stream
	// buffer is between the device and a file.
	buffer *block
	// unsure is the chunk of a copy that was queued and may not be done.
	unsure *chunk
	queued bool
	ended  bool
}

func (s *space) checkStreams(op string, streams int) error {
	if streams < 0 || streams > MaxSleepStreams {
		return s.extent.Fault(device.CodeInvalidArgument, op, "streams %d: 0 to %d are possible", streams, MaxSleepStreams)
	}
	return nil
}

// run does all jobs. When it fails, some are done and none is under way, but for
// chunks that are pinned.
func (t *transfer) run(streams int) error {
	if streams == 0 {
		streams = min(runtime.GOMAXPROCS(0), defaultSleepStreams)
	}
	var lanes []*lane
	var running []<-chan struct{}
	for range min(streams, len(t.jobs)) {
		stream, err := t.space.physical.engine.Device().NewStream()
		if err != nil {
			t.fail(err)
			break
		}
		l := &lane{transfer: t, stream: stream}
		lanes = append(lanes, l)
		running = append(running, device.Go(t.space.extent.Op(t.op), l.work))
	}
	for i, l := range lanes {
		<-running[i]
		if !l.ended {
			t.fail(t.space.extent.Fault(device.CodeInternal, t.op, "a thread that copies ended before its work"))
		}
		l.close()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

func (t *transfer) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = err
	}
}

func (t *transfer) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed != nil
}

// work is the body of a lane.
func (l *lane) work() {
	for !l.over() {
		at := l.next.Add(1) - 1
		if at >= int64(len(l.jobs)) {
			break
		}
		j := l.jobs[at]
		err := l.space.stopped(l.ctx, l.op)
		if err == nil {
			l.unsure = j.chunk
			if err = l.copy(l, j); err == nil {
				l.unsure = nil
			}
		}
		if err != nil {
			l.fail(err)
		}
	}
	l.ended = true
}

// settle waits for what is queued.
func (l *lane) settle() error {
	err := l.stream.Synchronize(device.Forever)
	if err == nil {
		l.queued = false
	}
	return err
}

// close ends the stream, which runs dry. One that cannot be closed is left for
// later, and what its copy may use is kept until then.
func (l *lane) close() {
	err := l.stream.Close()
	if err == nil {
		l.queued = false
	}
	s := l.space
	s.mu.Lock()
	defer s.mu.Unlock()
	left := leftover{stream: l.stream, buffer: l.buffer}
	if l.queued && l.unsure != nil {
		l.unsure.pinned = true
		left.chunk = l.unsure
	}
	switch {
	case err != nil:
		s.leftovers = append(s.leftovers, left)
	case l.buffer != nil:
		l.buffer.free()
	}
}

// toHost queues copies of runs to where their chunk lies in host memory.
func (l *lane) toHost(j job, at device.HostAddr) error {
	for _, r := range j.runs {
		offset := device.HostAddr((r.Start - j.chunk.run.Start) * l.space.extent.PageBytes)
		l.queued = true
		if err := l.stream.CopyToHost(at+offset, l.space.extent.Addr(r.Start), r.Pages*l.space.extent.PageBytes); err != nil {
			return err
		}
	}
	return l.settle()
}

// fromHost is toHost the other way.
func (l *lane) fromHost(j job, at device.HostAddr) error {
	for _, r := range j.runs {
		offset := device.HostAddr((r.Start - j.chunk.run.Start) * l.space.extent.PageBytes)
		l.queued = true
		if err := l.stream.CopyFromHost(l.space.extent.Addr(r.Start), at+offset, r.Pages*l.space.extent.PageBytes); err != nil {
			return err
		}
	}
	return l.settle()
}

// zero queues fills of runs.
func (l *lane) zero(j job) error {
	for _, r := range j.runs {
		l.queued = true
		if err := l.stream.Fill(l.space.extent.Addr(r.Start), device.Pattern{WidthBytes: 1}, r.Pages*l.space.extent.PageBytes); err != nil {
			return err
		}
	}
	return l.settle()
}

// staging is the lane's buffer for a file, of at least so many bytes.
func (l *lane) staging(bytes uint64) (*block, error) {
	if l.buffer != nil && uint64(len(l.buffer.bytes)) >= bytes {
		return l.buffer, nil
	}
	b, err := l.space.physical.keepers.takeBlock(bytes)
	if err != nil {
		return nil, err
	}
	if l.buffer != nil {
		l.buffer.free()
	}
	l.buffer = b
	return b, nil
}
