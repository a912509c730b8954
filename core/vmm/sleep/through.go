package sleep

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/pageset"
)

// Copies through staging buffers: a chunk is copied in parts that fit a buffer.

// part is a part of a chunk.
type part struct {
	// offset counts from the first byte of the chunk.
	offset, size uint64
}

// parts calls fn for the parts of a chunk, in order.
func (l *lane) parts(c *Chunk, fn func(part) error) error {
	size := c.Run.Pages * l.Extent.PageBytes
	for at := uint64(0); at < size; at += l.staging.each {
		if err := fn(part{offset: at, size: min(l.staging.each, size-at)}); err != nil {
			return err
		}
	}
	return nil
}

// buffer returns a staging buffer that no copy uses. It waits for the oldest copies if
// there is none.
func (l *lane) buffer() (*Block, error) {
	if err := l.staging.grow(); err != nil {
		return nil, err
	}
	for len(l.staging.spare) == 0 {
		if err := l.settle(len(l.queue.copies) - 1); err != nil {
			return nil, err
		}
	}
	last := len(l.staging.spare) - 1
	b := l.staging.spare[last]
	l.staging.spare = l.staging.spare[:last]
	return b, nil
}

// outThrough copies a whole chunk out. keep gets the bytes of each part, in order, when
// they are in a buffer; for the last parts that is after the return.
func (l *lane) outThrough(j Job, keep func(p part, from []byte) error) error {
	return l.parts(j.Chunk, func(p part) error {
		b, err := l.buffer()
		if err != nil {
			return err
		}
		then := func() error { return keep(p, b.Bytes[:p.size]) }
		return l.queue.put(queuedCopy{buffer: b, then: then}, func() error { return l.between(j, p, b, l.toHost) })
	})
}

// backThrough copies the runs of a chunk back. fill writes the bytes of a part to a
// buffer. It gets the parts in order: all of them, or those that the runs touch.
func (l *lane) backThrough(j Job, all bool, fill func(p part, to []byte) error) error {
	return l.parts(j.Chunk, func(p part) error {
		touched := l.touches(j, p)
		if !touched && !all {
			return nil
		}
		b, err := l.buffer()
		if err != nil {
			return err
		}
		if err = fill(p, b.Bytes[:p.size]); err != nil || !touched {
			l.staging.spare = append(l.staging.spare, b)
			return err
		}
		return l.queue.put(queuedCopy{buffer: b}, func() error { return l.between(j, p, b, l.fromHost) })
	})
}

// common returns the range that a run of a job and a part have in common, as offsets in
// the chunk.
func (l *lane) common(j Job, r pageset.Run, p part) (low, high uint64) {
	first := (r.Start - j.Chunk.Run.Start) * l.Extent.PageBytes
	return max(first, p.offset), min(first+r.Pages*l.Extent.PageBytes, p.offset+p.size)
}

func (l *lane) touches(j Job, p part) bool {
	for _, r := range j.Runs {
		if low, high := l.common(j, r, p); low < high {
			return true
		}
	}
	return false
}

// between queues copies between a buffer and the ranges that the runs of a job and a
// part have in common.
func (l *lane) between(j Job, p part, b *Block, move func(device.HostAddr, span) error) error {
	start := l.Extent.Addr(j.Chunk.Run.Start)
	for _, r := range j.Runs {
		low, high := l.common(j, r, p)
		if low >= high {
			continue
		}
		if err := move(b.Addr+device.HostAddr(low-p.offset), span{addr: start + device.Addr(low), size: high - low}); err != nil {
			return err
		}
	}
	return nil
}
