package trace

import "math"

// A schedule traverses two sorted sequences at once: the requests in order of arrival,
// and a heap with the next step of each running request. So its memory is proportional to
// the number of running requests. The millions of blocks of a paged replay never exist as
// a list.

// StepKind is the kind of a step.
type StepKind uint8

const (
	// End frees every block of the request. It comes before any allocation at the same
	// time.
	End StepKind = iota
	// Grow adds blocks to a running request.
	Grow
	// Arrive starts a request with its first blocks; there may be none.
	Arrive
)

// Step is one step of one request (or lifetime).
type Step struct {
	// TimeNS is the time after the first arrival in nanoseconds. For lifetimes it is in
	// the unit of the trace.
	TimeNS int64
	Kind   StepKind
	// Request is the index of the request in order of arrival, from 0.
	Request int
	// FirstBlock is the index of the first block that is added, and Blocks the number of
	// blocks.
	FirstBlock, Blocks uint64
	// BlockBytes is the size of each block.
	BlockBytes uint64
}

// ShareKey names the tokens of a block that several requests may share.
type ShareKey struct {
	// PrefixID is the trace's id of 512 tokens; Part is the index of the block in them.
	PrefixID uint64
	Part     uint32
}

// Schedule returns the steps of a trace in order of time. At equal times, ends come
// first, then allocations in order of arrival. It belongs to one goroutine.
type Schedule struct {
	trace    *Trace
	rules    Rules
	requests []Request
	next     int // the next request or lifetime to arrive
	pending  stepHeap
	dropped  map[int]struct{} // running requests that have no further steps
}

// NewSchedule creates the schedule of a trace. It returns CodeInvalidArgument for rules
// that do not fit the trace.
func NewSchedule(t *Trace, rules Rules) (*Schedule, error) {
	rules, err := rules.normalise(t)
	if err != nil {
		return nil, err
	}
	return &Schedule{
		trace: t, rules: rules,
		requests: jittered(t.Requests, rules),
		dropped:  make(map[int]struct{}),
	}, nil
}

// Rules returns the rules in use, with defaults filled in.
func (s *Schedule) Rules() Rules { return s.rules }

// Len returns the number of requests or lifetimes.
func (s *Schedule) Len() int { return s.trace.Len() }

// Restart returns to the start. Dropped requests are played again.
func (s *Schedule) Restart() {
	s.next = 0
	s.pending = s.pending[:0]
	clear(s.dropped)
}

// Drop ends a request now: it has no further steps, not even its End. The request must
// have arrived and not have ended.
func (s *Schedule) Drop(request int) { s.dropped[request] = struct{}{} }

// Line returns the line of the file with a request.
func (s *Schedule) Line(request int) int {
	if s.rules.Mode == Lifetimes {
		return int(s.trace.Lifetimes[request].Line)
	}
	return int(s.requests[request].Line)
}

// EndNS returns when a request, or lifetime, ends unless it is dropped: the TimeNS of its
// End. It is above 0 for every request that has a block.
func (s *Schedule) EndNS(request int) int64 {
	if s.rules.Mode == Lifetimes {
		return s.trace.Lifetimes[request].Upper
	}
	return s.requests[request].endNS()
}

// Next returns the next step; false at the end.
func (s *Schedule) Next() (Step, bool) {
	for {
		arrival := s.nextArrival()
		if len(s.pending) > 0 && s.pending[0].before(arrival) {
			p := s.pending.pop()
			if _, gone := s.dropped[p.request]; gone {
				delete(s.dropped, p.request)
				continue
			}
			return s.continueRequest(p), true
		}
		if s.next == s.trace.Len() {
			return Step{}, false
		}
		s.next++
		return s.start(arrival), true
	}
}

// nextArrival returns the arrival of the next request. If there is none, its time is
// after all steps.
func (s *Schedule) nextArrival() pending {
	switch {
	case s.next == s.trace.Len():
		return pending{timeNS: math.MaxInt64, kind: Arrive, request: s.next}
	case s.rules.Mode == Lifetimes:
		return pending{timeNS: s.trace.Lifetimes[s.next].Lower, kind: Arrive, request: s.next}
	}
	return pending{timeNS: s.requests[s.next].ArrivalNS, kind: Arrive, request: s.next}
}

func (s *Schedule) start(p pending) Step {
	step := Step{TimeNS: p.timeNS, Kind: Arrive, Request: p.request, Blocks: 1}
	switch s.rules.Mode {
	case Lifetimes:
		life := s.trace.Lifetimes[p.request]
		step.BlockBytes = life.SizeBytes
		s.pending.push(pending{timeNS: life.Upper, kind: End, request: p.request})
	case Contiguous:
		r := s.requests[p.request]
		step.BlockBytes = (uint64(r.InputTokens) + uint64(r.OutputTokens)) * s.rules.BytesPerToken
		if step.BlockBytes == 0 {
			step.Blocks = 0
		}
		s.pending.push(pending{timeNS: r.endNS(), kind: End, request: p.request})
	default:
		r := s.requests[p.request]
		step.BlockBytes = BlockTokens * s.rules.BytesPerToken
		step.Blocks = blocksFor(uint64(r.InputTokens))
		s.pending.push(s.afterBlocks(p.request, step.Blocks))
	}
	return step
}

func (s *Schedule) continueRequest(p pending) Step {
	step := Step{TimeNS: p.timeNS, Kind: p.kind, Request: p.request}
	if p.kind == Grow {
		step.FirstBlock, step.Blocks = p.block, 1
		step.BlockBytes = BlockTokens * s.rules.BytesPerToken
		s.pending.push(s.afterBlocks(p.request, p.block+1))
	}
	return step
}

// afterBlocks returns the next step of a paged request that has the given number of
// blocks: it grows when a token is generated that has no place in them, or it ends. The
// last token is generated at the end itself, when all blocks are freed, so it never needs
// a block.
func (s *Schedule) afterBlocks(request int, blocks uint64) pending {
	r := s.requests[request]
	token := blocks*BlockTokens - uint64(r.InputTokens) + 1
	if token >= uint64(r.OutputTokens) {
		return pending{timeNS: r.endNS(), kind: End, request: request}
	}
	when := r.ArrivalNS + int64(r.InputTokens)*PrefillNSPerToken + int64(token)*DecodeNSPerToken
	return pending{timeNS: when, kind: Grow, request: request, block: blocks}
}

func blocksFor(tokens uint64) uint64 { return (tokens + BlockTokens - 1) / BlockTokens }

func (r Request) endNS() int64 {
	return r.ArrivalNS + int64(r.InputTokens)*PrefillNSPerToken + int64(r.OutputTokens)*DecodeNSPerToken
}

// Shared returns the tokens of a paged request's block if other requests may have the
// same tokens in a block. A block that the input fills only partly is not shared, because
// generated tokens are written to it.
func (s *Schedule) Shared(request int, block uint64) (ShareKey, bool) {
	if s.rules.Mode != Paged {
		return ShareKey{}, false
	}
	r := s.requests[request]
	if r.prefixCount == 0 || (block+1)*BlockTokens > uint64(r.InputTokens) {
		return ShareKey{}, false
	}
	const parts = PrefixTokens / BlockTokens
	place := block / parts
	if place >= uint64(r.prefixCount) {
		return ShareKey{}, false
	}
	return ShareKey{PrefixID: s.trace.prefixIDs[r.prefixStart+place], Part: uint32(block % parts)}, true
}

// pending is the next step of a running request.
type pending struct {
	timeNS  int64
	kind    StepKind
	request int
	block   uint64
}

// before orders by time, then ends before allocations, then by arrival. A request never
// has two pending steps.
func (p pending) before(q pending) bool {
	if p.timeNS != q.timeNS {
		return p.timeNS < q.timeNS
	}
	if pEnds, qEnds := p.kind == End, q.kind == End; pEnds != qEnds {
		return pEnds
	}
	return p.request < q.request
}

// stepHeap is a binary heap. container/heap would allocate memory for every entry.
type stepHeap []pending

func (h *stepHeap) push(p pending) {
	entries := append(*h, p)
	i := len(entries) - 1
	for i > 0 && entries[i].before(entries[(i-1)/2]) {
		entries[i], entries[(i-1)/2] = entries[(i-1)/2], entries[i]
		i = (i - 1) / 2
	}
	*h = entries
}

func (h *stepHeap) pop() pending {
	entries := *h
	top := entries[0]
	last := len(entries) - 1
	entries[0] = entries[last]
	entries = entries[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if entries[child].before(entries[least]) {
				least = child
			}
		}
		if least == i {
			break
		}
		entries[i], entries[least] = entries[least], entries[i]
		i = least
	}
	*h = entries
	return top
}
