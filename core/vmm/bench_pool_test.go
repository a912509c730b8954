package vmm_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm"
)

var backingNames = map[device.Backing]string{device.BackingMovable: "movable", device.BackingPrivate: "private"}

// stopwatch measures the times of parts of a benchmark loop.
type stopwatch struct {
	lap  time.Duration
	laps []time.Duration
}

func (w *stopwatch) time(fn func()) {
	start := time.Now()
	fn()
	w.lap += time.Since(start)
}

// turn ends a lap.
func (w *stopwatch) turn() { w.laps, w.lap = append(w.laps, w.lap), 0 }

// report reports the median and the 99th percentile of the laps, divided by parts.
func (w *stopwatch) report(b *testing.B, name string, parts float64) {
	slices.Sort(w.laps)
	b.ReportMetric(float64(w.laps[len(w.laps)/2])/parts, name+"-ns")
	b.ReportMetric(float64(w.laps[len(w.laps)*99/100])/parts, name+"-p99-ns")
}

// BenchmarkPair measures Alloc and Free of one recycled 2 MiB page that was written in
// between, at the same offset and at a different offset each time. "pair" is the
// caller's path; "write" is the write of the whole page after it.
func BenchmarkPair(b *testing.B) {
	for _, backing := range backings {
		for _, place := range []string{"same", "other"} {
			b.Run(backingNames[backing]+"/"+place, func(b *testing.B) {
				dev, e := onHost(b, 1<<30)
				visible := dev.(device.HostVisible)
				p, err := vmm.NewPool(e, vmm.Config{Name: "p", CapacityBytes: 1 << 30, Backing: backing})
				require.NoError(b, err)
				size := p.PageBytes()
				var pair, write stopwatch
				round := func(offset uint64) {
					var addr device.Addr
					pair.time(func() { addr, err = p.Alloc(offset, size) })
					require.NoError(b, err)
					write.time(func() { err = visible.FillNow(addr, 1, size) })
					require.NoError(b, err)
					pair.time(func() { err = p.Free(offset, size, nil) })
					require.NoError(b, err)
					pair.turn()
					write.turn()
				}
				next := uint64(0)
				step := func() {
					round(next % p.CapacityBytes())
					if place == "other" {
						next += size
					}
				}
				for range 64 {
					step()
				}
				pair, write = stopwatch{}, stopwatch{}
				b.ResetTimer()
				for range b.N {
					step()
				}
				b.StopTimer()
				pair.report(b, "pair", 1)
				write.report(b, "write", 1)
				require.NoError(b, p.Close(true))
				require.NoError(b, e.Close())
			})
		}
	}
}

// Benchmark512Pages measures 512 recycled pages in one call: from one run, and from
// pages that are not adjacent.
func Benchmark512Pages(b *testing.B) {
	const count = 512
	for _, backing := range backings {
		for _, scattered := range []bool{false, true} {
			name := "/contiguous"
			if scattered {
				name = "/scattered"
			}
			b.Run(backingNames[backing]+name, func(b *testing.B) {
				_, e := onHost(b, 4<<30)
				p, err := vmm.NewPool(e, vmm.Config{Name: "p", CapacityBytes: 16 << 30, Backing: backing, ReadyPages: -1})
				require.NoError(b, err)
				size := p.PageBytes()
				if scattered {
					// Every other page must stay unavailable.
					_, err := p.Alloc(0, 2*count*size)
					require.NoError(b, err)
					for at := range uint64(count) {
						require.NoError(b, p.Free(2*at*size, size, nil))
					}
					require.NoError(b, p.SetLimit(2*count*size))
				}
				var allocate stopwatch
				offset := uint64(8 << 30)
				for range b.N {
					// Unmap parked pages first, as the worker does.
					_, err := p.Physical().Unpark(count)
					require.NoError(b, err)
					allocate.time(func() { _, err = p.Alloc(offset, count*size) })
					require.NoError(b, err)
					allocate.turn()
					require.NoError(b, p.Free(offset, count*size, nil))
				}
				allocate.report(b, "page", count)
				require.NoError(b, p.Close(true))
				require.NoError(b, e.Close())
			})
		}
	}
}

// BenchmarkReserve1TiB measures a pool of 1 TiB, which has only address space and
// tables.
func BenchmarkReserve1TiB(b *testing.B) {
	_, e := onHost(b, 1<<30)
	var open stopwatch
	for range b.N {
		var p *vmm.Pool
		var err error
		open.time(func() { p, err = vmm.NewPool(e, vmm.Config{Name: "p", CapacityBytes: 1 << 40}) })
		require.NoError(b, err)
		open.turn()
		require.NoError(b, p.Close(false))
	}
	open.report(b, "open", 1)
	require.NoError(b, e.Close())
}
