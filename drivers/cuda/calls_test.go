package cuda

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/internal/dl"
)

// callsOf counts the calls of each function of the driver while run runs.
func (s simulator) callsOf(run func()) map[string]int {
	before, all := map[string]int{}, s.calls("*")
	for _, row := range new(api).table() {
		before[row.Name] = s.calls(row.Name)
	}
	run()
	made, sum := map[string]int{}, 0
	for name, n := range before {
		if n = s.calls(name) - n; n > 0 {
			made[name] = n
			sum += n
		}
	}
	require.Equal(s.t, s.calls("*")-all, sum, "a call is missing in the table, or another test calls: %v", made)
	return made
}

// cost states the driver calls of an operation: the queries of the current context, the
// changes of the thread's capture mode, and all other calls. A change and its reversal
// count as one.
type cost struct {
	contexts, modes int
	calls           string
}

// costOf computes the cost from the counted calls. It checks that the operation restores
// the context and the mode as often as it changes them. elsewhere: the device's context was
// not current on the thread. byWorkers: other threads make calls too.
func costOf(t *testing.T, made map[string]int, elsewhere, byWorkers bool) cost {
	c := cost{contexts: made["cuCtxGetCurrent"], modes: made["cuThreadExchangeStreamCaptureMode"] / 2}
	require.Zero(t, made["cuThreadExchangeStreamCaptureMode"]%2)
	switched := 0
	if elsewhere {
		switched = c.contexts
	}
	require.Equal(t, made["cuCtxPopCurrent_v2"], made["cuCtxPushCurrent_v2"])
	if !byWorkers {
		require.Equal(t, switched, made["cuCtxPushCurrent_v2"])
	}
	for _, around := range []string{
		"cuCtxGetCurrent", "cuThreadExchangeStreamCaptureMode", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
	} {
		delete(made, around)
	}
	var calls []string
	for _, name := range slices.Sorted(maps.Keys(made)) {
		calls = append(calls, fmt.Sprintf("%d %s", made[name], name))
	}
	c.calls = strings.Join(calls, ", ")
	return c
}

// pageOfCosts is the documentation page that states the costs.
const pageOfCosts = "../../docs/driver_calls.md"

// statedCosts reads the costs from the table of the page.
func statedCosts(t *testing.T) map[string]cost {
	text, err := os.ReadFile(pageOfCosts)
	require.NoError(t, err)
	_, text2, found := strings.Cut(string(text), "\n## Calls\n")
	require.True(t, found, "%s has no section about driver calls", pageOfCosts)
	section, _, _ := strings.Cut(text2, "\n## ")
	stated := map[string]cost{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 {
			continue
		}
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "`", "")
		}
		contexts, err := strconv.Atoi(cells[1])
		if err != nil {
			continue
		}
		modes, err := strconv.Atoi(cells[2])
		require.NoError(t, err, line)
		require.NotContains(t, stated, cells[0])
		stated[cells[0]] = cost{contexts, modes, strings.TrimPrefix(cells[3], "none")}
	}
	return stated
}

// operation is one action of the test. Only actions with a name are counted.
type operation struct {
	name string
	do   func() error
	// byWorkers states that threads of the library run the operation, which have no current
	// context.
	byWorkers bool
}

// The page states exactly the driver calls of each operation, for every generation of the
// driver, and with and without the device's context current on the thread.
func TestCallsPerOperationEqualTheDocumentation(t *testing.T) {
	devicetest.SkipShortRace(t)
	for _, generation := range generations {
		t.Run(generation, func(t *testing.T) {
			if alone(t, envLibrary+"="+simulated(generation)) {
				countCalls(t)
			}
		})
	}
}

func countCalls(t *testing.T) {
	stated, sim := statedCosts(t), newSimulator(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	measured := map[string]bool{}
	for _, elsewhere := range []bool{false, true} {
		o := open(t, 0)
		if !elsewhere {
			sim.must("cuCtxPushCurrent_v2", o.ctx.context)
		}
		for _, one := range slices.Concat(countedOperations(t, o), pooledOperations(t, o), largeOperations(t, o), pagedOperations(t, o)) {
			var err error
			made := sim.callsOf(func() { err = one.do() })
			require.NoError(t, err, one.name)
			if one.name == "" {
				continue
			}
			measured[one.name] = true
			want, found := stated[one.name]
			assert.True(t, found, "%s does not state %q", pageOfCosts, one.name)
			for old, name := range map[string]string{"cuMemPrefetchAsync": "cuMemPrefetchAsync_v2", "cuMemAdvise": "cuMemAdvise_v2", "cuEventElapsedTime_v2": "cuEventElapsedTime"} {
				if n := made[old]; n > 0 {
					delete(made, old)
					made[name] = n
				}
			}
			got := costOf(t, made, elsewhere, one.byWorkers)
			assert.Equal(t, want, got, "%s", one.name)
		}
		if !elsewhere {
			var popped uintptr
			sim.must("cuCtxPopCurrent_v2", dl.Pointer(&popped))
		}
		require.NoError(t, o.Close())
		sim.clean()
	}
	for name := range stated {
		assert.True(t, measured[name], "%s states %q, which nothing counts", pageOfCosts, name)
	}
}

// countedOperations returns all actions in the life of a device. Only actions with a name
// are counted.
func countedOperations(t *testing.T, o *openDevice) []operation {
	var (
		addr, space, locked, ordered device.Addr
		pinned, large, managed       device.PinnedMemory
		s                            device.Stream
		e, last                      device.Event
		release                      func()
	)
	one := device.Pattern{Value: 1, WidthBytes: 1}
	pages := make([]device.Page, 4)
	own := make([]byte, 4096)
	uncounted := func(do func() error) operation { return operation{do: do} }
	return []operation{
		{name: "allocate a segment", do: func() (err error) { addr, err = o.Alloc(1 << 20); return err }},
		{name: "allocate page-locked memory", do: func() (err error) { pinned, err = o.AllocPinned(64 << 10); return err }},
		{name: "allocate page-locked memory of 2 MiB or more", do: func() (err error) { large, err = o.AllocPinned(2 << 20); return err }},
		{name: "query the memory of the device", do: func() error { _, err := o.Memory(); return err }},
		{name: "create a stream", do: func() (err error) { s, err = o.NewPriorityStream(0); return err }},
		{name: "fill", do: func() error { return s.Fill(addr, one, 4096) }},
		{name: "fill with a pattern of 8 bytes", do: func() error {
			return s.Fill(addr, device.Pattern{Value: 1 << 40, WidthBytes: 8}, 4096)
		}},
		{name: "copy within the device", do: func() error { return s.Copy(addr, addr+4096, 4096) }},
		{name: "copy from the host", do: func() error { return s.CopyFromHost(addr, pinned.HostAddr, 4096) }},
		{name: "copy to the host", do: func() error { return s.CopyToHost(pinned.HostAddr, addr, 4096) }},
		{name: "queue a host function", do: func() error { return s.HostFunction(func() {}) }},
		{name: "record an event, the first time", do: func() (err error) { e, err = s.RecordEvent(); return err }},
		{name: "let another stream wait for an event", do: func() error { return o.DefaultStream().WaitEvent(e) }},
		{name: "wait for an event", do: func() error { return e.Synchronize(device.Forever) }},
		{name: "query an event", do: func() error { _, err := e.Done(); return err }},
		{name: "discard an event", do: func() error { return e.Close() }},
		uncounted(func() error { release = blocked(t, s.(*stream)); return nil }),
		{name: "record an event", do: func() (err error) { e, err = s.RecordEvent(); return err }},
		{name: "discard an event", do: func() error { return e.Close() }},
		{name: "record an event", do: func() (err error) { e, err = s.RecordEvent(); return err }},
		{name: "discard an event", do: func() error { return e.Close() }},
		uncounted(func() error { release(); return nil }),
		{name: "record an event with its time, the first time",
			do: func() (err error) { e, err = device.RecordTimed(s); return err }},
		uncounted(func() (err error) { last, err = device.RecordTimed(s); return err }),
		{name: "wait for a stream", do: func() error { return s.Synchronize(device.Forever) }},
		{name: "time between two events", do: func() error { _, err := device.Elapsed(e, last); return err }},
		{name: "discard an event", do: func() error { return e.Close() }},
		{name: "record an event with its time", do: func() (err error) { e, err = device.RecordTimed(s); return err }},
		uncounted(func() error { return s.Synchronize(device.Forever) }),
		uncounted(func() error { return last.Close() }),
		uncounted(func() error { return e.Close() }),
		{name: "query a stream", do: func() error { _, err := s.Idle(); return err }},
		{name: "destroy a stream", do: func() error { return s.Close() }},
		{name: "reserve addresses", do: func() (err error) { space, err = o.Reserve(8<<20, 2<<20); return err }},
		{name: "create 4 pages", do: func() error { return o.Create(pages, 2<<20, device.BackingMovable) }},
		{name: "map 4 pages", do: func() error { return o.Map(space, pages) }},
		{name: "grant access to 4 adjacent pages", do: func() error { return o.SetAccess(space, 8<<20, device.AccessReadWrite) }},
		{name: "unmap 4 adjacent pages", do: func() error { return o.Unmap(space, 8<<20) }},
		{name: "fill 4 pages with zeros", do: func() error { return o.Zero(pages) }},
		{name: "release 4 pages", do: func() error { return o.Release(pages) }},
		{name: "free addresses", do: func() error { return o.Unreserve(space, 8<<20) }},
		{name: "allocate managed memory", do: func() (err error) { managed, err = o.AllocManaged(64 << 10); return err }},
		{name: "prefetch managed memory", do: func() error { return o.Prefetch(o.DefaultStream(), managed.Addr, 64<<10, o) }},
		{name: "advise about managed memory", do: func() error { return o.Advise(managed.Addr, 64<<10, device.Advice{}) }},
		{name: "free managed memory", do: func() error { return o.FreeManaged(managed.Addr, 64<<10) }},
		{name: "page-lock memory of the program", do: func() (err error) {
			locked, err = o.Register(device.HostAddr(dl.Pointer(&own[0])), uint64(len(own)), device.AccessReadWrite)
			return err
		}},
		{name: "unregister memory of the program", do: func() error { return o.Unregister(locked, uint64(len(own))) }},
		uncounted(func() (err error) { ordered, err = o.AllocOrdered(1 << 20); return err }),
		uncounted(func() error { return o.FreeOrdered(ordered, 1<<20) }),
		{name: "allocate a segment from the driver's pool", do: func() (err error) { ordered, err = o.AllocOrdered(1 << 20); return err }},
		{name: "free a segment to the driver's pool", do: func() error { return o.FreeOrdered(ordered, 1<<20) }},
		{name: "free page-locked memory", do: func() error { return o.FreePinned(pinned.Addr, 64<<10) }},
		{name: "free page-locked memory of 2 MiB or more", do: func() error { return o.FreePinned(large.Addr, 2<<20) }},
		{name: "free a segment", do: func() error { return o.Free(addr, 1<<20) }},
	}
}
