package vmm

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// play is one fixed program of two models over all driver calls. Each step may fail;
// the program continues with what it has.
type play struct {
	*party
	stream *devicetest.Stream
	// calls is held by a running callback, which may run longer than the allocation
	// that started it.
	calls  sync.Mutex
	held   map[string][]Allocation
	failed int
}

func newPlay(t require.TestingT, backing device.Backing) *play {
	p := &play{held: map[string][]Allocation{}}
	p.party = newPartyWith(t, devicetest.Config{TotalBytes: 16 * page}, engine.Options{}, ElasticConfig{
		LimitBytes: 12 * page, ReadyPages: 2, Backing: backing,
	}, false)
	stream, err := p.dev.NewStream()
	require.NoError(t, err)
	p.stream = stream.(*devicetest.Stream)
	p.stream.Hold()
	return p
}

func (p *play) note(err error) bool {
	if err != nil {
		p.failed++
	}
	return err == nil
}

func (p *play) register(id string, guaranteed uint64) func() {
	return func() {
		_, err := p.shared.Register(id, ModelConfig{VirtualBytes: 16 * page, GuaranteedBytes: guaranteed * page})
		p.note(err)
	}
}

// allocate makes no assumptions: the model may be missing.
func (p *play) allocate(t require.TestingT, id string, pages uint64) func() {
	return func() {
		before, _ := p.shared.ModelStats(id)
		got, err := p.shared.Alloc(id, pages*page)
		p.calls.Lock()
		defer p.calls.Unlock()
		if p.note(err) {
			p.held[id] = append(p.held[id], got)
			return
		}
		after, _ := p.shared.ModelStats(id)
		require.Equal(t, before.MappedPages, after.MappedPages, "all or nothing")
		require.LessOrEqual(t, after.PhysicalBytes, before.PhysicalBytes)
	}
}

func (p *play) free(t require.TestingT, id string, queued bool) func() {
	return func() {
		if len(p.held[id]) == 0 {
			return
		}
		r := p.held[id][0]
		var stream device.Stream
		if queued {
			stream = p.stream
		}
		err := p.shared.Free(id, r.OffsetBytes, r.SizeBytes, stream)
		m, _ := p.shared.Model(id)
		require.Equal(t, err != nil, m.IsMapped(r.OffsetBytes, r.SizeBytes))
		if p.note(err) {
			p.held[id] = p.held[id][1:]
		}
	}
}

func (p *play) unregister(id string, force bool) func() {
	return func() {
		if p.note(p.shared.Unregister(id, force)) {
			delete(p.held, id)
			return
		}
		// The model keeps what could not be released, and has lost what was.
		m, err := p.shared.Model(id)
		if err != nil {
			return
		}
		kept := p.held[id][:0]
		for _, r := range p.held[id] {
			if m.IsMapped(r.OffsetBytes, r.SizeBytes) {
				kept = append(kept, r)
			}
		}
		p.held[id] = kept
	}
}

// reclaim registers a callback with which a model frees its oldest range.
func (p *play) reclaim(t require.TestingT, id string) func() {
	return func() {
		_, err := p.shared.OnReclaim(id, patient, func(uint64) uint64 {
			p.calls.Lock()
			defer p.calls.Unlock()
			p.free(t, id, false)()
			return 0
		})
		p.note(err)
	}
}

func (p *play) run(t require.TestingT, after func()) {
	steps := []func(){
		p.register("a", 2),
		p.register("b", 4),
		p.allocate(t, "a", 3),
		p.allocate(t, "b", 2),
		p.allocate(t, "a", 4),
		p.free(t, "a", false),
		p.allocate(t, "b", 3), // allocates what a has left
		func() { p.note(p.stream.HostFunction(func() {})) },
		p.free(t, "b", true),
		func() { p.stream.Step(100) },
		p.allocate(t, "a", 2),
		func() { p.shared.physical.Settle() },
		p.reclaim(t, "a"),
		p.allocate(t, "b", 6), // a has to free pages
		func() { p.note(p.shared.SetLimit(8 * page)) },
		func() { p.note(p.shared.SetLimit(12 * page)) },
		p.free(t, "b", false),
		func() { p.shared.physical.tick() },
		func() { p.dev.SetOthersBytes(8 * page) },
		p.allocate(t, "b", 1),
		func() { p.dev.SetOthersBytes(0) },
		p.unregister("a", true),
		p.register("c", 0),
		p.allocate(t, "c", 4),
		p.free(t, "c", false),
		p.unregister("c", false),
	}
	for _, step := range steps {
		step()
		after()
	}
}

// For every n the n-th driver call of the program fails. The models, the counters and
// the device are exact after every step, and later steps succeed.
func TestEveryDriverCallOfAnElasticPoolFailsOnce(t *testing.T) {
	for _, backing := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
		count := newPlay(t, backing)
		before := count.dev.Calls(devicetest.Any)
		count.run(t, func() {})
		require.Zero(t, count.failed, "without a fault every step works")
		calls := count.dev.Calls(devicetest.Any) - before
		require.Greater(t, calls, 40)
		seen := 0
		for n := 1; n <= calls; n++ {
			t.Run(fmt.Sprint("backing ", backing, " call ", n), func(t *testing.T) {
				p := newPlay(t, backing)
				p.dev.FailNth(devicetest.Any, n, nil)
				p.run(t, func() { p.check(t) })
				require.Zero(t, p.dev.ClearFaults(), "the fault was met")
				if p.failed > 0 {
					seen++
				}
				p.held = map[string][]Allocation{}
				p.register("next", 0)()
				p.allocate(t, "next", 1)()
				require.NotEmpty(t, p.held["next"], "the next operation works")
				p.stream.Release()
				require.NoError(t, p.stream.Close())
				p.quit(t)
			})
		}
		require.Greater(t, seen, calls/3, "faults are reported, not swallowed")
	}
}
