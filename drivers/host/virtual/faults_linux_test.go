package virtual

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// faulty are system calls of which the n-th fails.
type faulty struct {
	// left counts down and the call fails at 1. 0 or less: no call fails.
	left, calls int
	err         error
	mappings    uint64
}

func (f *faulty) fails() bool {
	f.calls++
	f.left--
	return f.left == 0
}

func (f *faulty) mapper() mapping.Calls {
	m := mapping.System()
	real := *m.Virtual
	real.Reserve = func(size uint64) (uint64, error) {
		if f.fails() {
			return 0, f.err
		}
		return m.Virtual.Reserve(size)
	}
	onRange := func(call func(address, size uint64) error) func(address, size uint64) error {
		return func(address, size uint64) error {
			if f.fails() {
				return f.err
			}
			return call(address, size)
		}
	}
	onFile := func(call func(file mapping.FilePart, size uint64) error) func(file mapping.FilePart, size uint64) error {
		return func(file mapping.FilePart, size uint64) error {
			if f.fails() {
				return f.err
			}
			return call(file, size)
		}
	}
	real.Clear, real.Forget = onRange(m.Virtual.Clear), onRange(m.Virtual.Forget)
	real.KeepFromChildren = onRange(m.Virtual.KeepFromChildren)
	real.Punch, real.Overwrite = onFile(m.Virtual.Punch), onFile(m.Virtual.Overwrite)
	real.Protect = func(address, size uint64, access device.Access) error {
		if f.fails() {
			return f.err
		}
		return m.Virtual.Protect(address, size, access)
	}
	real.MapFile = func(address, size uint64, file mapping.FilePart, access device.Access) error {
		if f.fails() {
			return f.err
		}
		return m.Virtual.MapFile(address, size, file, access)
	}
	real.OpenFile = func(size uint64) (int, uint64, error) {
		if f.fails() {
			return -1, 0, f.err
		}
		return m.Virtual.OpenFile(size)
	}
	real.CopyFile = func(fd int) (int, error) {
		if f.fails() {
			return -1, f.err
		}
		return m.Virtual.CopyFile(fd)
	}
	real.Mappings = func() uint64 { return f.mappings }
	out := m
	out.Virtual = &real
	out.Release = func(address, size uint64) error {
		if f.fails() {
			return f.err
		}
		return m.Release(address, size)
	}
	return out
}

// script maps movable pages in several runs of their file between private pages, in one
// reservation. It changes their access in parts, and releases everything. Each step can be
// repeated after it has failed.
type script struct {
	o       *opened
	addr    device.Addr
	movable []device.Page
	private []device.Page
}

const scriptPage = uint64(64 << 10)

func (s *script) at(i uint64) device.Addr { return s.addr + device.Addr(i*scriptPage) }

func (s *script) steps() []func() error {
	return []func() error{
		func() (err error) {
			if s.addr == 0 {
				s.addr, err = s.o.Reserve(16*scriptPage, scriptPage)
			}
			return err
		},
		func() error { return s.o.Create(s.movable, scriptPage, device.BackingMovable) },
		func() error { return s.o.Create(s.private, scriptPage, device.BackingPrivate) },
		func() error { return s.o.Map(s.at(0), []device.Page{s.movable[0], s.movable[1], s.movable[5]}) },
		func() error { return s.o.Map(s.at(3), s.private[:2]) },
		func() error { return s.o.Map(s.at(5), []device.Page{s.movable[4], s.private[2], s.movable[2]}) },
		func() error { return s.o.SetAccess(s.at(2), 4*scriptPage, device.AccessRead) },
		func() error { return s.o.SetAccess(s.at(0), 8*scriptPage, device.AccessReadWrite) },
		func() error { return s.o.FillNow(s.at(0), 7, 8*scriptPage) },
		func() error { return s.o.SetAccess(s.at(1), 6*scriptPage, device.AccessNone) },
		func() error { return s.o.SetAccess(s.at(0), 8*scriptPage, device.AccessRead) },
		func() error { return s.o.Zero([]device.Page{s.movable[3]}) },
		func() error { return s.o.Unmap(s.at(1), 5*scriptPage) },
		func() error { return s.o.Unmap(s.at(6), 2*scriptPage) },
		func() error { return s.o.Unmap(s.at(0), scriptPage) },
		func() error { return s.o.Release(slices.Concat(s.private, s.movable)) },
		func() error { return s.o.Unreserve(s.addr, 16*scriptPage) },
	}
}

// counters returns everything that a failed call must leave unchanged.
func (s *script) counters() string {
	v := s.o.Memory
	text := fmt.Sprintf("held %d, %s;", s.o.held.Load(), s.o.gate.Left())
	for _, r := range v.reservations {
		text += fmt.Sprintf(" reservation of %d with %d:", r.size(), r.mapped)
		for offset := uint64(0); offset < r.size(); offset += scriptPage {
			r.each(r.base()+offset, scriptPage, func(p place) bool {
				text += fmt.Sprintf(" %d=%x/%d/%d/%v", offset/scriptPage, p.page, p.access, p.uses, p.changing)
				return true
			})
		}
	}
	for _, st := range v.stores {
		text += fmt.Sprintf("; store of %d pages, free %v", len(st.pages), st.free)
		for _, p := range st.pages {
			text += fmt.Sprintf(" %x/%d", p.address, p.state)
		}
	}
	return text
}

// really returns the mappings of the system in the range.
func (s *script) really(t *testing.T) []mappingLine {
	if s.addr == 0 || len(s.o.reservations) == 0 {
		return nil
	}
	var found []mappingLine
	for _, m := range mappingsIn(t, uint64(s.addr), 16*scriptPage) {
		// The system may join a mapping at the edge with its neighbour.
		m.start, m.end = max(m.start, uint64(s.addr)), min(m.end, uint64(s.at(16)))
		found = append(found, m)
	}
	return found
}

// Whichever system call fails, the call of the device changes nothing in its records and in
// the process, and succeeds when it is repeated.
func TestEverySystemCallOfVirtualMemoryFailsOnce(t *testing.T) {
	failures := 0
	for n := 1; ; n++ {
		f := &faulty{err: syscall.EPERM, left: n}
		s := &script{o: openWith(t, f.mapper()), movable: make([]device.Page, 6), private: make([]device.Page, 3)}
		failed := false
		for i, step := range s.steps() {
			counters, real := s.counters(), s.really(t)
			wasArmed := f.left > 0
			err := step()
			if err == nil {
				continue
			}
			require.True(t, wasArmed && !failed, "step %d of failure %d: %v", i, n, err)
			failed = true
			require.ErrorIs(t, err, syscall.EPERM)
			if len(s.o.stores) > 0 || i > 0 {
				require.Equal(t, counters, s.counters(), "step %d, failure %d", i, n)
			}
			require.Equal(t, real, s.really(t), "step %d, failure %d", i, n)
			if i == 10 {
				// The contents of the pages are unchanged.
				_, other, err := s.o.FirstOther(s.at(0), 7, scriptPage)
				require.NoError(t, err)
				require.False(t, other)
			}
			require.NoError(t, step(), "step %d again, failure %d", i, n)
		}
		require.Zero(t, s.o.held.Load())
		require.NoError(t, s.o.Close())
		if f.left > 0 {
			break
		}
		if failed {
			failures++
		}
	}
	require.Greater(t, failures, 20, "the script must have met failures")
}

// From some call on every system call fails, so undoing fails as well. No work can then
// access a wrong page, and everything works again once the system calls succeed.
func TestPagesThatCannotBeRestoredLoseTheirAccess(t *testing.T) {
	f := &faulty{err: syscall.ENOMEM}
	o := openWith(t, f.mapper())
	pages := make([]device.Page, 3)
	require.NoError(t, o.Create(pages, scriptPage, device.BackingMovable))
	addr, err := o.Reserve(3*scriptPage, scriptPage)
	require.NoError(t, err)
	require.NoError(t, o.Map(addr, []device.Page{pages[0], pages[2], pages[1]}))
	require.NoError(t, o.SetAccess(addr, 3*scriptPage, device.AccessReadWrite))
	require.NoError(t, o.FillNow(addr, 9, 3*scriptPage))
	f.left = 2
	broken := o.system.calls.Virtual.MapFile
	o.system.calls.Virtual.MapFile = func(address, size uint64, file mapping.FilePart, access device.Access) error {
		if f.left <= 0 {
			return f.err
		}
		return broken(address, size, file, access)
	}
	requireCode(t, device.CodeOutOfMemory, o.SetAccess(addr, 3*scriptPage, device.AccessRead))
	o.system.calls.Virtual.MapFile = broken
	requireCode(t, device.CodePermissionDenied, o.FillNow(addr, 1, 3*scriptPage))
	require.NoError(t, o.SetAccess(addr, 3*scriptPage, device.AccessReadWrite))
	_, other, err := o.FirstOther(addr, 9, 3*scriptPage)
	require.NoError(t, err)
	require.False(t, other, "no byte is lost")
	require.NoError(t, o.Unmap(addr, 3*scriptPage))
	require.NoError(t, o.Release(pages))
	require.NoError(t, o.Unreserve(addr, 3*scriptPage))
	require.NoError(t, o.Close())
}

func TestErrorsOfTheSystemAreNamed(t *testing.T) {
	bound := maxMappings(t)
	for _, c := range []struct {
		err      error
		mappings uint64
		create   device.Code
		access   device.Code
		reserve  device.Code
		words    []string
	}{
		{syscall.ENOMEM, 10, device.CodeOutOfMemory, device.CodeOutOfMemory, device.CodeOutOfVirtualMemory, nil},
		{syscall.ENOMEM, bound, device.CodeResourceExhausted, device.CodeResourceExhausted, device.CodeResourceExhausted,
			[]string{"vm.max_map_count", fmt.Sprint(bound)}},
		{syscall.ENOSPC, 10, device.CodeOutOfMemory, device.CodeOutOfMemory, device.CodeOutOfMemory, nil},
		{syscall.EMFILE, 10, device.CodeResourceExhausted, device.CodeResourceExhausted, device.CodeResourceExhausted, nil},
		{syscall.EPERM, 10, device.CodeDevice, device.CodeMappingFailed, device.CodeOutOfVirtualMemory, nil},
	} {
		f := &faulty{err: c.err, mappings: c.mappings}
		o := openWith(t, f.mapper())
		page := make([]device.Page, 1)
		f.left = 1
		requireCode(t, c.create, o.Create(page, scriptPage, device.BackingMovable), c.words...)
		require.Zero(t, o.held.Load())
		require.NoError(t, o.Create(page, scriptPage, device.BackingMovable))
		f.left = 1
		_, err := o.Reserve(scriptPage, scriptPage)
		requireCode(t, c.reserve, err, c.words...)
		addr, err := o.Reserve(scriptPage, scriptPage)
		require.NoError(t, err)
		require.NoError(t, o.Map(addr, page))
		f.left = 1
		err = o.SetAccess(addr, scriptPage, device.AccessReadWrite)
		requireCode(t, c.access, err, c.words...)
		var typed *device.Error
		require.ErrorAs(t, err, &typed)
		require.EqualValues(t, c.err, typed.Native)
		require.Equal(t, "cpu:0", typed.Device)
		require.NoError(t, o.Unmap(addr, scriptPage))
		require.NoError(t, o.Release(page))
		require.NoError(t, o.Unreserve(addr, scriptPage))
		require.NoError(t, o.Close())
	}
}

// A process with a low limit on the size of files has few movable pages, and the error
// states that.
func TestALimitOnTheSizeOfFilesBoundsMovablePages(t *testing.T) {
	m := mapping.System()
	real := m.Virtual.OpenFile
	m.Virtual.OpenFile = func(uint64) (int, uint64, error) { return real(4 * scriptPage) }
	o := openWith(t, m)
	pages := make([]device.Page, 5)
	requireCode(t, device.CodeResourceExhausted, o.Create(pages, scriptPage, device.BackingMovable), "limit on the size of files")
	require.Zero(t, o.held.Load())
	require.NoError(t, o.Create(pages[:4], scriptPage, device.BackingMovable))
	require.NoError(t, o.Release(pages[:4]))
	require.NoError(t, o.Close())
}

// Locked memory cannot be released in place, but it is released all the same.
func TestLockedMemoryIsReleased(t *testing.T) {
	m := mapping.System()
	m.Virtual.Forget = func(uint64, uint64) error { return syscall.EINVAL }
	replaceMemory(t, openWith(t, m))
}

// A system with strict accounting still counts memory that is only released in place, so
// the memory is replaced there.
func TestMemoryIsReplacedUnderStrictAccounting(t *testing.T) {
	replaced := 0
	m := mapping.System()
	clear := m.Virtual.Clear
	m.Virtual.Clear = func(address, size uint64) error {
		replaced++
		return clear(address, size)
	}
	o := openWith(t, m)
	o.system.strict = true
	replaceMemory(t, o)
	require.Equal(t, 2, replaced)
}

// replaceMemory writes a page twice, and finds zeros in it before each write.
func replaceMemory(t *testing.T, o *opened) {
	page := make([]device.Page, 1)
	require.NoError(t, o.Create(page, scriptPage, device.BackingPrivate))
	addr, err := o.Reserve(scriptPage, scriptPage)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, o.Map(addr, page))
		require.NoError(t, o.SetAccess(addr, scriptPage, device.AccessReadWrite))
		_, other, err := o.FirstOther(addr, 0, scriptPage)
		require.NoError(t, err)
		require.False(t, other)
		require.NoError(t, o.FillNow(addr, 3, scriptPage))
		require.NoError(t, o.Unmap(addr, scriptPage))
	}
	require.NoError(t, o.Release(page))
	require.NoError(t, o.Unreserve(addr, scriptPage))
	require.NoError(t, o.Close())
}

// A system call of keeping, mapping again and dropping fails: the contents are as before, and
// the next attempt succeeds.
func TestKeptContentsSurviveFailures(t *testing.T) {
	const size = 4 * 64 << 10
	f := &faulty{err: syscall.EPERM}
	o := openWith(t, f.mapper())
	addr, err := o.Reserve(size, 64<<10)
	require.NoError(t, err)
	pages := make([]device.Page, 4)
	require.NoError(t, o.Create(pages, size/4, device.BackingPrivate))
	require.NoError(t, o.Map(addr, pages))
	require.NoError(t, o.SetAccess(addr, size, device.AccessReadWrite))
	require.NoError(t, o.FillNow(addr, 5, size))
	holds := func(value byte) {
		_, other, err := o.FirstOther(addr, value, size)
		require.NoError(t, err)
		require.False(t, other)
	}
	f.left = 1
	require.ErrorIs(t, o.UnmapKeeping(addr, size, 1), device.CodeUnmappingFailed)
	holds(5)
	require.NoError(t, o.UnmapKeeping(addr, size, 1))
	require.ErrorIs(t, o.UnmapKeeping(addr, size, 2), device.CodeNotMapped)
	require.NoError(t, o.MapKept(addr, pages, 1))
	f.left = 1
	require.ErrorIs(t, o.SetAccess(addr, size, device.AccessReadWrite), device.CodeMappingFailed)
	require.NoError(t, o.UnmapKeeping(addr, size, 3))
	require.NoError(t, o.MapKept(addr, pages, 3))
	require.NoError(t, o.SetAccess(addr, size, device.AccessReadWrite))
	holds(5)

	// Memory is released with one call, and replaced with a second one if that fails. Both fail.
	require.NoError(t, o.UnmapKeeping(addr, size, 4))
	refused := func(call func() error) {
		calls := mapping.System()
		real := *calls.Virtual
		real.Forget = func(uint64, uint64) error { return syscall.EINVAL }
		real.Clear = func(uint64, uint64) error { return syscall.ENOMEM }
		calls.Virtual = &real
		former := o.system.calls
		o.system.calls = calls
		require.Error(t, call())
		o.system.calls = former
	}
	refused(func() error { return o.DropKept(addr, size, 4) })
	refused(func() error { return o.Map(addr, pages) })
	require.NoError(t, o.MapKept(addr, pages, 4))
	require.NoError(t, o.SetAccess(addr, size, device.AccessReadWrite))
	holds(5)
	require.NoError(t, o.UnmapKeeping(addr, size, 5))
	require.NoError(t, o.DropKept(addr, size, 5))
	require.NoError(t, o.Map(addr, pages))
	require.NoError(t, o.SetAccess(addr, size, device.AccessReadWrite))
	holds(0)
	require.NoError(t, o.Unmap(addr, size))
	require.NoError(t, o.Release(pages))
	require.NoError(t, o.Unreserve(addr, size))
	require.NoError(t, o.Close())
}
