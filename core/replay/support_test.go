package replay

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/trace"
)

// bench opens test devices and keeps the last one.
type bench struct {
	driver *devicetest.Driver
	device *devicetest.Device
	prime  func(*devicetest.Device)
}

func (b *bench) open(capacityBytes uint64) (*engine.Engine, error) {
	b.driver = devicetest.New(devicetest.Config{TotalBytes: capacityBytes, GranularityBytes: 64 << 10, AlignmentBytes: 64 << 10})
	dev, err := b.driver.Open(0)
	if err != nil {
		return nil, err
	}
	b.device = dev.(*devicetest.Device)
	if b.prime != nil {
		b.prime(b.device)
	}
	return engine.New(dev, engine.Options{}), nil
}

// must replays a trace. It checks that the device holds no memory at the end and that the
// parts of the result agree.
func must(t require.TestingT, tr *trace.Trace, o Options) *Result {
	b := &bench{}
	o.Open = b.open
	result, err := Run(testContext, tr, o)
	require.NoError(t, err)
	require.Zero(t, b.device.HeldBytes())
	require.Zero(t, b.device.OpenEvents())
	checkResult(t, result)
	return result
}

func checkResult(t require.TestingT, r *Result) {
	s := r.Series
	require.LessOrEqual(t, len(s.Time), 2000)
	require.NotEmpty(t, s.Time)
	require.Equal(t, r.PeakLiveBytes, slices.Max(s.LiveBytes))
	require.Equal(t, r.ReservedPeakBytes, slices.Max(s.ReservedBytes))
	require.Equal(t, r.PhysicalPeakBytes, slices.Max(s.PhysicalBytes))
	var failed, byReason uint64
	for i := range s.Time {
		failed += s.Failed[i]
		// The plain comparison comes first, because calling testify for each value of a
		// long series takes as long as the replay.
		if s.LiveBytes[i] > s.ReservedBytes[i] || s.Time[i] != s.Time[0]+int64(i)*s.Interval {
			require.LessOrEqual(t, s.LiveBytes[i], s.ReservedBytes[i])
			require.Equal(t, s.Time[0]+int64(i)*s.Interval, s.Time[i])
		}
	}
	require.Equal(t, r.Failed, failed)
	for _, reason := range r.FailuresByReason {
		byReason += reason.Count
	}
	require.Equal(t, r.Failed, byReason)
	require.Len(t, r.Failures, int(min(r.Failed, MaxFailures)))
	if r.PageBytes == 0 { // with pages, the pool may hold fewer bytes than the high water
		require.LessOrEqual(t, r.HighWaterBytes, r.ReservedPeakBytes)
	}
	require.GreaterOrEqual(t, r.HighWaterBytes, r.PeakLiveBytes)
	if r.PeakLiveBytes > 0 {
		require.NotEmpty(t, r.Moments)
		require.Equal(t, r.PeakLiveBytes, r.Moments[0].LiveBytes)
		require.InDelta(t, float64(r.HighWaterBytes)/float64(r.PeakLiveBytes), r.Fragmentation, 1e-12)
		if r.PhysicalOverLiveArea != 0 { // 0: the blocks lived for no time
			require.GreaterOrEqual(t, r.PhysicalOverLiveArea, 1.0)
		}
	}
}

// The reference model lists every allocation and free of a trace, sorts them, and places
// the blocks with a plain list of free runs.

type naiveEvent struct {
	time  int64
	alloc bool
	owner int // the request; it orders the events of one instant
	key   string
	size  uint64
}

func naiveEvents(tr *trace.Trace, mode trace.Mode, bytesPerToken uint64) []naiveEvent {
	var events []naiveEvent
	add := func(from, to int64, owner int, key string, size uint64) {
		if size > 0 {
			events = append(events, naiveEvent{from, true, owner, key, size}, naiveEvent{to, false, owner, key, size})
		}
	}
	for i, l := range tr.Lifetimes {
		add(l.Lower, l.Upper, i, fmt.Sprint(i), l.SizeBytes)
	}
	for i, r := range tr.Requests {
		in, out := int64(r.InputTokens), int64(r.OutputTokens)
		end := r.ArrivalNS + in*200_000 + out*30_000_000
		// Time passes until the end of the request, also if the request has no block.
		events = append(events, naiveEvent{time: end, owner: i, key: fmt.Sprint("end of ", i)})
		if mode == trace.Contiguous {
			add(r.ArrivalNS, end, i, fmt.Sprint(i), uint64(in+out)*bytesPerToken)
			continue
		}
		ids := tr.PrefixIDs(r)
		for block := int64(0); block*16 < in+out; block++ {
			from := r.ArrivalNS
			if block*16 >= in {
				from += in*200_000 + (block*16-in+1)*30_000_000
			}
			key := fmt.Sprintf("%d/%d", i, block)
			if place := block / 32; (block+1)*16 <= in && place < int64(len(ids)) {
				key = fmt.Sprintf("shared %d/%d", ids[place], block%32)
			}
			if from < end {
				add(from, end, i, key, 16*bytesPerToken)
			}
		}
	}
	sort.SliceStable(events, func(a, b int) bool {
		x, y := events[a], events[b]
		switch {
		case x.time != y.time:
			return x.time < y.time
		case x.alloc != y.alloc:
			return y.alloc
		}
		return x.owner < y.owner
	})
	return events
}

type naiveRun struct{ offset, size uint64 }

type naiveResult struct {
	peakLive, highWater, allocations uint64
	physicalPeak                     uint64
	physicalOverLive                 float64
	// rectangles has one rectangle for each block.
	rectangles []Rectangle
}

// naivePages is the reference model of the pages. A page is created when a block touches
// it. When time passes, at most readyPages idle pages stay, and at most one for 64 pages in
// use. The highest idle pages are removed first.
type naivePages struct {
	blocks map[uint64]int
	idle   map[uint64]bool
}

const readyPages = 8

func (p *naivePages) each(run naiveRun, visit func(page uint64)) {
	for page := run.offset / PageBytes; page*PageBytes < run.offset+run.size; page++ {
		visit(page)
	}
}

func (p *naivePages) touch(run naiveRun) {
	p.each(run, func(page uint64) {
		p.blocks[page]++
		delete(p.idle, page)
	})
}

func (p *naivePages) leave(run naiveRun) {
	p.each(run, func(page uint64) {
		if p.blocks[page]--; p.blocks[page] == 0 {
			p.idle[page] = true
		}
	})
}

func (p *naivePages) settle() {
	ready := min(readyPages, len(p.idle), (len(p.blocks)-len(p.idle))/64)
	for _, page := range slices.Sorted(maps.Keys(p.idle))[ready:] {
		delete(p.idle, page)
		delete(p.blocks, page)
	}
}

func (p *naivePages) bytes() uint64 { return uint64(len(p.blocks)) * PageBytes }

// naiveReplay places blocks by best fit: at the start of the smallest free run that is
// large enough, and of the lowest run among equal ones.
func naiveReplay(events []naiveEvent) naiveResult {
	var result naiveResult
	free := []naiveRun{{0, 1 << 62}}
	placed := map[string]naiveRun{}
	holders := map[string]int{}
	born := map[string]Rectangle{}
	pages := naivePages{blocks: map[uint64]int{}, idle: map[uint64]bool{}}
	var live, liveArea, physicalArea float64
	for i, e := range events {
		if i > 0 {
			passed := float64(e.time - events[i-1].time)
			if passed > 0 {
				pages.settle()
			}
			liveArea += live * passed
			physicalArea += float64(pages.bytes()) * passed
		}
		if !e.alloc {
			if holders[e.key]--; holders[e.key] == 0 {
				block := born[e.key]
				block.To = e.time
				if block.From < block.To {
					result.rectangles = append(result.rectangles, block)
				}
				live -= float64(e.size)
				free = naiveFree(free, placed[e.key])
				pages.leave(placed[e.key])
			}
			continue
		}
		if holders[e.key]++; holders[e.key] > 1 {
			continue
		}
		size := (e.size + 255) / 256 * 256
		best := -1
		for j, run := range free {
			if run.size >= size && (best < 0 || run.size < free[best].size) {
				best = j
			}
		}
		placed[e.key] = naiveRun{free[best].offset, size}
		born[e.key] = Rectangle{From: e.time, OffsetBytes: free[best].offset, SizeBytes: size, Request: e.owner}
		result.highWater = max(result.highWater, free[best].offset+size)
		pages.touch(placed[e.key])
		result.physicalPeak = max(result.physicalPeak, pages.bytes())
		free[best].offset += size
		free[best].size -= size
		free = slices.DeleteFunc(free, func(r naiveRun) bool { return r.size == 0 })
		live += float64(e.size)
		result.peakLive = max(result.peakLive, uint64(live))
		result.allocations++
	}
	if liveArea > 0 {
		result.physicalOverLive = physicalArea / liveArea
	}
	return result
}

func naiveFree(free []naiveRun, run naiveRun) []naiveRun {
	at := sort.Search(len(free), func(i int) bool { return free[i].offset > run.offset })
	free = slices.Insert(free, at, run)
	if at+1 < len(free) && free[at].offset+free[at].size == free[at+1].offset {
		free[at].size += free[at+1].size
		free = slices.Delete(free, at+1, at+2)
	}
	if at > 0 && free[at-1].offset+free[at-1].size == free[at].offset {
		free[at-1].size += free[at].size
		free = slices.Delete(free, at, at+1)
	}
	return free
}

// skipWholeTraces skips a test of a whole recorded trace under the race detector and in
// short runs. A replay calls the pool from one thread, and takes minutes under the
// detector. The drawn traces run the same code beside the pool's worker, and take seconds.
func skipWholeTraces(t *testing.T) {
	if raceDetector || testing.Short() {
		t.Skip("whole recorded traces run without -short and without the race detector; drawn ones run with both")
	}
}

// exampleTrace returns the trace that is part of the project.
func exampleTrace(t *testing.T) *trace.Trace {
	skipWholeTraces(t)
	return openTrace(t, filepath.Join("..", "..", "examples", "traces", "azure_llm_code_2023.csv"))
}

// recordedTrace returns a recorded trace from a folder outside the checkout. If the trace
// is not there, the test is skipped.
func recordedTrace(t *testing.T, name string) *trace.Trace {
	skipWholeTraces(t)
	folder := os.Getenv("FERRUM_TRACES_DIR")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "shared", "traces")
	}
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("recorded trace %s is not here (set FERRUM_TRACES_DIR to their folder): %v", name, err)
	}
	return openTrace(t, path)
}

func openTrace(t *testing.T, path string) *trace.Trace {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	tr, err := trace.Read(file, trace.ReadOptions{Name: filepath.Base(path)})
	require.NoError(t, err)
	return tr
}

func readTrace(t require.TestingT, text string) *trace.Trace {
	tr, err := trace.Read(strings.NewReader(text), trace.ReadOptions{Name: "drawn"})
	require.NoError(t, err)
	return tr
}

var errLost = device.Errorf(device.CodeDeviceLost, "test", "the device is lost")
