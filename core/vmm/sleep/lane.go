package sleep

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// lane is one of the streams of a transfer.
type lane struct {
	*Transfer
	stream device.Stream
	// buffer holds the bytes between the device and a file.
	buffer *Block
	// unsure is the chunk of a queued copy that may not have completed.
	unsure *Chunk
	queued bool
	ended  bool
}

// work is the body of a lane.
func (l *lane) work() {
	for !l.over() {
		at := l.next.Add(1) - 1
		if at >= int64(len(l.Jobs)) {
			break
		}
		j := l.Jobs[at]
		err := l.Stopped()
		if err == nil {
			l.unsure = j.Chunk
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

// settle waits for the queued copies.
func (l *lane) settle() error {
	err := l.stream.Synchronize(device.Forever)
	if err == nil {
		l.queued = false
	}
	return err
}

// close closes the stream, which drains it. A stream that cannot be closed is returned,
// with the memory that its copy may use, for a later attempt.
func (l *lane) close() (left []Leftover) {
	err := l.stream.Close()
	if err != nil {
		one := Leftover{stream: l.stream, buffer: l.buffer}
		if l.queued {
			one.chunk = l.unsure
		}
		return []Leftover{one}
	}
	if l.buffer != nil {
		l.buffer.Free()
	}
	return nil
}

// toBlock copies the bytes of a job to host memory.
func (l *lane) toBlock(j Job) error {
	size := j.Chunk.Run.Pages * l.Extent.PageBytes
	kept, err := l.Keepers.TakeBlock(size)
	if err != nil {
		return err
	}
	j.Chunk.block = kept
	l.Held(engine.Asleep{HostBytes: size})
	return l.toHost(j, kept.Addr)
}

// toFile copies the bytes of a job to the file of its chunk.
func (l *lane) toFile(j Job) error {
	size := j.Chunk.Run.Pages * l.Extent.PageBytes
	buffer, err := l.staging(size)
	if err != nil {
		return err
	}
	if err := l.toHost(j, buffer.Addr); err != nil {
		return err
	}
	return j.Chunk.file.write(j.Chunk, buffer.Bytes[:size])
}

// back copies the kept bytes of a chunk back to its pages, or zeros the pages if the
// contents were discarded.
func (l *lane) back(j Job) error {
	c := j.Chunk
	switch {
	case c.block != nil:
		return l.fromHost(j, c.block.Addr)
	case c.file == nil:
		return l.zero(j)
	}
	size := c.Run.Pages * l.Extent.PageBytes
	buffer, err := l.staging(size)
	if err != nil {
		return err
	}
	if err := c.file.read(c, buffer.Bytes[:size]); err != nil {
		return err
	}
	return l.fromHost(j, buffer.Addr)
}

// toHost queues copies of runs to the memory of their chunk and waits for them.
func (l *lane) toHost(j Job, at device.HostAddr) error {
	for _, r := range j.Runs {
		offset := device.HostAddr((r.Start - j.Chunk.Run.Start) * l.Extent.PageBytes)
		l.queued = true
		if err := l.stream.CopyToHost(at+offset, l.Extent.Addr(r.Start), r.Pages*l.Extent.PageBytes); err != nil {
			return err
		}
	}
	return l.settle()
}

// fromHost is toHost in the other direction.
func (l *lane) fromHost(j Job, at device.HostAddr) error {
	for _, r := range j.Runs {
		offset := device.HostAddr((r.Start - j.Chunk.Run.Start) * l.Extent.PageBytes)
		l.queued = true
		if err := l.stream.CopyFromHost(l.Extent.Addr(r.Start), at+offset, r.Pages*l.Extent.PageBytes); err != nil {
			return err
		}
	}
	return l.settle()
}

// zero queues fills of runs and waits for them.
func (l *lane) zero(j Job) error {
	for _, r := range j.Runs {
		l.queued = true
		if err := l.stream.Fill(l.Extent.Addr(r.Start), device.Pattern{WidthBytes: 1}, r.Pages*l.Extent.PageBytes); err != nil {
			return err
		}
	}
	return l.settle()
}

// staging returns the lane's buffer for a file, with at least that many bytes.
func (l *lane) staging(bytes uint64) (*Block, error) {
	if l.buffer != nil && uint64(len(l.buffer.Bytes)) >= bytes {
		return l.buffer, nil
	}
	b, err := l.Keepers.TakeBlock(bytes)
	if err != nil {
		return nil, err
	}
	if l.buffer != nil {
		l.buffer.Free()
	}
	l.buffer = b
	return b, nil
}
