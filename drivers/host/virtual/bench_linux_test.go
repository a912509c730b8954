package virtual

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

const benchPage = 2 << 20

func createPages(t testing.TB, o *opened, n int, pageBytes uint64, backing device.Backing) []device.Page {
	t.Helper()
	pages := make([]device.Page, n)
	require.NoError(t, o.Create(pages, pageBytes, backing))
	t.Cleanup(func() { require.NoError(t, o.Release(pages)) })
	return pages
}

func reserveRange(t testing.TB, o *opened, size uint64) device.Addr {
	t.Helper()
	addr, err := o.Reserve(size, benchPage)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, o.Unreserve(addr, size)) })
	return addr
}

func median(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2].Nanoseconds()) / 1e3
}

func BenchmarkReserve1TiB(b *testing.B) {
	o := openLarge(b)
	var times []time.Duration
	for b.Loop() {
		start := time.Now()
		addr, _ := o.Reserve(1<<40, benchPage)
		times = append(times, time.Since(start))
		_ = o.Unreserve(addr, 1<<40)
	}
	b.ReportMetric(median(times), "reserve-us")
}

// BenchmarkVirtualPage creates and releases one page, alone and after the caller has
// written all of it.
func BenchmarkVirtualPage(b *testing.B) {
	for name, backing := range map[string]device.Backing{"movable": device.BackingMovable, "private": device.BackingPrivate} {
		for _, written := range []bool{false, true} {
			b.Run(map[bool]string{false: name, true: name + "-written"}[written], func(b *testing.B) {
				o := openLarge(b)
				page := createPages(b, o, 1, benchPage, backing)
				addr := reserveRange(b, o, 8*benchPage)
				var come, write, leave []time.Duration
				for b.Loop() {
					start := time.Now()
					_ = o.Map(addr, page)
					_ = o.SetAccess(addr, benchPage, device.AccessReadWrite)
					mapped := time.Now()
					if written {
						clear(view(addr, benchPage))
					}
					done := time.Now()
					_ = o.Unmap(addr, benchPage)
					come, write, leave = append(come, mapped.Sub(start)), append(write, done.Sub(mapped)), append(leave, time.Since(done))
				}
				b.ReportMetric(median(come), "map-us")
				b.ReportMetric(median(write), "write-us")
				b.ReportMetric(median(leave), "unmap-us")
			})
		}
	}
}

// BenchmarkVirtual512 compares 512 pages in one call with the system calls alone, in turn.
func BenchmarkVirtual512(b *testing.B) {
	const count = 512
	for _, scattered := range []bool{false, true} {
		b.Run(map[bool]string{false: "contiguous", true: "scattered"}[scattered], func(b *testing.B) {
			o := openLarge(b)
			pages := createPages(b, o, 2*count, benchPage, device.BackingMovable)
			order := slices.Clone(pages[:count])
			if scattered {
				for i := range order {
					order[i] = pages[2*(count-1-i)]
				}
			}
			addr := reserveRange(b, o, count*benchPage)
			bare := reserveRange(b, o, count*benchPage)
			fd := o.stores[0].fd
			var ours, theirs, unmap, theirUnmap []time.Duration
			for b.Loop() {
				start := time.Now()
				require.NoError(b, o.Map(addr, order))
				require.NoError(b, o.SetAccess(addr, count*benchPage, device.AccessReadWrite))
				ours = append(ours, time.Since(start))
				start = time.Now()
				require.NoError(b, o.Unmap(addr, count*benchPage))
				unmap = append(unmap, time.Since(start))
				start = time.Now()
				mapBare(bare, fd, count, scattered)
				theirs = append(theirs, time.Since(start))
				start = time.Now()
				_, _ = unix.MmapPtr(-1, 0, mapping.Pointer(uint64(bare)), count*benchPage, unix.PROT_NONE,
					unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE|unix.MAP_FIXED)
				theirUnmap = append(theirUnmap, time.Since(start))
			}
			mine, bareTime := median(ours), median(theirs)
			b.ReportMetric(mine, "ours-us")
			b.ReportMetric(bareTime, "bare-us")
			b.ReportMetric(mine/bareTime, "ratio")
			b.ReportMetric((mine-1.2*bareTime)/count, "us-a-page-over-1.2")
			b.ReportMetric(median(unmap), "unmap-us")
			b.ReportMetric(median(theirUnmap), "bare-unmap-us")
		})
	}
}

func mapBare(addr device.Addr, fd, count int, scattered bool) {
	const access, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_FIXED
	if !scattered {
		_, _ = unix.MmapPtr(fd, 0, mapping.Pointer(uint64(addr)), uintptr(count)*benchPage, access, flags)
		return
	}
	for i := range count {
		_, _ = unix.MmapPtr(fd, int64(2*(count-1-i))*benchPage, mapping.Pointer(uint64(addr)+uint64(i)*benchPage), benchPage, access, flags)
	}
}

// BenchmarkVirtualCounters measures the records of 512 scattered pages in one call, without
// the system calls.
func BenchmarkVirtualCounters(b *testing.B) {
	const count = 512
	m := mapping.System()
	o := openWith(b, m)
	pages := createPages(b, o, 2*count, scriptPage, device.BackingMovable)
	order := make([]device.Page, count)
	for i := range order {
		order[i] = pages[2*i]
	}
	addr := reserveRange(b, o, count*benchPage)
	m.Virtual.MapFile = func(uint64, uint64, mapping.FilePart, device.Access) error { return nil }
	nothing := func(uint64, uint64) error { return nil }
	m.Virtual.KeepFromChildren, m.Virtual.Clear = nothing, nothing
	m.Virtual.Loosen = func(uint64, uint64) {}
	var note, give, take []time.Duration
	for b.Loop() {
		start := time.Now()
		_ = o.Map(addr, order)
		mapped := time.Now()
		_ = o.SetAccess(addr, count*scriptPage, device.AccessReadWrite)
		given := time.Now()
		_ = o.Unmap(addr, count*scriptPage)
		note, give, take = append(note, mapped.Sub(start)), append(give, given.Sub(mapped)), append(take, time.Since(given))
	}
	b.ReportMetric(median(note)/count*1e3, "map-ns/page")
	b.ReportMetric(median(give)/count*1e3, "access-ns/page")
	b.ReportMetric(median(take)/count*1e3, "unmap-ns/page")
}

// BenchmarkRelease measures the release of 1 GiB of written memory to the system.
func BenchmarkRelease(b *testing.B) {
	const count = int(gib / benchPage)
	for name, backing := range map[string]device.Backing{"movable": device.BackingMovable, "private": device.BackingPrivate} {
		b.Run(name, func(b *testing.B) {
			o := openLarge(b)
			addr := reserveRange(b, o, gib)
			var unmap, release []time.Duration
			for b.Loop() {
				pages := make([]device.Page, count)
				require.NoError(b, o.Create(pages, benchPage, backing))
				require.NoError(b, o.Map(addr, pages))
				require.NoError(b, o.SetAccess(addr, gib, device.AccessReadWrite))
				memory := view(addr, gib)
				for at := 0; at < len(memory); at += 4096 {
					memory[at] = 1
				}
				start := time.Now()
				require.NoError(b, o.Unmap(addr, gib))
				unmapped := time.Now()
				require.NoError(b, o.Release(pages))
				unmap, release = append(unmap, unmapped.Sub(start)), append(release, time.Since(unmapped))
			}
			b.ReportMetric(median(unmap)/1e3, "unmap-ms/GiB")
			b.ReportMetric(median(release)/1e3, "release-ms/GiB")
		})
	}
}

// BenchmarkZero zeroes a page of which a part was written, in either way, and then writes
// all of it as its next owner.
func BenchmarkZero(b *testing.B) {
	m := mapping.SystemVirtual()
	for what, writtenBytes := range map[string]uint64{"whole": benchPage, "an-eighth": benchPage / 8, "untouched": 0} {
		for name, way := range map[string]func(mapping.FilePart, uint64) error{"overwrite": m.Overwrite, "punch": m.Punch} {
			b.Run(what+"-"+name, func(b *testing.B) {
				o := openLarge(b)
				page := createPages(b, o, 1, benchPage, device.BackingMovable)
				addr := reserveRange(b, o, benchPage)
				file := mapping.FilePart{FD: o.stores[0].fd}
				use := func(size uint64) time.Duration {
					require.NoError(b, o.Map(addr, page))
					require.NoError(b, o.SetAccess(addr, benchPage, device.AccessReadWrite))
					start := time.Now()
					for at := uint64(0); at < size; at += 4096 {
						view(addr, size)[at] = 1
					}
					taken := time.Since(start)
					require.NoError(b, o.Unmap(addr, benchPage))
					return taken
				}
				var zero, write []time.Duration
				for b.Loop() {
					require.NoError(b, m.Punch(file, benchPage))
					use(writtenBytes)
					start := time.Now()
					require.NoError(b, way(file, benchPage))
					zero = append(zero, time.Since(start))
					write = append(write, use(benchPage))
				}
				b.ReportMetric(median(zero), "zero-us")
				b.ReportMetric(median(write), "next-write-us")
			})
		}
	}
}
