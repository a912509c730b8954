package replay

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"pgregory.net/rapid"

	"ferrum_mem/core/trace"
)

// The reference model of a contiguous replay goes through every instant in turn. It knows
// only how many pages each model has.

type naiveModel struct {
	requests  []naiveRequest
	line      []*naiveRequest
	pages     uint64
	live      uint64
	most      uint64
	failed    uint64
	waits     uint64
	peakPages uint64
	peakLive  uint64
}

type naiveRequest struct {
	arrival, end int64
	bytes, pages uint64
	model        int
	since        int64
	running      bool
}

type naiveModels struct {
	models    []*naiveModel
	limit     uint64
	wait      int64
	peakPages uint64
	// area is the integral of the pages over time.
	area float64
	last int64
}

// naiveSplit creates a reference model. most has the maximum of each model in pages.
func naiveSplit(models []ModelTrace, bytesPerToken, limit uint64, most []uint64, wait int64) *naiveModels {
	n := &naiveModels{limit: limit, wait: wait}
	for i, m := range models {
		each := &naiveModel{most: most[i]}
		for _, r := range m.Trace.Requests {
			bytes := uint64(r.InputTokens+r.OutputTokens) * bytesPerToken
			at := r.ArrivalNS + m.DelayNS
			each.requests = append(each.requests, naiveRequest{
				arrival: at, end: at + int64(r.InputTokens)*200_000 + int64(r.OutputTokens)*30_000_000,
				bytes: bytes, pages: (bytes + testPage - 1) / testPage, model: i,
			})
		}
		n.models = append(n.models, each)
	}
	return n
}

func (n *naiveModels) used() (sum uint64) {
	for _, m := range n.models {
		sum += m.pages
	}
	return sum
}

func (n *naiveModels) start(r *naiveRequest, now int64) bool {
	m := n.models[r.model]
	if n.used()+r.pages > n.limit || m.pages+r.pages > m.most {
		return false
	}
	r.end += now - r.arrival
	r.running = true
	m.pages += r.pages
	m.live += r.bytes
	m.peakPages, m.peakLive = max(m.peakPages, m.pages), max(m.peakLive, m.live)
	n.peakPages = max(n.peakPages, n.used())
	return true
}

func (n *naiveModels) serve(now int64) {
	for stuck := map[int]bool{}; ; {
		var first *naiveRequest
		for i, m := range n.models {
			if len(m.line) > 0 && !stuck[i] && (first == nil || m.line[0].since < first.since) {
				first = m.line[0]
			}
		}
		if first == nil {
			return
		}
		m := n.models[first.model]
		if !n.start(first, now) {
			stuck[first.model] = true
			continue
		}
		m.line = m.line[1:]
		m.waits++
	}
}

// nextTime returns the first instant after now at which something happens.
func (n *naiveModels) nextTime(now int64) int64 {
	next := int64(math.MaxInt64)
	consider := func(at int64) {
		if at > now {
			next = min(next, at)
		}
	}
	for _, m := range n.models {
		for i := range m.requests {
			consider(m.requests[i].arrival)
			if m.requests[i].running {
				consider(m.requests[i].end)
			}
		}
		for _, w := range m.line {
			consider(w.since + n.wait)
		}
	}
	return next
}

func (n *naiveModels) play() {
	for now := n.nextTime(-1); now != math.MaxInt64; now = n.nextTime(now) {
		n.area += float64(n.used()) * float64(now-n.last)
		n.last = now
		n.ends(now)
		for _, m := range n.models {
			for len(m.line) > 0 && m.line[0].since+n.wait == now {
				m.line = m.line[1:]
				m.failed++
				n.serve(now)
			}
		}
		for _, m := range n.models {
			for i := range m.requests {
				r := &m.requests[i]
				if r.arrival != now {
					continue
				}
				switch {
				case len(m.line) == 0 && n.start(r, now):
				case n.wait > 0 && (len(m.line) > 0 || r.pages <= min(m.most, n.limit)):
					r.since = now
					m.line = append(m.line, r)
				default:
					m.failed++
				}
				// A request without tokens ends when it arrives.
				n.ends(now)
			}
		}
	}
}

// ends ends the requests that are due, in the order of models, then of requests. After each
// end it serves the waiting requests.
func (n *naiveModels) ends(now int64) {
	var due []*naiveRequest
	for _, m := range n.models {
		for i := range m.requests {
			if r := &m.requests[i]; r.running && r.end == now {
				due = append(due, r)
			}
		}
	}
	sort.SliceStable(due, func(i, j int) bool { return due[i].model < due[j].model })
	for _, r := range due {
		m := n.models[r.model]
		r.running = false
		m.pages -= r.pages
		m.live -= r.bytes
		n.serve(now)
	}
}

// drawLoad draws requests that have at least one token.
func drawLoad(t *rapid.T, label string) *trace.Trace {
	var b strings.Builder
	at := 0
	for range rapid.IntRange(1, 15).Draw(t, label) {
		at += rapid.IntRange(0, 40).Draw(t, "gap") * 10
		fmt.Fprintf(&b, `{"timestamp":%d,"input_length":%d,"output_length":%d}`+"\n",
			at, rapid.IntRange(1, 1500).Draw(t, "input"), rapid.IntRange(0, 30).Draw(t, "output"))
	}
	return readTrace(t, b.String())
}
