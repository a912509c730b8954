package vmm

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// party is a test device with an engine and an elastic pool.
type party struct {
	dev    *devicetest.Device
	engine *engine.Engine
	shared *Elastic
}

// newParty takes the limit in pages. No worker runs.
func newParty(t require.TestingT, c devicetest.Config, limit uint64) *party {
	return newPartyWith(t, c, engine.Options{}, ElasticConfig{LimitBytes: limit * page}, false)
}

func newPartyWith(t require.TestingT, c devicetest.Config, o engine.Options, config ElasticConfig, hands bool) *party {
	if c.TotalBytes == 0 {
		c.TotalBytes = 64 * mib
	}
	dev := devicetest.Open(c)
	p := &party{dev: dev, engine: engine.New(dev, o)}
	config.Name, config.PageBytes = "shared", page
	var err error
	p.shared, err = newElastic(p.engine, config, hands)
	require.NoError(t, err)
	return p
}

// model registers a model with 64 pages of address space; guaranteed and most are
// in pages.
func (p *party) model(t require.TestingT, id string, guaranteed, most uint64, priority int32) *Model {
	m, err := p.shared.Register(id, ModelConfig{
		VirtualBytes: 64 * page, GuaranteedBytes: guaranteed * page, MaxBytes: most * page, Priority: priority,
	})
	require.NoError(t, err)
	return m
}

// get allocates pages; it must succeed.
func get(t require.TestingT, m *Model, pages uint64) Allocation {
	a, err := m.Alloc(pages * page)
	require.NoError(t, err)
	return a
}

func free(t require.TestingT, m *Model, a Allocation) {
	require.NoError(t, m.Free(a.OffsetBytes, a.SizeBytes, nil))
}

// short checks that a model cannot get that many pages, and that the error states the
// available pages.
func short(t require.TestingT, m *Model, pages, available uint64) {
	_, err := m.Alloc(pages * page)
	require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
	require.ErrorContains(t, err, fmt.Sprintf("requested %v, available %v", device.Size(pages*page), device.Size(available*page)))
}

// untilWaiting lets other threads run until that many allocations wait in a queue.
func (p *party) untilWaiting(n uint64) {
	for p.shared.GlobalStats().Waiting < n {
		runtime.Gosched()
	}
}

// audit compares the quota with the spaces, and the spaces with the Physical and the
// device.
func (p *party) audit() error {
	if err := p.shared.physical.audit(p.dev); err != nil {
		return err
	}
	s := p.shared
	stats := s.Stats()
	s.mu.Lock()
	defer s.mu.Unlock()
	var used, guaranteed, unused, virtual uint64
	for i, m := range s.ordered.Copy() {
		used += m.share.used
		guaranteed += m.share.guaranteed
		unused += m.share.unused()
		virtual += m.space.table.extent.Bytes()
		each := stats.Each[i]
		if err := compare(map[string][2]uint64{
			m.id + " used":     {m.share.used, m.space.table.used},
			m.id + " booked":   {m.share.booked, m.share.used},
			m.id + " physical": {each.PhysicalBytes, m.share.used * page},
			m.id + " mapped":   {each.MappedPages + each.RetiringPages + m.space.table.stillMapped, m.share.used},
			m.id + " waits":    {uint64(len(m.stage.line.waiting)), 0},
		}); err != nil {
			return err
		}
	}
	return compare(map[string][2]uint64{
		"quota used": {s.quota.used, used}, "quota guaranteed": {s.quota.guaranteed, guaranteed},
		"quota unused": {s.quota.unused, unused}, "shares": {uint64(len(s.quota.shares)), uint64(s.ordered.Len())},
		"models": {stats.Models, uint64(s.ordered.Len())}, "virtual": {stats.VirtualBytes, virtual},
		"stock": {s.physical.used, used}, "physical": {stats.PhysicalBytes, used * page},
		"pending": {stats.PendingBytes, 0}, "waiting": {stats.Waiting, 0},
		"cached": {stats.CachedBytes, stats.HeldBytes - stats.PhysicalBytes},
	})
}

func (p *party) check(t require.TestingT) { require.NoError(t, p.audit()) }

// quit ends a test and checks that nothing is left.
func (p *party) quit(t require.TestingT) {
	p.dev.ClearFaults()
	p.dev.Default().Release()
	p.check(t)
	require.NoError(t, p.shared.Close(true))
	require.ErrorIs(t, p.shared.Close(true), device.CodeInvalidState)
	require.Zero(t, p.dev.HeldBytes())
	require.Zero(t, p.dev.Pages())
	require.Zero(t, p.dev.Reservations())
	require.Zero(t, p.dev.OpenEvents())
	require.NoError(t, p.engine.Close())
}

// insideFlag marks the goroutine that runs a callback. Only one does so at a time.
type insideFlag struct{ id atomic.Uint64 }

func (f *insideFlag) options() engine.Options {
	return engine.Options{MayNotWait: func() bool { return f.id.Load() == goroutine() }}
}

// enter marks the calling goroutine, until the returned function is called.
func (f *insideFlag) enter() func() {
	f.id.Store(goroutine())
	return func() { f.id.Store(0) }
}

// goroutine returns the number of the calling goroutine.
func goroutine() (id uint64) {
	text := make([]byte, 64)
	text = text[:runtime.Stack(text, false)]
	_, _ = fmt.Sscanf(string(text), "goroutine %d ", &id)
	return id
}
