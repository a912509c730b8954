package pool

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

const opClose = "pool.close"

// Close gives everything back to the device. It is CodeBusy, and changes
// nothing, while blocks are live, unless force. It waits for queued work that
// uses freed blocks and, when live blocks go with it, for all work of the
// device. When the driver fails, what could not be given back stays in the
// pool, which is open as before, and Close may be called again.
func (p *Pool) Close(force bool) error {
	if err := p.beginClose(force); err != nil {
		return err
	}
	err := p.waitForWork()
	p.layout.Lock()
	if err == nil {
		err = p.giveBackAll()
	}
	p.mu.Lock()
	if err == nil {
		p.state = stateClosed
	} else {
		p.state = stateOpen
	}
	p.mu.Unlock()
	p.layout.Unlock()
	p.engine.SegmentsChanged()
	p.engine.Changed()
	if err == nil {
		p.engine.Unregister(p)
	}
	return err
}

func (p *Pool) beginClose(force bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != stateOpen {
		return p.closedError(opClose)
	}
	stats := p.books.Statistics()
	if live := stats.LiveBlocks.Current; live > 0 && !force {
		return device.Errorf(device.CodeBusy, opClose, "pool %q has %d live blocks of %d bytes",
			p.config.Name, live, stats.Allocated.Current).On(p.engine.ID())
	}
	p.state = stateClosing
	return nil
}

// waitForWork waits for queued work that uses freed blocks, and for all work
// when blocks are still live. The pool is closing, so nothing is allocated or
// freed any more. No lock is held: the work may itself search for room and ask
// this pool for segments.
func (p *Pool) waitForWork() error {
	for {
		landed, err := p.WaitForFlight(device.Forever)
		if err != nil {
			return err
		}
		if !landed {
			break
		}
	}
	p.mu.Lock()
	live := p.blocks.count
	p.mu.Unlock()
	if live == 0 {
		return nil
	}
	err := p.engine.Synchronize(device.Forever)
	if errors.Is(err, device.CodeDeviceLost) {
		return nil
	}
	return err
}

// giveBackAll gives every segment to the device. The caller holds layout.
func (p *Pool) giveBackAll() error {
	p.mu.Lock()
	segments := append([]*segment{}, p.segments...)
	p.mu.Unlock()
	var failures error
	for _, s := range segments {
		if err := p.engine.Release(s.had); err != nil {
			failures = errors.Join(failures, err)
			continue
		}
		p.forget(s)
	}
	return failures
}

// forget drops a segment that the device has back, and its live blocks.
func (p *Pool) forget(s *segment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var gone []entry
	p.blocks.each(func(e *entry) {
		if e.addr >= s.had.Addr && e.addr-s.had.Addr < device.Addr(s.had.SizeBytes) {
			gone = append(gone, *e)
		}
	})
	for _, e := range gone {
		sizes := track.Block{RequestedBytes: e.requested, AllocatedBytes: e.size}
		p.books.Retire(sizes)
		p.tags.Leave(e.tag, sizes)
		p.blocks.remove(e.addr)
		p.books.Land(e.size)
	}
	p.detach(s)
	p.held -= s.had.SizeBytes
}
