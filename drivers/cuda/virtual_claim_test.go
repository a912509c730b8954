package cuda

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// gate stops the next call of a driver function until the gate is opened.
type gate struct {
	inside, open chan struct{}
	entered      atomic.Bool
}

// holdNext puts a gate before a function with up to five arguments.
func holdNext(f *dl.Function) *gate {
	g := &gate{inside: make(chan struct{}), open: make(chan struct{})}
	real := *f
	*f = dl.At(real.Name, purego.NewCallback(func(a, b, c, d, e uintptr) uintptr {
		if !g.entered.Swap(true) {
			close(g.inside)
			<-g.open
		}
		return uintptr(real.Call(a, b, c, d, e))
	}))
	return g
}

// while runs call, and runs rest while call waits inside the driver.
func (g *gate) while(t *testing.T, call func() error, rest func()) {
	result := make(chan error)
	go func() { result <- call() }()
	<-g.inside
	rest()
	close(g.open)
	require.NoError(t, <-result)
}

// A long driver call does not block callers that use other pages. Meanwhile no other call
// can use the pages of the long call.
func TestLongCallsOfVirtualMemoryBlockNoOtherPages(t *testing.T) {
	const page = 2 << 20
	for name, which := range map[string]func(*api) *dl.Function{
		"map": func(a *api) *dl.Function { return &a.pageMap }, "access": func(a *api) *dl.Function { return &a.pageAccess },
		"unmap": func(a *api) *dl.Function { return &a.pageUnmap }, "release": func(a *api) *dl.Function { return &a.pageRelease },
		"unreserve": func(a *api) *dl.Function { return &a.unreserve }, "zero": func(a *api) *dl.Function { return &a.fill8 },
	} {
		t.Run(name, func(t *testing.T) {
			o := open(t, 0)
			f := which(o.ctx.api)
			s := o.DefaultStream()
			one := device.Pattern{Value: 1, WidthBytes: 1}
			space, err := o.Reserve(4*page, page)
			require.NoError(t, err)
			spare, err := o.Reserve(page, page)
			require.NoError(t, err)
			pages := make([]device.Page, 3)
			require.NoError(t, o.Create(pages, page, device.BackingMovable))
			mine, others, third := pages[:1], pages[1:2], pages[2:]
			require.NoError(t, o.Map(space+page, others))
			require.NoError(t, o.SetAccess(space+page, page, device.AccessReadWrite))
			mapped := name == "access" || name == "unmap"
			if mapped {
				require.NoError(t, o.Map(space, mine))
				require.NoError(t, o.SetAccess(space, page, device.AccessReadWrite))
			}
			call := map[string]func() error{
				"map":       func() error { return o.Map(space, mine) },
				"access":    func() error { return o.SetAccess(space, page, device.AccessRead) },
				"unmap":     func() error { return o.Unmap(space, page) },
				"release":   func() error { return o.Release(mine) },
				"unreserve": func() error { return o.Unreserve(spare, page) },
				"zero":      func() error { return o.Zero(mine) },
			}[name]
			holdNext(f).while(t, call, func() {
				require.NoError(t, s.Fill(space+page, one, page))
				require.NoError(t, s.Synchronize(device.Forever))
				resident, err := o.Resident(space+page, page)
				require.NoError(t, err)
				require.EqualValues(t, page, resident)
				require.NoError(t, o.Map(space+2*page, third))
				require.NoError(t, o.SetAccess(space+2*page, page, device.AccessReadWrite))
				require.NoError(t, o.Unmap(space+2*page, page))
				require.NoError(t, o.Zero(third))
				if name == "unreserve" {
					requireCode(t, device.CodeInvalidAddress, o.Map(spare, third))
					requireCode(t, device.CodeInvalidAddress, o.Unreserve(spare, page))
					return
				}
				for _, wrong := range []func() error{
					func() error { return o.Map(space+3*page, mine) },
					func() error { return o.Zero(mine) },
					func() error { return o.Release(mine) },
				} {
					requireCode(t, device.CodeBusy, wrong())
				}
				if name == "map" || mapped {
					requireCode(t, device.CodeBusy, o.Map(space, third))
					requireCode(t, device.CodeBusy, o.Unmap(space, page))
					requireCode(t, device.CodeBusy, o.Unmap(space, 2*page))
					requireCode(t, device.CodeBusy, o.SetAccess(space, page, device.AccessReadWrite))
					requireCode(t, device.CodeBusy, s.Fill(space, one, 1))
					requireCode(t, device.CodeBusy, o.Unreserve(space, 4*page))
				}
			})
			switch name {
			case "map", "access":
				require.NoError(t, o.Unmap(space, page))
			case "unreserve":
				requireCode(t, device.CodeInvalidAddress, o.Unreserve(spare, page))
			}
			require.NoError(t, o.Unmap(space+page, page))
			if name != "release" {
				require.NoError(t, o.Release(mine))
			}
			require.NoError(t, o.Release(pages[1:]))
			require.NoError(t, o.Unreserve(space, 4*page))
			if name != "unreserve" {
				require.NoError(t, o.Unreserve(spare, page))
			}
			require.NoError(t, o.Close())
			newSimulator(t).clean()
		})
	}
}

// While a call extends the access to a range, work continues with the present access.
func TestWorkContinuesWhileAccessIsExtended(t *testing.T) {
	const page = 2 << 20
	o := open(t, 0)
	space, err := o.Reserve(page, page)
	require.NoError(t, err)
	pages := make([]device.Page, 1)
	require.NoError(t, o.Create(pages, page, device.BackingMovable))
	require.NoError(t, o.Map(space, pages))
	require.NoError(t, o.SetAccess(space, page, device.AccessRead))
	holdNext(&o.ctx.api.pageAccess).while(t, func() error { return o.SetAccess(space, page, device.AccessReadWrite) }, func() {
		require.Equal(t, []byte{0}, get(t, o.DefaultStream(), space, 1))
		requireCode(t, device.CodePermissionDenied, o.DefaultStream().Fill(space, device.Pattern{WidthBytes: 1}, 1))
	})
	require.NoError(t, o.DefaultStream().Fill(space, device.Pattern{WidthBytes: 1}, 1))
	require.NoError(t, o.DefaultStream().Synchronize(device.Forever))
	require.NoError(t, o.Unmap(space, page))
	require.NoError(t, o.Release(pages))
	require.NoError(t, o.Unreserve(space, page))
	require.NoError(t, o.Close())
}

// Several threads map, use and unmap their own pages of one reservation. They do not
// disturb each other.
func TestThreadsMapAtTheSameTime(t *testing.T) {
	const page, threads, rounds = 2 << 20, 4, 12
	o := open(t, 0)
	space, err := o.Reserve(threads*2*page, page)
	require.NoError(t, err)
	var all sync.WaitGroup
	failed := make([]error, threads)
	for number := range threads {
		all.Add(1)
		go func() {
			defer all.Done()
			at := space + device.Addr(number*2*page)
			pages := make([]device.Page, 2)
			for range rounds {
				for _, step := range []func() error{
					func() error { return o.Create(pages, page, device.BackingMovable) },
					func() error { return o.Map(at, pages) },
					func() error { return o.SetAccess(at, 2*page, device.AccessReadWrite) },
					func() error {
						return o.DefaultStream().Fill(at+page-8, device.Pattern{Value: uint64(number), WidthBytes: 1}, 16)
					},
					func() error { return o.DefaultStream().Synchronize(device.Forever) },
					func() error { return o.Unmap(at, 2*page) },
					func() error { return o.Zero(pages) },
					func() error { return o.Release(pages) },
				} {
					if failed[number] = step(); failed[number] != nil {
						return
					}
				}
			}
		}()
	}
	all.Wait()
	for number, err := range failed {
		require.NoError(t, err, "thread %d", number)
	}
	require.NoError(t, o.Unreserve(space, threads*2*page))
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}
