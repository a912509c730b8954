package vmm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/sleep"
)

// nap is a fixed program of sleeps and wakes of a model. Each step may fail.
type nap struct {
	*party
	model   *Model
	kept    *blocks
	dir     string
	streams int
	stream  *devicetest.Stream
	// values has the bytes of the pages with an allocation; lost has those that are
	// zeros when they are awake.
	values map[uint64]byte
	lost   map[uint64]bool
	// asleep has the backing of the sleeping pages.
	asleep map[uint64]SleepBacking
	failed int
	last   error
	// firstFault is the number of the driver call that fails. Steps before it do the same
	// in every run, so run does not check them.
	firstFault int
	// unused counts the faults that a step did not reach.
	unused int
}

const napTags = 2

func newNap(t *testing.T, pages device.Backing, streams int) *nap {
	return newNapIn(t, pages, streams, hostPlaces[0])
}

func newNapIn(t *testing.T, pages device.Backing, streams int, place hostPlace) *nap {
	return newNapWith(t, pages, streams, place, t.TempDir())
}

func newNapWith(t *testing.T, pages device.Backing, streams int, place hostPlace, dir string) *nap {
	n := &nap{
		party: newPartyWith(t, place.config(), engine.Options{}, ElasticConfig{
			LimitBytes: 16 * page, Backing: pages, ReadyPages: -1,
		}, false),
		dir: dir, streams: streams, values: map[uint64]byte{}, lost: map[uint64]bool{}, asleep: map[uint64]SleepBacking{},
	}
	n.kept = keep(n.shared.physical, n.dev)
	n.shared.physical.keepers.ChunkBytes = 2 * page
	place.set(n.shared.physical)
	n.model = n.party.model(t, "m", 4, 0, 0)
	for tag, ranges := range [napTags][][2]uint64{{{0, 3}, {3, 1}, {9, 2}}, {{4, 2}, {13, 1}}} {
		for _, r := range ranges {
			_, err := n.model.AllocTaggedAt(AllocRequest{OffsetBytes: r[0] * page, SizeBytes: r[1] * page, Tag: n.tag(tag)})
			require.NoError(t, err)
			for at := r[0]; at < r[0]+r[1]; at++ {
				n.values[at] = byte(at + 1)
				require.NoError(t, n.dev.FillNow(n.addr(at), byte(at+1), page))
			}
		}
	}
	stream, err := n.dev.NewStream()
	require.NoError(t, err)
	n.stream = stream.(*devicetest.Stream)
	return n
}

func (n *nap) tag(number int) string { return []string{"weights", "kv"}[number] }

func (n *nap) addr(at uint64) device.Addr { return n.model.BaseAddress() + device.Addr(at*page) }

func (n *nap) note(err error) bool {
	if err != nil {
		n.failed++
		n.last = err
	}
	return err != nil
}

// sleep puts a tag to sleep; if that fails, everything is as before.
func (n *nap) sleep(t *testing.T, tag string, backing SleepBacking) func() {
	return func() {
		if n.model.IsAsleep(tag) {
			return // A wake before this has failed.
		}
		r := SleepRequest{Tag: tag, Backing: backing, Streams: n.streams, Stream: n.stream}
		if backing == SleepToFile {
			r.Dir = n.dir
		}
		n.stream.Hold()
		queued := n.stream.HostFunction(func() {}) == nil
		n.stream.Release()
		require.True(t, n.failed > 0 || queued || n.dev.ClearFaults() == 0)
		before := n.model.Stats()
		_, err := n.model.Sleep(background, r)
		after := n.model.Stats()
		if n.note(err) {
			require.Equal(t, before.AsleepPages, after.AsleepPages)
			require.Equal(t, before.AsleepHostBytes+before.AsleepFileBytes, after.AsleepHostBytes+after.AsleepFileBytes)
			require.Equal(t, before.PhysicalBytes, after.PhysicalBytes)
			require.Equal(t, before.MappedPages, after.MappedPages)
			require.False(t, n.model.IsAsleep(tag))
			return
		}
		for at := range n.values {
			if _, sleeps := n.asleep[at]; !sleeps && !n.model.IsMapped(at*page, page) {
				n.asleep[at] = backing
			}
		}
	}
}

func (n *nap) wake(t *testing.T, tag string) func() {
	return func() {
		if tag != "" && !n.model.IsAsleep(tag) || tag == "" && !n.model.space.table.saved.Tags.Any() {
			return // A sleep before this has failed.
		}
		before := n.model.Stats()
		_, err := n.model.Wake(background, WakeRequest{Tag: tag, Streams: n.streams})
		after := n.model.Stats()
		if n.note(err) {
			require.Equal(t, before.AsleepPages, after.AsleepPages)
			require.Equal(t, before.AsleepHostBytes+before.AsleepFileBytes, after.AsleepHostBytes+after.AsleepFileBytes)
			require.Equal(t, before.PhysicalBytes, after.PhysicalBytes)
			return
		}
		for at, backing := range n.asleep {
			if n.model.IsMapped(at*page, page) {
				delete(n.asleep, at)
				n.lost[at] = n.lost[at] || backing == SleepDiscard
			}
		}
	}
}

// look reads the pages that are awake, when no fault is set.
func (n *nap) look(t *testing.T) {
	for at, value := range n.values {
		_, asleep := n.asleep[at]
		require.Equal(t, !asleep, n.model.IsMapped(at*page, page), "page %d", at)
		if asleep {
			continue
		}
		found := n.dev.Bytes(n.addr(at), page)
		if n.lost[at] && found[0] == 0 {
			value = 0
		}
		require.Equal(t, int(page), bytes.Count(found, []byte{value}), "page %d", at)
	}
}

func (n *nap) run(t *testing.T) {
	for _, step := range []func(){
		n.sleep(t, "kv", SleepToHost), n.wake(t, "kv"),
		n.sleep(t, "weights", SleepToFile), n.sleep(t, "", SleepToHost), n.wake(t, "weights"), n.wake(t, "kv"),
		n.sleep(t, "", SleepToFile), n.wake(t, "kv"), n.sleep(t, "kv", SleepToHost), n.wake(t, ""),
		n.sleep(t, "kv", SleepDiscard), n.sleep(t, "weights", SleepToHost), n.wake(t, ""),
	} {
		step()
		if n.dev.Calls(devicetest.Any) >= n.firstFault {
			n.check(t)
			n.look(t)
		}
	}
}

// end wakes everything and checks all bytes.
func (n *nap) end(t *testing.T) {
	if n.model.space.table.saved.Tags.Any() {
		_, err := n.model.Wake(background, WakeRequest{})
		require.NoError(t, err, "the next one works")
		for at, backing := range n.asleep {
			n.lost[at] = n.lost[at] || backing == SleepDiscard
		}
		clear(n.asleep)
	}
	n.look(t)
	_, err := n.model.Sleep(background, SleepRequest{})
	require.NoError(t, err)
	require.NoError(t, n.stream.Close())
	n.quit(t)
	require.Zero(t, n.dev.OpenStreams())
	require.Zero(t, n.kept.taken)
	requireNothingLocked(t, n.dev)
	require.Zero(t, n.engine.Asleep())
	files, err := os.ReadDir(n.dir)
	require.NoError(t, err)
	require.Empty(t, files)
}

// For every n the n-th driver call of a program of sleeps and wakes fails. The step is
// undone, counters, bytes and addresses are exact, and the next step succeeds.
func TestEveryDriverCallOfSleepFailsOnce(t *testing.T) {
	for _, place := range hostPlaces {
		for _, pages := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
			for _, streams := range []int{1, 3} {
				if place.keepsContents && (pages != device.BackingPrivate || streams > 1) {
					continue // The calls are those of the other places.
				}
				t.Run(fmt.Sprint(place.name, " backing ", pages, " streams ", streams), func(t *testing.T) {
					dir := memoryDir(t)
					everyDriverCallOfSleepFailsOnce(t, func() *nap { return newNapWith(t, pages, streams, place, dir) })
				})
			}
		}
	}
}

// memoryDir is a folder in memory, where the system has one. A file on a disk takes longer to
// create than to sleep in.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "ferrum-sleep-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func everyDriverCallOfSleepFailsOnce(t *testing.T, start func() *nap) {
	count := start()
	before := count.dev.Calls(devicetest.Any)
	count.run(t)
	require.Zero(t, count.failed, "without a fault every step works: %v", count.last)
	calls := count.dev.Calls(devicetest.Any) - before
	count.end(t)
	require.Greater(t, calls, 100)
	// As many goroutines as streams copy bytes.
	step := 1
	switch {
	case count.streams == 1:
		step = devicetest.Step()
	case testing.Short():
		// The race detector takes ten times as long: it gets some calls of each kind of step.
		step = 23
	case count.shared.physical.keepers.TakePinned != nil:
		step = 3
	}
	seen := 0
	for at := 1; at <= calls; at += step {
		t.Run(fmt.Sprint("call ", at), func(t *testing.T) {
			n := start()
			n.firstFault = n.dev.Calls(devicetest.Any) + at
			n.dev.FailNth(devicetest.Any, at, nil)
			n.run(t)
			if n.failed > 0 {
				seen++
			}
			n.dev.ClearFaults()
			n.end(t)
		})
	}
	require.Greater(t, seen, calls/step/3, "faults are reported, not swallowed")
}

// faultyFile fails its n-th call, counted over all files of one countdown.
type faultyFile struct {
	sleep.File
	fails *countdown
}

// countdown returns an error at its n-th call; without an error it only counts. Several
// copies may run at once.
type countdown struct {
	calls atomic.Int64
	nth   int
	err   error
}

func (c *countdown) next() error {
	if c.calls.Add(1) == int64(c.nth) {
		return c.err
	}
	return nil
}

func (f faultyFile) WriteAt(from []byte, at int64) (int, error) {
	if err := f.fails.next(); err != nil {
		n, _ := f.File.WriteAt(from[:len(from)/2], at)
		return n, err
	}
	return f.File.WriteAt(from, at)
}

func (f faultyFile) ReadAt(to []byte, at int64) (int, error) {
	if err := f.fails.next(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(to, at)
}

// fail makes the n-th call on host memory and files fail.
func (n *nap) fail(nth int, err error) *countdown {
	c := &countdown{nth: nth, err: err}
	keepers := &n.shared.physical.keepers
	take, open := keepers.TakeBlock, keepers.OpenFile
	keepers.TakeBlock = func(size uint64) (*sleep.Block, error) {
		if err := c.next(); err != nil {
			return nil, device.Errorf(device.CodeResourceExhausted, "test", "%w", err)
		}
		return take(size)
	}
	keepers.OpenFile = func(dir string) (sleep.File, error) {
		if err := c.next(); err != nil {
			return nil, err
		}
		f, err := open(dir)
		return faultyFile{f, c}, err
	}
	return c
}

// The disk or the host's memory is full at any point: the step is undone, and succeeds
// when it is repeated.
func TestEveryUseOfHostAndFilesFailsOnce(t *testing.T) {
	for _, failure := range []struct {
		err  error
		code device.Code
	}{
		{syscall.ENOSPC, device.CodeResourceExhausted}, {syscall.EIO, device.CodeIO}, {fs.ErrPermission, device.CodePermissionDenied},
	} {
		count := newNap(t, device.BackingMovable, 1)
		calls := count.fail(0, failure.err)
		count.run(t)
		require.Zero(t, count.failed)
		all := int(calls.calls.Load())
		count.end(t)
		require.Greater(t, all, 30)
		for at := 1; at <= all; at += devicetest.Step() {
			t.Run(fmt.Sprint(failure.err, " call ", at), func(t *testing.T) {
				n := newNap(t, device.BackingMovable, 1)
				n.fail(at, failure.err)
				n.run(t)
				require.Positive(t, n.failed)
				code := device.CodeOf(n.last)
				require.True(t, code == failure.code || code == device.CodeResourceExhausted, "%v", n.last)
				require.True(t, errors.Is(n.last, failure.err), "%v", n.last)
				n.end(t)
			})
		}
	}
}

// Damage to a file is detected: nothing wakes, and after the damage was repaired
// everything wakes.
func TestDamagedFilesAreFound(t *testing.T) {
	n := newNap(t, device.BackingMovable, 2)
	report, err := n.model.Sleep(background, SleepRequest{Backing: SleepToFile, Dir: n.dir})
	require.NoError(t, err)
	info, err := os.Stat(report.Path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	whole, err := os.ReadFile(report.Path)
	require.NoError(t, err)
	require.Len(t, whole, int(info.Size()))
	for _, at := range []int{0, 9, 13, 17, 40, 70, 4096, len(whole) - 1} {
		damaged := append([]byte{}, whole...)
		damaged[at] ^= 0x10
		require.NoError(t, os.WriteFile(report.Path, damaged, 0o600))
		_, err = n.model.Wake(background, WakeRequest{})
		require.ErrorIs(t, err, device.CodeCorrupted, "byte %d", at)
		require.ErrorContains(t, err, report.Path)
		n.check(t)
		require.Equal(t, report.Bytes, n.model.Stats().AsleepBytes)
	}
	require.ErrorContains(t, err, "chunk 4")
	require.NoError(t, os.WriteFile(report.Path, whole[:len(whole)-100], 0o600))
	_, err = n.model.Wake(background, WakeRequest{})
	require.ErrorIs(t, err, device.CodeCorrupted)
	require.ErrorContains(t, err, "ends within chunk 4")
	require.NoError(t, os.WriteFile(report.Path, whole, 0o600))
	require.Equal(t, uint64(9), n.model.Stats().WakeFailures)
	n.end(t)
}
