package vmm

import (
	"fmt"
	"runtime"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/pageset"
)

const (
	kib = uint64(1) << 10
	mib = uint64(1) << 20
	// page is the page size of most tests.
	page = 64 * kib
)

// rig is a test device with an engine and a pool whose worker the test drives.
type rig struct {
	dev    *devicetest.Device
	engine *engine.Engine
	pool   *Pool
}

func newRig(t require.TestingT, c devicetest.Config, change func(*Config)) *rig {
	return newRigWith(t, c, engine.Options{}, change)
}

func newRigWith(t require.TestingT, c devicetest.Config, o engine.Options, change func(*Config)) *rig {
	if c.TotalBytes == 0 {
		c.TotalBytes = 64 * mib
	}
	dev := devicetest.Open(c)
	r := &rig{dev: dev, engine: engine.New(dev, o)}
	config := Config{Name: "p", CapacityBytes: 32 * page, PageBytes: page}
	if change != nil {
		change(&config)
	}
	var err error
	r.pool, err = newPool(r.engine, config, false)
	require.NoError(t, err)
	return r
}

// usedByOthers reports whether a stream other than the default one uses a page.
func (s *space) usedByOthers(page uint64) bool {
	users := s.table.users.Streams(pageset.Run{Start: page, Pages: 1})
	return len(users) != 1 || users[0] != s.physical.engine.Device().DefaultStream()
}

// audit compares all data that a space keeps about its pages.
func (s *space) audit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claims != 0 || s.unparking != 0 {
		return fmt.Errorf("%d claims and %d unmappings are under way", s.claims, s.unparking)
	}
	var live, parked, stuck, requested, mapped, asleep, jammed uint64
	left := map[uint32]uint32{}
	for p := range s.table.extent.Pages {
		isLive, isParked := s.table.live.Has(p), s.table.parked.Has(p)
		free, _ := s.table.free.Around(p)
		isFree := free.Start <= p && p < free.End()
		isAsleep := s.table.asleep.Has(p)
		switch number := s.table.allocated[p]; {
		case isAsleep && (isLive || isParked || isFree || number == 0):
			return fmt.Errorf("page %d sleeps and is %v %v %v %d", p, isLive, isParked, isFree, number)
		case s.table.shifting.Has(p):
			return fmt.Errorf("page %d is shifting", p)
		case isLive && (isParked || isFree || number == 0 || s.table.numbers[p] == 0):
			return fmt.Errorf("page %d is live and %v %v %d %d", p, isParked, isFree, number, s.table.numbers[p])
		case !isLive && !isAsleep && number != 0:
			return fmt.Errorf("page %d is not live and has allocation %d", p, number)
		case isParked && (!isFree || s.table.numbers[p] == 0):
			return fmt.Errorf("page %d is parked and %v %d", p, isFree, s.table.numbers[p])
		case isFree && !isParked && s.table.numbers[p] != 0:
			return fmt.Errorf("page %d is free and has physical page %d", p, s.table.numbers[p])
		case number == 0 && s.usedByOthers(p):
			return fmt.Errorf("page %d has no allocation and users %v", p, s.table.users.Streams(pageset.Run{Start: p, Pages: 1}))
		case s.table.stuck.Has(p) && !isParked:
			return fmt.Errorf("page %d is stuck and not parked", p)
		}
		if isLive {
			live++
			left[s.table.allocated[p]]++
			a := s.table.records.all[s.table.allocated[p]-1]
			requested += a.share(p*s.table.extent.PageBytes, (p+1)*s.table.extent.PageBytes)
		}
		if isParked {
			parked++
		}
		if isAsleep {
			asleep++
			left[s.table.allocated[p]]++
			if s.table.numbers[p] != 0 {
				jammed++
			}
		}
		if s.table.stuck.Has(p) {
			stuck++
		}
		if s.table.numbers[p] != 0 {
			mapped++
		}
	}
	retiring, behind := uint64(0), map[*retiree]int{}
	for _, q := range s.retirees.queues {
		for _, f := range q.fences {
			for _, r := range f.behind {
				if behind[r] == 0 {
					retiring += r.run.Pages
				}
				behind[r]++
			}
		}
	}
	for r, fences := range behind {
		if r.behind != fences {
			return fmt.Errorf("pages %v retire behind %d events, counted %d", r.run, r.behind, fences)
		}
	}
	for number, pages := range left {
		if s.table.records.all[number-1].left != pages {
			return fmt.Errorf("allocation %d has %d pages, counted %d", number-1, s.table.records.all[number-1].left, pages)
		}
	}
	if err := s.auditChunks(); err != nil {
		return err
	}
	var tagged, blocks uint64
	for _, use := range s.table.tags.Uses(nil) {
		tagged += use.RequestedBytes
		blocks += use.Blocks
	}
	return compare(map[string][2]uint64{
		"live": {s.table.live.Count(), live}, "parked": {s.table.parked.Count(), parked}, "stuck": {s.table.stuck.Count(), stuck},
		"retiring": {s.table.retiring, retiring}, "used": {s.table.used, live + retiring + jammed},
		"mapped": {mapped, live + retiring + parked + jammed}, "free": {s.table.free.Pages(), s.table.extent.Pages - live - retiring - asleep},
		"asleep": {s.table.asleep.Count(), asleep}, "jammed": {s.table.stillMapped, jammed},
		"records": {s.table.records.count(), uint64(len(left))}, "requested": {s.table.requested, requested},
		"tagged": {tagged, requested}, "tagged blocks": {blocks, uint64(len(left))},
	})
}

func compare(want map[string][2]uint64) error {
	for name, pair := range want {
		if pair[0] != pair[1] {
			return fmt.Errorf("%s is %d, counted %d", name, pair[0], pair[1])
		}
	}
	return nil
}

// audit compares the Physical with its spaces, its counters and the device, on which
// nothing else has pages.
func (ph *Physical) audit(dev *devicetest.Device) error {
	var used, parked, retiring, requested, records, jammed uint64
	for _, s := range ph.spacesFrom(nil) {
		if err := s.audit(); err != nil {
			return err
		}
		used += s.table.used
		jammed += s.table.stillMapped
		parked += s.table.parked.Count()
		retiring += s.table.retiring
		requested += s.table.requested
		records += s.table.records.count()
	}
	stats := ph.Statistics()
	if err := stats.Check(); err != nil {
		return err
	}
	ph.mu.Lock()
	defer ph.mu.Unlock()
	idle := len(ph.clean) + len(ph.orphans)
	for _, o := range ph.owners.All() {
		idle += len(o.idle)
	}
	return compare(map[string][2]uint64{
		"used": {ph.used, used}, "parked in all": {ph.parked, parked}, "idle": {ph.idle, uint64(idle)},
		"moving": {ph.moving, 0}, "created": {ph.created, used + parked + uint64(idle)},
		"reserved":  {stats.Reserved.Current, ph.created * ph.pageBytes},
		"active":    {stats.Active.Current, used * ph.pageBytes},
		"allocated": {stats.Allocated.Current, (used - retiring - jammed) * ph.pageBytes},
		"requested": {stats.Requested.Current, requested}, "live blocks": {stats.LiveBlocks.Current, records},
		"pages of the device":  {uint64(dev.Pages()), ph.created},
		"mapped in the device": {dev.MappedBytes(), (used + parked) * ph.pageBytes},
	})
}

// check runs audit and checks the counters of the engine.
func (r *rig) check(t require.TestingT) {
	require.NoError(t, r.pool.physical.audit(r.dev))
	sum := r.engine.Statistics()
	require.NoError(t, sum.Check())
	require.Equal(t, r.dev.HeldBytes(), sum.Reserved.Current)
	require.Equal(t, sum.Active.Current, r.engine.Totals().Used())
}

// quit ends a test and checks that nothing is left.
func (r *rig) quit(t require.TestingT) {
	r.dev.ClearFaults()
	r.dev.Default().Release()
	r.check(t)
	require.NoError(t, r.pool.Close(true))
	require.ErrorIs(t, r.pool.Close(true), device.CodeInvalidState)
	require.Zero(t, r.dev.HeldBytes())
	require.Zero(t, r.dev.Pages())
	require.Zero(t, r.dev.Reservations())
	require.Zero(t, r.dev.OpenEvents())
	require.NoError(t, r.engine.Close())
}

func text(n uint64) string { return fmt.Sprint(n) }

// sized formats a number of bytes as messages do.
func sized(n uint64) string { return device.Size(n).String() }

// until lets other threads run until a condition holds.
func until(t require.TestingT, is func() bool) {
	for deadline := time.Now().Add(20 * time.Second); !is(); runtime.Gosched() {
		require.True(t, time.Now().Before(deadline), "the condition did not become true")
	}
}
