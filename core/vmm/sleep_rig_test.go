package vmm

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/sleep"
)

// blocks counts the host memory that a test's keepers have allocated and not freed.
type blocks struct {
	dev   *devicetest.Device
	taken int
	bytes uint64
}

// keep makes a Physical keep contents where a test device can reach them.
func keep(ph *Physical, dev *devicetest.Device) *blocks {
	b := &blocks{dev: dev}
	ph.keepers.TakeBlock = func(size uint64) (*sleep.Block, error) {
		bytes := make([]byte, size)
		ph.mu.Lock()
		defer ph.mu.Unlock()
		b.taken++
		b.bytes += size
		return &sleep.Block{Addr: dev.HostBuffer(bytes), Bytes: bytes, Free: func() error {
			ph.mu.Lock()
			defer ph.mu.Unlock()
			b.taken--
			b.bytes -= size
			return nil
		}}, nil
	}
	if ph.keepers.TakePinned != nil {
		ph.keepers.TakePinned = func(size uint64) (*sleep.Block, error) {
			return sleep.TakePinned(dev, dev, size, dev.HostBytes)
		}
	}
	return b
}

// auditChunks compares the kept chunks with the sleeping pages. The caller holds mu.
func (s *space) auditChunks() error {
	var sum engine.Asleep
	asleep := uint64(0)
	holders := map[uint64]*sleep.Chunk{}
	for _, j := range s.table.saved.Jobs(func(uint32) bool { return true }) {
		c := j.Chunk
		for _, part := range j.Runs {
			for p := part.Start; p < part.End(); p++ {
				if !s.table.asleep.Has(p) {
					return fmt.Errorf("page %d is kept and does not sleep", p)
				}
				if holders[p] != nil {
					return fmt.Errorf("page %d sleeps in two chunks", p)
				}
				holders[p] = c
				if tag := s.table.records.all[s.table.allocated[p]-1].tag; tag != c.Tag {
					return fmt.Errorf("page %d has tag %d in a chunk of tag %d", p, tag, c.Tag)
				}
			}
		}
		left := sleep.LengthOf(j.Runs)
		if left != c.Left() || left == 0 {
			return fmt.Errorf("chunk at page %d has %d pages left, counted %d", c.Run.Start, c.Left(), left)
		}
		asleep += left
		sum = sum.Plus(c.Held())
		switch bytes := left * s.table.extent.PageBytes; {
		case c.Discarded():
			sum.DiscardedBytes += bytes
		case c.InPlace() != 0:
			sum.HostBytes += bytes
		}
	}
	if sum != s.table.saved.Held() {
		return fmt.Errorf("held is %+v, counted %+v", s.table.saved.Held(), sum)
	}
	if !s.table.saved.Clean() {
		return fmt.Errorf("chunks or streams are left")
	}
	return compare(map[string][2]uint64{"in chunks": {s.table.asleep.Count(), asleep}})
}

func (r *rig) fill(t require.TestingT, first, pages uint64, value byte) {
	require.NoError(t, r.dev.FillNow(r.pool.BaseAddress()+device.Addr(first*page), value, pages*page))
}

func (r *rig) holds(t require.TestingT, first, pages uint64, value byte) {
	_, other, err := r.dev.FirstOther(r.pool.BaseAddress()+device.Addr(first*page), value, pages*page)
	require.NoError(t, err)
	require.False(t, other, "page %d", first)
}

var background = context.Background()

func backed(c devicetest.Config) devicetest.Config {
	c.Backed = true
	return c
}

func TestSleepingPagesWakeWithTheirBytes(t *testing.T) {
	for _, backing := range []SleepBacking{SleepToHost, SleepToFile, SleepDiscard} {
		for _, pages := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
			t.Run(fmt.Sprint(backing, pages), func(t *testing.T) {
				r := newRig(t, backed(devicetest.Config{}), func(c *Config) { c.Backing = pages })
				kept := keep(r.pool.physical, r.dev)
				_, err := r.pool.AllocTagged(AllocRequest{OffsetBytes: 2 * page, SizeBytes: 3 * page, Tag: "weights"})
				require.NoError(t, err)
				_, err = r.pool.AllocTagged(AllocRequest{OffsetBytes: 7*page + 5, SizeBytes: page, Tag: "kv"})
				require.NoError(t, err)
				r.fill(t, 2, 3, 7)
				r.fill(t, 7, 2, 9)
				before, counters := r.pool.Stats(), r.engine.Statistics()
				dir := ""
				if backing == SleepToFile {
					dir = t.TempDir()
				}
				report, err := r.pool.Sleep(background, SleepRequest{Backing: backing, Dir: dir})
				require.NoError(t, err)
				require.Equal(t, 5*page, report.Bytes)
				require.Equal(t, backing == SleepToFile, report.Path != "")
				r.check(t)
				stats := r.pool.Stats()
				require.Zero(t, stats.PhysicalBytes)
				require.Equal(t, 5*page, stats.AsleepBytes)
				require.False(t, r.pool.IsMapped(2*page, page))
				require.Equal(t, 5*page, r.engine.Asleep().HostBytes+r.engine.Asleep().FileBytes+r.engine.Asleep().DiscardedBytes)
				require.Zero(t, r.engine.Statistics().Active.Current)

				woken, err := r.pool.Wake(background, WakeRequest{Tag: "weights"})
				require.NoError(t, err)
				require.Equal(t, 3*page, woken.Bytes)
				r.check(t)
				_, err = r.pool.Wake(background, WakeRequest{})
				require.NoError(t, err)
				r.check(t)
				if backing == SleepDiscard {
					r.holds(t, 2, 3, 0)
					r.holds(t, 7, 2, 0)
				} else {
					r.holds(t, 2, 3, 7)
					r.holds(t, 7, 2, 9)
				}
				after := r.pool.Stats()
				require.Equal(t, uint64(1), after.Sleeps)
				require.Equal(t, uint64(2), after.Wakes)
				after.SleepStats, after.ReadyPages, after.HeldBytes = before.SleepStats, before.ReadyPages, before.HeldBytes
				after.TableBytes = before.TableBytes
				require.Equal(t, before, after)
				require.Equal(t, counters.Active, r.engine.Statistics().Active)
				require.Equal(t, counters.LiveBlocks, r.engine.Statistics().LiveBlocks)
				require.Zero(t, kept.taken)
				r.quit(t)
			})
		}
	}
}
