package sleep

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/pageset"
)

// lane is one of the streams of a transfer.
type lane struct {
	*Transfer
	queue   queue
	staging staging
	// depth is the largest number of copies of whole chunks in flight.
	depth int
	ended bool
}

func newLane(t *Transfer, stream device.Stream, bufferBytes uint64) *lane {
	l := &lane{Transfer: t, queue: queue{stream: stream}, staging: staging{keepers: t.Keepers, each: bufferBytes}, depth: 1}
	if t.Keepers.TakePinned != nil {
		l.depth = deepQueue
	}
	return l
}

// work is the body of a lane.
func (l *lane) work() {
	for j := range l.ready {
		if l.over() {
			break
		}
		err := l.Stopped()
		if err == nil {
			err = l.copy(l, j)
		}
		if err != nil {
			l.fail(err)
		}
	}
	if !l.over() {
		if err := l.settle(0); err != nil {
			l.fail(err)
		}
	}
	l.ended = true
}

// settle waits until at most that many copies are in flight.
func (l *lane) settle(most int) error {
	for len(l.queue.copies) > most {
		buffer, err := l.queue.finish()
		if buffer != nil {
			l.staging.spare = append(l.staging.spare, buffer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// close closes the stream, which drains it, and frees the buffers. What it could not
// close or free is returned for a later attempt.
func (l *lane) close() (left []Leftover) {
	one := Leftover{stream: l.queue.stream, buffers: l.staging.spare}
	for _, c := range l.queue.copies {
		if c.end != nil {
			one.events = append(one.events, c.end)
		}
		if c.chunk != nil {
			one.chunks = append(one.chunks, c.chunk)
		}
		if c.buffer != nil {
			one.buffers = append(one.buffers, c.buffer)
		}
	}
	if one.close() != nil {
		left = append(left, one)
	}
	return left
}

// toBlock copies the bytes of a job to host memory.
func (l *lane) toBlock(j Job) error {
	kept, err := l.takeBlock(j.Chunk.Run.Pages * l.Extent.PageBytes)
	if err != nil {
		return err
	}
	j.Chunk.block = kept
	l.Held(engine.Asleep{HostBytes: uint64(len(kept.Bytes))})
	if kept.Locked || !l.staging.hasPinned() {
		return l.direct(j, kept, l.depthOf(kept), l.toHost)
	}
	return l.outThrough(j, func(p part, from []byte) error {
		copy(kept.Bytes[p.offset:], from)
		return nil
	})
}

// takeBlock allocates memory for contents: page-locked memory, or pageable memory if no
// more can be locked.
func (l *lane) takeBlock(bytes uint64) (*Block, error) {
	if l.Keepers.TakePinned != nil && l.Pageable() == nil {
		b, err := l.Keepers.TakePinned(bytes)
		if err == nil {
			return b, nil
		}
		l.setPageable(err)
	}
	return l.Keepers.TakeBlock(bytes)
}

// depthOf returns how many copies may be in flight that use a block. A driver may wait
// for a copy of pageable memory, so there is only one.
func (l *lane) depthOf(b *Block) int {
	if b.Locked {
		return l.depth
	}
	return 1
}

// toFile copies the bytes of a job to the file of its chunk.
func (l *lane) toFile(j Job) error {
	return l.outThrough(j, func(p part, from []byte) error {
		return j.Chunk.file.write(j.Chunk, p.offset, from)
	})
}

// back copies the kept bytes of a chunk back to its pages, or zeros the pages if the
// contents were discarded.
func (l *lane) back(j Job) error {
	c := j.Chunk
	switch {
	case c.file != nil:
		check := c.file.check(c)
		return l.backThrough(j, true, func(p part, to []byte) error { return check.read(p.offset, to) })
	case c.block == nil:
		return l.zero(j)
	case c.block.Locked || !l.staging.hasPinned():
		return l.direct(j, c.block, l.depthOf(c.block), l.fromHost)
	}
	return l.backThrough(j, false, func(p part, to []byte) error {
		copy(to, c.block.Bytes[p.offset:])
		return nil
	})
}

// direct queues copies between the runs of a job and the memory of its chunk. At most
// depth copies are in flight then.
func (l *lane) direct(j Job, kept *Block, depth int, move func(device.HostAddr, span) error) error {
	if err := l.settle(depth - 1); err != nil {
		return err
	}
	err := l.queue.put(queuedCopy{chunk: j.Chunk}, func() error {
		for _, r := range j.Runs {
			offset := (r.Start - j.Chunk.Run.Start) * l.Extent.PageBytes
			if err := move(kept.Addr+device.HostAddr(offset), l.spanOf(r)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && depth == 1 {
		err = l.settle(0)
	}
	return err
}

// span is a range of device memory.
type span struct {
	addr device.Addr
	size uint64
}

func (l *lane) spanOf(r pageset.Run) span {
	return span{addr: l.Extent.Addr(r.Start), size: r.Pages * l.Extent.PageBytes}
}

func (l *lane) toHost(to device.HostAddr, s span) error {
	return l.queue.stream.CopyToHost(to, s.addr, s.size)
}

func (l *lane) fromHost(from device.HostAddr, s span) error {
	return l.queue.stream.CopyFromHost(s.addr, from, s.size)
}

// zero queues fills of runs.
func (l *lane) zero(j Job) error {
	if err := l.settle(l.depth - 1); err != nil {
		return err
	}
	err := l.queue.put(queuedCopy{}, func() error {
		for _, r := range j.Runs {
			s := l.spanOf(r)
			if err := l.queue.stream.Fill(s.addr, device.Pattern{WidthBytes: 1}, s.size); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && l.depth == 1 {
		err = l.settle(0)
	}
	return err
}
