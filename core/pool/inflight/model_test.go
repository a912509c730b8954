package inflight

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// queueOfWork stands for a stream; only its identity matters here.
type queueOfWork struct {
	device.Stream
	events []*point
}

// point is an event that completes when the test sets it.
type point struct {
	of           *queueOfWork
	done, closed bool
	// refuses is the number of calls of Close that fail before one succeeds.
	refuses int
}

func (e *point) Done() (bool, error) { return e.done, nil }

func (e *point) Synchronize(time.Duration) error { return nil }

func (e *point) PassedAt() (time.Duration, error) { return 0, nil }

func (e *point) Close() error {
	if e.closed {
		panic("an event is closed twice")
	}
	if e.refuses > 0 {
		e.refuses--
		return errors.New("not now")
	}
	e.closed = true
	return nil
}

// record returns a new event at the end of a stream's queue.
func (q *queueOfWork) record() *point {
	e := &point{of: q}
	q.events = append(q.events, e)
	return e
}

// run completes the work of the oldest events of a queue.
func (q *queueOfWork) run(events int) {
	for _, e := range q.events[:events] {
		e.done = true
	}
	q.events = q.events[events:]
}

// model is the reference model: each block with all events for which it waits.
type model struct {
	Blocks
	random  *rand.Rand
	streams []*queueOfWork
	loose   []*point
	waits   map[device.Addr][]*point
	sizes   map[device.Addr]uint64
	fences  map[*point]Fence
	made    []*point
	next    device.Addr
}

func newModel(seed uint64) *model {
	m := &model{
		random: rand.New(rand.NewPCG(seed, 1)), waits: map[device.Addr][]*point{},
		sizes: map[device.Addr]uint64{}, fences: map[*point]Fence{}, next: 256,
	}
	m.Init(true)
	for range 3 {
		m.streams = append(m.streams, &queueOfWork{})
	}
	return m
}

// fence creates a fence, or chooses an open one.
func (m *model) fence() *point {
	for _, e := range m.made {
		if !e.done && m.random.IntN(4) == 0 && m.IsOpen(m.fences[e]) {
			return e
		}
	}
	var e *point
	if m.random.IntN(5) == 0 {
		e = &point{}
		m.loose = append(m.loose, e)
		m.fences[e] = m.Fence(nil, e)
	} else {
		s := m.streams[m.random.IntN(len(m.streams))]
		e = s.record()
		m.fences[e] = m.Fence(s, e)
	}
	m.made = append(m.made, e)
	e.refuses = max(0, m.random.IntN(6)-4)
	return e
}

func (m *model) add() error {
	var events []*point
	var fences []Fence
	for range 1 + m.random.IntN(3) {
		e := m.fence()
		if f := m.fences[e]; !slices.Contains(fences, f) {
			events, fences = append(events, e), append(fences, f)
		}
	}
	if err := m.Reserve(1, len(fences)); err != nil {
		return err
	}
	size := uint64(1+m.random.IntN(16)) * 64
	m.waits[m.next], m.sizes[m.next] = events, size
	m.Add(Block{m.next, size}, fences)
	m.next += 4096
	return nil
}

// open returns the events for which a block really still waits.
func (m *model) open(addr device.Addr) (events []*point) {
	for _, e := range m.waits[addr] {
		if !e.done {
			events = append(events, e)
		}
	}
	return events
}

// takeCompleted takes in all blocks whose events have completed, and checks that these are the
// right ones.
func (m *model) takeCompleted() error {
	for more := true; more; {
		var completed []Block
		completed, more = m.TakeCompleted(PollAll)
		for _, b := range completed {
			if size, ok := m.sizes[b.Addr]; !ok || size != b.SizeBytes || len(m.open(b.Addr)) > 0 {
				return fmt.Errorf("block %#x completed, which waits for %d events", b.Addr, len(m.open(b.Addr)))
			}
			delete(m.waits, b.Addr)
			delete(m.sizes, b.Addr)
		}
	}
	for addr := range m.waits {
		if len(m.open(addr)) == 0 {
			return fmt.Errorf("block %#x was not taken", addr)
		}
	}
	return nil
}

// find searches for a block of a stream, and takes it.
func (m *model) find() error {
	s := m.streams[m.random.IntN(len(m.streams))]
	want := Want{SizeBytes: uint64(1+m.random.IntN(16)) * 64, AlignBytes: 64, Excess: [...]Excess{Fits, Wastes, Exactly}[m.random.IntN(3)]}
	number, found := m.Find(s, want)
	for _, one := range m.FindMany(s, want, 3) {
		if err := m.suits(m.At(one), s, want); err != nil {
			return err
		}
	}
	if !found {
		// If no list is longer than what find examines, a suitable block must be found.
		if len(m.waits) > reuseLooks {
			return nil
		}
		for addr, size := range m.sizes {
			open := m.open(addr)
			if size == want.SizeBytes && len(open) == 1 && open[0].of == s {
				return fmt.Errorf("block %#x of %d bytes was not found", addr, size)
			}
		}
		return nil
	}
	b := m.At(number)
	if err := m.suits(b, s, want); err != nil {
		return err
	}
	m.Drop(number)
	delete(m.waits, b.Addr)
	delete(m.sizes, b.Addr)
	return nil
}

// suits checks a block that was found: it waits only for the stream itself.
func (m *model) suits(b Block, s *queueOfWork, want Want) error {
	for _, e := range m.open(b.Addr) {
		if e.of != s {
			return fmt.Errorf("block %#x was found, which waits for another stream", b.Addr)
		}
	}
	most := want.SizeBytes + want.SizeBytes/4
	if want.Excess == Wastes {
		most = ^uint64(0)
	} else if want.Excess == Exactly {
		most = want.SizeBytes
	}
	if b.SizeBytes != m.sizes[b.Addr] || b.SizeBytes < want.SizeBytes || b.SizeBytes > most {
		return fmt.Errorf("block %#x of %d bytes was found for %d", b.Addr, b.SizeBytes, want.SizeBytes)
	}
	return nil
}

// work completes some of the queued work.
func (m *model) work() {
	if n := len(m.loose); n > 0 && m.random.IntN(3) == 0 {
		i := m.random.IntN(n)
		m.loose[i].done = true
		m.loose = append(m.loose[:i], m.loose[i+1:]...)
	}
	s := m.streams[m.random.IntN(len(m.streams))]
	s.run(m.random.IntN(len(s.events) + 1))
}

// step is one random call.
func (m *model) step() error {
	switch m.random.IntN(5) {
	case 0, 1:
		return m.add()
	case 2:
		m.work()
		return m.takeCompleted()
	case 3:
		if err := m.takeCompleted(); err != nil {
			return err
		}
		return m.find()
	default:
		completed, _ := m.TakeCompleted(PollBudget)
		for _, b := range completed {
			if len(m.open(b.Addr)) > 0 {
				return fmt.Errorf("block %#x completed too early", b.Addr)
			}
			delete(m.waits, b.Addr)
			delete(m.sizes, b.Addr)
		}
		return nil
	}
}

// end completes all work and checks that nothing is left.
func (m *model) end() error {
	for _, e := range m.loose {
		e.done = true
	}
	for _, s := range m.streams {
		s.run(len(s.events))
	}
	if err := m.takeCompleted(); err != nil {
		return err
	}
	for range 3 {
		// Later polls close events whose Close failed.
		m.TakeCompleted(PollAll)
	}
	for e, f := range m.fences {
		m.DropUnused(f)
		if !e.closed && !m.IsOpen(f) {
			return errors.New("an event is left that no block waits for")
		}
	}
	if m.Count() != 0 || len(m.waits) != 0 {
		return fmt.Errorf("%d blocks are left, %d in the model", m.Count(), len(m.waits))
	}
	return nil
}

// runModel makes 2000 random calls; spoil is called before each of them.
func runModel(seed uint64, spoil func(*Blocks)) error {
	m := newModel(seed)
	for step := range 2000 {
		spoil(&m.Blocks)
		if err := m.step(); err != nil {
			return fmt.Errorf("seed %d, step %d: %w", seed, step, err)
		}
		if m.Count() != len(m.waits) {
			return fmt.Errorf("seed %d, step %d: %d blocks, %d in the model", seed, step, m.Count(), len(m.waits))
		}
	}
	if err := m.end(); err != nil {
		return fmt.Errorf("seed %d: %w", seed, err)
	}
	m.Blocks.End().Free()
	return nil
}

func TestBlocksWaitForExactlyTheirEvents(t *testing.T) {
	for seed := range uint64(60) {
		require.NoError(t, runModel(seed, func(*Blocks) {}))
	}
}

// TestModelDetectsErrors breaks the separation of streams and fences.
func TestModelDetectsErrors(t *testing.T) {
	spoilers := map[string]func(*Blocks){
		"streams are taken for one": func(b *Blocks) {
			for stream := range b.byStream {
				b.byStream[stream] = b.active[0]
			}
			b.recent = loose
		},
		"fences pass too early": func(b *Blocks) {
			for i := range b.fences {
				b.fences[i].passed = b.fences[i].event != nil
			}
		},
		"blocks of several streams are offered": func(b *Blocks) {
			for i := range b.blocks.items {
				if item := &b.blocks.items[i]; item.left == 2 && item.queue == none {
					if q := b.fences[b.links.items[item.first].fence].queue; q != loose {
						b.queues[q].reuse.add(b.blocks.items, int32(i))
						item.queue = q
					}
				}
			}
		},
	}
	for name, spoil := range spoilers {
		seen := false
		for seed := uint64(0); seed < 20 && !seen; seed++ {
			seen = runModel(seed, spoil) != nil
		}
		require.True(t, seen, name)
	}
}
