package pool

import (
	"errors"

	"ferrum_mem/core/device"
)

// Reset frees every live block of one moment, as Free does on a stream (nil: the
// default one), and takes back what the caches hold. It does not wait. Errors:
// those of the stream; then nothing was freed.
func (p *Pool) Reset(stream device.Stream) error {
	if stream == nil {
		stream = p.defaultStream
	}
	p.Flush()
	idle, err := isDry(stream)
	if err != nil {
		return err
	}
	j := &leave{stream: stream, idle: idle}
	if !idle {
		if err := j.mark(stream); err != nil {
			return err
		}
	}
	for {
		if err := p.takeOverAll(); err != nil {
			return errors.Join(err, j.closeMarks())
		}
		j.addrs = p.ownLive()
		again, err := p.tryRetire(j)
		switch code := device.CodeOf(err); {
		case err == nil && !again:
			p.changed()
			return p.told(j, nil)
		case err != nil && code != device.CodeDoubleFree && code != device.CodeInvalidAddress:
			return errors.Join(err, j.closeMarks())
		}
		// Another thread has freed one of the blocks meanwhile, or named a stream.
	}
}

// takeOverAll makes all live blocks that are on lease the pool's own.
func (p *Pool) takeOverAll() error {
	p.mu.Lock()
	cache, state := p.leases.cache, p.state
	p.mu.Unlock()
	if state != stateOpen {
		return p.closedError("pool.reset")
	}
	if cache == nil {
		return nil
	}
	for _, c := range leasedLive(cache) {
		// One that is not there any more was freed meanwhile.
		if err := p.takeOver(c.Addr); err != nil && !isNotLive(err) {
			return err
		}
	}
	return nil
}

func isNotLive(err error) bool {
	return errors.Is(err, device.CodeDoubleFree) || errors.Is(err, device.CodeInvalidAddress)
}

// ownLive lists the live blocks of the pool's own.
func (p *Pool) ownLive() []device.Addr {
	p.mu.Lock()
	defer p.mu.Unlock()
	var addrs []device.Addr
	for _, s := range p.segments {
		s.eachBlock(func(l located) bool {
			if l.info().state() == blockLive {
				addrs = append(addrs, p.describe(l).Addr)
			}
			return true
		})
	}
	return addrs
}
