package replay

import (
	"context"
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/trace"
)

const op = "replay.run"

// block is one block from a memory.
type block struct {
	addr   device.Addr
	size   uint64
	tookNS int64 // time of the call that allocated it
}

// blockRequest is the request for a block.
type blockRequest struct {
	size uint64
	// end is the time at which the block will be freed, 0 if it is not passed on. group
	// is a number for the request that shares pages, 0 outside paged mode.
	end, group uint64
	// request is the index of the request in order of arrival.
	request int
}

// memory is the source of blocks: a pool, or nothing while a trace is only surveyed.
type memory interface {
	// alloc returns a block, or a refusal if there is no memory; an error ends the
	// replay.
	alloc(w blockRequest) (block, *refusal, error)
	free(b block) error
}

// refusal is the reason why there was no memory.
type refusal struct{ reason string }

// observer is notified of the events, in order of time.
type observer interface {
	// advance is the first call of a step.
	advance(now int64)
	allocated(size uint64)
	freed(size uint64)
	// requests is called when a request arrives, before its blocks, and when one ends.
	requests(running int)
	refused(f Failure)
}

// shared is a block that several requests hold.
type shared struct {
	block   block
	holders int
}

// holding has the blocks of one running request.
type holding struct {
	own  []block
	keys []trace.ShareKey
}

// player turns the steps of a schedule into calls of a memory.
type player struct {
	schedule *trace.Schedule
	memory   memory
	observer observer
	holdings map[int]*holding
	resident map[trace.ShareKey]*shared
	spare    []*holding // reused for their slices
	arrived  int
	// hints: the memory gets the time at which each block will be freed.
	hints bool
}

func newPlayer(s *trace.Schedule, m memory, o observer) *player {
	return &player{
		schedule: s, memory: m, observer: o,
		holdings: make(map[int]*holding), resident: make(map[trace.ShareKey]*shared),
	}
}

// step plays one step; false at the end of the schedule.
func (p *player) step() (bool, error) {
	s, ok := p.schedule.Next()
	if !ok {
		return false, nil
	}
	p.observer.advance(s.TimeNS)
	if s.Kind == trace.End {
		return true, p.end(s.Request)
	}
	if s.Kind == trace.Arrive {
		p.arrived++
		p.holdings[s.Request] = p.newHolding()
		p.observer.requests(len(p.holdings))
	}
	return true, p.add(s)
}

// add allocates further blocks for a request, or drops the request if one cannot be
// allocated.
func (p *player) add(s trace.Step) error {
	h := p.holdings[s.Request]
	w := p.blockRequest(s)
	for i := range s.Blocks {
		key, sharable := p.schedule.Shared(s.Request, s.FirstBlock+i)
		if sharable {
			if at, ok := p.resident[key]; ok {
				at.holders++
				h.keys = append(h.keys, key)
				continue
			}
		}
		b, refused, err := p.memory.alloc(w)
		switch {
		case err != nil:
			return err
		case refused != nil:
			p.observer.refused(Failure{
				Time: s.TimeNS, Request: s.Request, Line: p.schedule.Line(s.Request),
				SizeBytes: s.BlockBytes, Reason: refused.reason,
			})
			p.schedule.Drop(s.Request)
			return p.end(s.Request)
		}
		p.observer.allocated(s.BlockBytes)
		if sharable {
			p.resident[key] = &shared{block: b, holders: 1}
			h.keys = append(h.keys, key)
		} else {
			h.own = append(h.own, b)
		}
	}
	return nil
}

// blockRequest returns the request for the blocks of a step. A shared block is expected
// to end with the first of its requests.
func (p *player) blockRequest(s trace.Step) blockRequest {
	w := blockRequest{size: s.BlockBytes, request: s.Request}
	if p.hints {
		w.end = uint64(p.schedule.EndNS(s.Request))
	}
	if p.schedule.Rules().Mode == trace.Paged {
		w.group = uint64(s.Request) + 1
	}
	return w
}

// end frees the blocks that only this request holds.
func (p *player) end(request int) error {
	h := p.holdings[request]
	delete(p.holdings, request)
	for _, b := range h.own {
		if err := p.release(b); err != nil {
			return err
		}
	}
	for _, key := range h.keys {
		at := p.resident[key]
		if at.holders--; at.holders > 0 {
			continue
		}
		delete(p.resident, key)
		if err := p.release(at.block); err != nil {
			return err
		}
	}
	p.spare = append(p.spare, h)
	p.observer.requests(len(p.holdings))
	return nil
}

func (p *player) release(b block) error {
	p.observer.freed(b.size)
	return p.memory.free(b)
}

func (p *player) newHolding() *holding {
	if len(p.spare) == 0 {
		return &holding{}
	}
	h := p.spare[len(p.spare)-1]
	p.spare = p.spare[:len(p.spare)-1]
	h.own, h.keys = h.own[:0], h.keys[:0]
	return h
}

// demand is the memory that a trace would use if every request were served.
type demand struct {
	peakBytes   uint64
	totalBytes  uint64 // of all blocks ever; the largest number on overflow
	first, last int64  // times of the first and the last step
}

// survey plays a schedule without a pool to find its demand.
func survey(ctx context.Context, s *trace.Schedule) (demand, error) {
	c := &counter{}
	err := play(ctx, newPlayer(s, nowhere{}, c), func(int) {})
	if err == nil && c.overflow {
		err = device.Errorf(device.CodeOverflow, op, "the trace has more live bytes at one time than 64 bits can count")
	}
	return c.demand, err
}

// nowhere is a memory of unlimited size.
type nowhere struct{}

func (nowhere) alloc(w blockRequest) (block, *refusal, error) { return block{size: w.size}, nil, nil }
func (nowhere) free(block) error                              { return nil }

// counter computes the demand.
type counter struct {
	demand   demand
	live     uint64
	started  bool
	overflow bool
}

func (c *counter) advance(now int64) {
	if !c.started {
		c.started, c.demand.first = true, now
	}
	c.demand.last = now
}

func (c *counter) allocated(size uint64) {
	// After an overflow the sum is invalid and the replay is rejected.
	c.overflow = c.overflow || c.live+size < c.live
	c.live += size
	total, carry := bits.Add64(c.demand.totalBytes, size, 0)
	c.demand.totalBytes = total | -carry
	c.demand.peakBytes = max(c.demand.peakBytes, c.live)
}

func (c *counter) freed(size uint64) { c.live -= size }
func (c *counter) requests(int)      {}
func (c *counter) refused(Failure)   {}

// play runs a player to its end, and checks the context from time to time.
func play(ctx context.Context, p *player, arrived func(int)) error {
	const lookUpEvery = 256
	for steps := 0; ; steps++ {
		if steps%lookUpEvery == 0 {
			if ctx.Err() != nil {
				return device.Errorf(device.CodeCancelled, op, "stopped after %d of %d requests",
					p.arrived, p.schedule.Len())
			}
			arrived(p.arrived)
		}
		more, err := p.step()
		if err != nil {
			return err
		}
		if !more {
			arrived(p.arrived)
			return nil
		}
	}
}
