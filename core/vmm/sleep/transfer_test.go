package sleep

import (
	"bytes"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
)

const pageBytes = 4096

// laggard is a device whose streams run their work only when a call waits for it.
type laggard struct {
	*devicetest.Device
	mu sync.Mutex
	// deepest is the largest number of copies that one stream had in flight, staging the
	// largest size of the staging memory at a copy.
	deepest int
	staging uint64
	// pageable counts the copies of memory that is not page-locked.
	pageable int
	buffers  map[device.HostAddr]bool
}

func (d *laggard) NewStream() (device.Stream, error) {
	s, err := d.Device.NewStream()
	if err != nil {
		return nil, err
	}
	inner := s.(*devicetest.Stream)
	inner.Hold()
	return &lateStream{Stream: inner, dev: d}, nil
}

type lateStream struct {
	*devicetest.Stream
	dev *laggard
	// queued and finished count copies.
	queued, finished int
}

func (s *lateStream) note(host device.HostAddr) {
	s.dev.mu.Lock()
	defer s.dev.mu.Unlock()
	s.queued++
	s.dev.deepest = max(s.dev.deepest, s.queued-s.finished)
	s.dev.staging = max(s.dev.staging, StagingBytes())
	if s.dev.buffers[host] {
		s.dev.pageable++
	}
}

func (s *lateStream) CopyToHost(dst device.HostAddr, src device.Addr, size uint64) error {
	s.note(dst)
	return s.Stream.CopyToHost(dst, src, size)
}

func (s *lateStream) CopyFromHost(dst device.Addr, src device.HostAddr, size uint64) error {
	s.note(src)
	return s.Stream.CopyFromHost(dst, src, size)
}

func (s *lateStream) RecordEvent() (device.Event, error) {
	e, err := s.Stream.RecordEvent()
	return &lateEvent{Event: e, stream: s, copies: s.queued}, err
}

func (s *lateStream) Synchronize(timeout time.Duration) error {
	s.Step(s.Queued())
	s.finished = s.queued
	return s.Stream.Synchronize(timeout)
}

func (s *lateStream) Close() error {
	s.Release()
	return s.Stream.Close()
}

type lateEvent struct {
	device.Event
	stream *lateStream
	copies int
}

func (e *lateEvent) Synchronize(timeout time.Duration) error {
	for done := false; !done; {
		e.stream.Step(1)
		var err error
		if done, err = e.Done(); err != nil {
			return err
		}
	}
	e.stream.finished = e.copies
	return e.Event.Synchronize(timeout)
}

// sleepTest copies a segment of a laggard out and back.
type sleepTest struct {
	dev     *laggard
	extent  extent.Extent
	keepers Keepers
	held    engine.Asleep
	mu      sync.Mutex
}

const (
	testPages = 23
	testBytes = testPages * pageBytes
)

func newSleepTest(t *testing.T, lockable uint64) *sleepTest {
	driver := devicetest.New(devicetest.Config{Backed: true, PinnedBytes: lockable})
	opened, err := driver.Open(0)
	require.NoError(t, err)
	s := &sleepTest{dev: &laggard{Device: opened.(*devicetest.Device), buffers: map[device.HostAddr]bool{}}}
	base, err := s.dev.Alloc(testBytes)
	require.NoError(t, err)
	s.extent = extent.Extent{Kind: "test", Name: "t", Base: base, PageBytes: pageBytes, Pages: testPages}
	s.keepers = NewKeepers(s.dev)
	s.keepers.TakeBlock = func(size uint64) (*Block, error) {
		memory := make([]byte, size)
		addr := s.dev.HostBuffer(memory)
		s.dev.mu.Lock()
		defer s.dev.mu.Unlock()
		s.dev.buffers[addr] = true
		return &Block{Addr: addr, Bytes: memory, Free: func() error { return nil }}, nil
	}
	if s.keepers.TakePinned != nil {
		s.keepers.TakePinned = func(size uint64) (*Block, error) { return TakePinned(s.dev, s.dev, size, s.dev.HostBytes) }
	}
	s.keepers.ChunkBytes, s.keepers.PinnedBytes, s.keepers.BufferBytes = 2*pageBytes, 2*pageBytes, pageBytes
	return s
}

func (s *sleepTest) transfer(jobs []Job) *Transfer {
	return &Transfer{
		Device: s.dev, Extent: &s.extent, Keepers: &s.keepers, Op: "sleep", Jobs: jobs, Stopped: func() error { return nil },
		Held: func(a engine.Asleep) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.held = s.held.Plus(a)
		},
	}
}

// write writes all bytes of the segment. Each page and each buffer has other bytes.
func (s *sleepTest) write(t *testing.T, seed byte) []byte {
	memory := make([]byte, testBytes)
	for i := range memory {
		memory[i] = seed + byte(i%251) + byte(i/pageBytes*7)
	}
	stream := s.dev.Device.DefaultStream()
	require.NoError(t, stream.CopyFromHost(s.extent.Base, s.dev.HostBuffer(memory), testBytes))
	require.NoError(t, stream.Synchronize(device.Forever))
	return memory
}

func (s *sleepTest) jobs() []Job {
	cut := Cut{Most: s.keepers.MostBytes(true) / pageBytes}
	cut.Add(pageset.Run{Start: 0, Pages: 9}, 0)
	cut.Add(pageset.Run{Start: 9, Pages: 14}, 1)
	return cut.Jobs()
}

// cycle copies everything out and back.
func (s *sleepTest) cycle(t *testing.T, dir string, lanes int) {
	before := s.write(t, 1)
	jobs := s.jobs()
	out := s.transfer(jobs)
	var left []Leftover
	var err error
	if dir == "" {
		left, err = out.ToMemory(lanes)
	} else {
		_, left, err = out.ToFile(dir, lanes)
	}
	require.NoError(t, err)
	require.Empty(t, left)
	require.Zero(t, StagingBytes())
	s.write(t, 100)
	left, err = s.transfer(jobs).Back(lanes)
	require.NoError(t, err)
	require.Empty(t, left)
	require.True(t, bytes.Equal(before, s.dev.Bytes(s.extent.Base, testBytes)))
	w := Sweep{dropped: nil}
	for _, j := range jobs {
		w.dropped = append(w.dropped, j.Chunk)
	}
	failures, err := w.Drop()
	require.NoError(t, err)
	require.Empty(t, failures)
	require.Equal(t, s.held, w.was, "the held memory has its size from before")
	s.held = engine.Asleep{}
	require.Zero(t, StagingBytes())
	require.Zero(t, LockedBytes())
	require.Zero(t, s.dev.PinnedBytes())
	require.Zero(t, s.dev.OpenStreams())
}

// A lane queues copies behind each other, and uses only page-locked memory if it can. The
// work of a stream runs as late as possible here, so a missing wait would show in the bytes.
func TestCopiesAreQueuedBehindEachOther(t *testing.T) {
	for _, test := range []struct {
		name     string
		lockable uint64
		// refused states that no contents are page-locked, direct that the device copies
		// pageable memory.
		refused, toFile, direct bool
		deepest                 int
		staging                 uint64
	}{
		{name: "page-locked contents", lockable: 1 << 30, deepest: deepQueue},
		{name: "page-locked buffers", lockable: 1 << 30, refused: true, deepest: lockedBuffers, staging: lockedBuffers * pageBytes},
		{name: "file", lockable: 1 << 30, toFile: true, deepest: lockedBuffers, staging: lockedBuffers * pageBytes},
		{name: "one page-locked buffer", lockable: pageBytes, deepest: 1, staging: pageBytes},
		{name: "no buffer", lockable: 1, deepest: 1, direct: true},
		{name: "file without page-locked buffer", lockable: 1, toFile: true, deepest: 1, staging: pageBytes, direct: true},
		{name: "no such device", deepest: 1, direct: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, lanes := range []int{1, 3} {
				s := newSleepTest(t, test.lockable)
				if take := s.keepers.TakePinned; test.refused {
					s.keepers.TakePinned = func(size uint64) (*Block, error) {
						if size > s.keepers.BufferBytes {
							return nil, device.Errorf(device.CodeOutOfMemory, "test", "refused")
						}
						return take(size)
					}
				}
				dir := ""
				if test.toFile {
					dir = t.TempDir()
				}
				s.cycle(t, dir, lanes)
				if lanes == 1 {
					require.Equal(t, test.direct, s.dev.pageable > 0)
					require.Equal(t, test.deepest, s.dev.deepest)
					require.Equal(t, test.staging, s.dev.staging)
				} else {
					require.LessOrEqual(t, s.dev.deepest, test.deepest)
					require.LessOrEqual(t, s.dev.staging, uint64(lanes)*test.staging)
				}
			}
		})
	}
}

// Parts of a chunk wake: the other pages keep what is written to them, and the checksum of
// a file covers the whole chunk.
func TestPartsOfAChunkAreCopiedBack(t *testing.T) {
	for _, lockable := range []uint64{0, pageBytes, 1 << 30} {
		for _, toFile := range []bool{false, true} {
			s := newSleepTest(t, lockable)
			s.keepers.ChunkBytes, s.keepers.PinnedBytes, s.keepers.BufferBytes = 8*pageBytes, 8*pageBytes, pageBytes*3/2
			before := s.write(t, 1)
			jobs := s.jobs()
			var err error
			if toFile {
				_, _, err = s.transfer(jobs).ToFile(t.TempDir(), 1)
			} else {
				_, err = s.transfer(jobs).ToMemory(1)
			}
			require.NoError(t, err)
			want := s.write(t, 100)
			jobs[0].Runs = []pageset.Run{{Start: 1, Pages: 2}, {Start: 7, Pages: 1}}
			jobs[1].Runs = nil
			for _, j := range jobs {
				for _, r := range j.Runs {
					copy(want[r.Start*pageBytes:r.End()*pageBytes], before[r.Start*pageBytes:])
				}
			}
			_, err = s.transfer(jobs).Back(1)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, s.dev.Bytes(s.extent.Base, testBytes)), "lockable %d, file %v", lockable, toFile)
			w := Sweep{}
			for _, j := range jobs {
				w.dropped = append(w.dropped, j.Chunk)
			}
			_, err = w.Drop()
			require.NoError(t, err)
			require.Zero(t, LockedBytes())
		}
	}
}

func TestStagingIsBounded(t *testing.T) {
	k := Keepers{BufferBytes: defaultBufferBytes}
	for lanes := 1; lanes <= 64; lanes++ {
		each := k.bufferBytes(1<<30, lanes)
		require.NotZero(t, each)
		require.LessOrEqual(t, uint64(lanes*lockedBuffers)*each, uint64(maxStaging))
	}
	require.EqualValues(t, defaultBufferBytes, k.bufferBytes(1<<30, defaultStreams))
	require.EqualValues(t, 5, k.bufferBytes(5, 1))
}

// Contents lock at most half of the machine's memory. The others are pageable.
func TestHalfOfTheMachinesMemoryIsLocked(t *testing.T) {
	if runtime.GOOS == "linux" {
		require.Greater(t, lockedLimit(), uint64(64<<20))
		require.Less(t, lockedLimit(), uint64(1<<50))
	}
	limit := lockedMemory.limit
	defer func() { lockedMemory.limit = limit }()
	lockedMemory.limit = 6 * pageBytes
	s := newSleepTest(t, 1<<30)
	out := s.transfer(s.jobs())
	_, err := out.ToMemory(1)
	require.NoError(t, err)
	require.ErrorIs(t, out.Pageable(), device.CodeResourceExhausted)
	require.ErrorContains(t, out.Pageable(), "8192 bytes more would make 32768 bytes")
	require.EqualValues(t, 6*pageBytes, LockedBytes())
	locked := 0
	for _, j := range out.Jobs {
		if j.Chunk.block.Locked {
			locked++
		}
	}
	require.Equal(t, 3, locked)
	_, err = s.transfer(out.Jobs).Back(2)
	require.NoError(t, err)
	w := Sweep{}
	for _, j := range out.Jobs {
		w.dropped = append(w.dropped, j.Chunk)
	}
	_, err = w.Drop()
	require.NoError(t, err)
	require.Zero(t, LockedBytes())
}
