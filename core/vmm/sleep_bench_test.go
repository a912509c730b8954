package vmm_test

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm"
)

// BenchmarkSleepAndWake measures Sleep to host memory and Wake of 256 MiB, and for
// comparison plain copies of the same bytes from pageable memory to pages that are
// accessed for the first time, on the same number of threads.
func BenchmarkSleepAndWake(b *testing.B) {
	const size, streams, part = uint64(256) << 20, 2, uint64(4) << 20
	for _, backing := range backings {
		b.Run(backingNames[backing], func(b *testing.B) {
			dev, e := onHost(b, 4<<30)
			p, err := vmm.NewPool(e, vmm.Config{Name: "p", CapacityBytes: 1 << 30, Backing: backing, ReadyPages: -1})
			require.NoError(b, err)
			trim := func() {
				_, err := p.Physical().Trim(0)
				require.NoError(b, err)
			}
			source := make([]byte, size)
			for i := range source {
				source[i] = byte(i >> 12)
			}
			lanes := make([]device.Stream, streams)
			for i := range lanes {
				lanes[i], err = dev.NewStream()
				require.NoError(b, err)
			}
			from := device.HostAddr(reflect.ValueOf(source).Pointer())
			var plain, sleep, wake stopwatch
			for range b.N {
				addr, err := p.Alloc(0, size)
				require.NoError(b, err)
				plain.time(func() {
					var wait sync.WaitGroup
					for lane, stream := range lanes {
						wait.Go(func() {
							for at := uint64(lane) * part; at < size; at += streams * part {
								if err := stream.CopyFromHost(addr+device.Addr(at), from+device.HostAddr(at), part); err != nil {
									panic(err)
								}
							}
							if err := stream.Synchronize(device.Forever); err != nil {
								panic(err)
							}
						})
					}
					wait.Wait()
				})
				plain.turn()
				sleep.time(func() { _, err = p.Sleep(context.Background(), vmm.SleepRequest{Streams: streams}) })
				require.NoError(b, err)
				sleep.turn()
				trim()
				wake.time(func() { _, err = p.Wake(context.Background(), vmm.WakeRequest{Streams: streams}) })
				require.NoError(b, err)
				wake.turn()
				require.NoError(b, p.Free(0, size, nil))
				trim()
			}
			mean := func(w stopwatch) float64 {
				var sum time.Duration
				for _, lap := range w.laps {
					sum += lap
				}
				return float64(sum) / float64(len(w.laps))
			}
			b.ReportMetric(mean(plain)/float64(size)*1e6, "plain-ns/MB")
			b.ReportMetric(mean(sleep)/float64(size)*1e6, "sleep-ns/MB")
			b.ReportMetric(mean(wake)/float64(size)*1e6, "wake-ns/MB")
			b.ReportMetric(mean(plain)/mean(wake), "wake-of-plain")
			for _, stream := range lanes {
				require.NoError(b, stream.Close())
			}
			require.NoError(b, p.Close(true))
			require.NoError(b, e.Close())
		})
	}
}
