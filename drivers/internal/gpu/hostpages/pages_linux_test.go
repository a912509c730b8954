package hostpages

import (
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// How this package is tested: the calls of the system run, and the kernel states what it knows about
// the pages. Errors, and the available memory, come from calls that the tests replace.

func bytesOf(p Pages) []byte {
	at := uintptr(p.Addr)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), p.Size)
}

func newMapper() *Mapper { return &Mapper{System: System()} }

// flagsOf returns what the kernel states about the mapping of an address; "" if it is not mapped.
func flagsOf(t *testing.T, address uint64) string {
	text, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	inside := false
	for line := range strings.Lines(string(text)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if first, last, is := strings.Cut(word, "-"); is {
			from, err1 := strconv.ParseUint(first, 16, 64)
			to, err2 := strconv.ParseUint(last, 16, 64)
			inside = err1 == nil && err2 == nil && address >= from && address < to
		}
		if inside && word == "VmFlags:" {
			return rest
		}
	}
	return ""
}

// Pages are aligned, zeroed, writable and in no child. They have their memory when Map returns, and
// are not mapped after Unmap.
func TestPagesHaveTheirMemory(t *testing.T) {
	m := newMapper()
	var all []Pages
	sum := uint64(0)
	for _, size := range []uint64{HugeBytes, HugeBytes + 64<<10, 3*HugeBytes - 4096, HugeBytes} {
		p, err := m.Map(size)
		require.NoError(t, err)
		require.True(t, p.Exist())
		require.Zero(t, p.Addr%HugeBytes)
		flags := strings.Fields(flagsOf(t, p.Addr))
		require.Contains(t, flags, "dc", "no copy in a child")
		resident := make([]byte, (size+uint64(os.Getpagesize())-1)/uint64(os.Getpagesize()))
		_, _, number := syscall.Syscall(syscall.SYS_MINCORE, uintptr(p.Addr), uintptr(size), uintptr(unsafe.Pointer(&resident[0])))
		require.Zero(t, number)
		for i, here := range resident {
			require.EqualValues(t, 1, here&1, "small page %d", i)
		}
		items := bytesOf(p)
		require.Zero(t, items[0])
		require.Zero(t, items[size-1])
		items[0], items[size-1] = 1, 2
		all, sum = append(all, p), sum+size
		require.Equal(t, sum, m.UsedBytes())
	}
	for _, p := range all {
		require.EqualValues(t, 1, bytesOf(p)[0])
		require.NoError(t, p.Unmap())
		require.NotContains(t, strings.Fields(flagsOf(t, p.Addr)), "dc")
		sum -= p.Size
		require.Equal(t, sum, m.UsedBytes())
	}
	require.NoError(t, Pages{}.Unmap(), "no pages")
	require.False(t, Pages{}.Exist())
}

// All pages are at most half of the memory that the process could use without them.
func TestPagesAreHalfOfWhatTheProcessCanUse(t *testing.T) {
	m := newMapper()
	const whole = 8 * HugeBytes
	available, known := uint64(whole), true
	m.System.Available = func() (uint64, bool) { return available, known }
	var all []Pages
	for range 4 {
		p, err := m.Map(HugeBytes)
		require.NoError(t, err)
		all = append(all, p)
		available -= HugeBytes
	}
	refused := func() {
		t.Helper()
		p, err := m.Map(HugeBytes)
		require.Equal(t, device.CodeUnsupported, device.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "half of the memory")
		require.False(t, p.Exist())
	}
	refused()
	require.NoError(t, all[0].Unmap())
	refused()
	available += HugeBytes
	p, err := m.Map(HugeBytes)
	require.NoError(t, err)
	all[0], available = p, available-HugeBytes
	// Others use the memory: 10 huge pages less a byte are 4 of 5 that may exist.
	available = 6*HugeBytes - 1
	refused()
	for _, p := range all {
		require.NoError(t, p.Unmap())
	}
	known = false
	refused()
	known, available = true, math.MaxUint64
	for _, size := range []uint64{0, math.MaxInt64, math.MaxUint64} {
		_, err := m.Map(size)
		require.Equal(t, device.CodeUnsupported, device.CodeOf(err), "size %d", size)
	}
	require.Zero(t, m.UsedBytes())
}

// Pages count as used before they have their memory, when the kernel does not count them yet.
func TestPagesCountBeforeTheyHaveTheirMemory(t *testing.T) {
	m := newMapper()
	m.System.Available = func() (uint64, bool) { return 8 * HugeBytes, true }
	var inner error
	m.System.Populate = func(uint64, uint64) error {
		m.System.Populate = func(uint64, uint64) error { return nil }
		_, inner = m.Map(3 * HugeBytes)
		p, err := m.Map(2 * HugeBytes)
		require.NoError(t, err)
		return p.Unmap()
	}
	p, err := m.Map(2 * HugeBytes)
	require.NoError(t, err)
	require.Equal(t, device.CodeUnsupported, device.CodeOf(inner), "%v", inner)
	require.NoError(t, p.Unmap())
	require.Zero(t, m.UsedBytes())
}

// Each call of the system fails. The caller unmaps the pages if they exist, also if that fails at
// first, and nothing is left.
func TestEveryCallOfTheSystemFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		number syscall.Errno
		code   device.Code
		set    func(calls *Calls, fails func(uint64, uint64) error)
	}{
		{"map", syscall.ENOMEM, device.CodeOutOfMemory, nil},
		{"map", syscall.EPERM, device.CodeUnsupported, nil},
		{"keep", syscall.EINVAL, device.CodeUnsupported, func(calls *Calls, f func(uint64, uint64) error) { calls.KeepFromChildren = f }},
		{"populate", syscall.ENOMEM, device.CodeOutOfMemory, func(calls *Calls, f func(uint64, uint64) error) { calls.Populate = f }},
		{"populate", syscall.EFAULT, device.CodeUnsupported, func(calls *Calls, f func(uint64, uint64) error) { calls.Populate = f }},
	} {
		m := newMapper()
		if c.set != nil {
			c.set(&m.System, func(uint64, uint64) error { return c.number })
		} else {
			m.System.Map = func(uint64) (uint64, error) { return 0, c.number }
		}
		p, err := m.Map(HugeBytes)
		require.Equal(t, c.code, device.CodeOf(err), "%s: %v", c.name, err)
		require.ErrorIs(t, err, c.number, c.name)
		require.ErrorContains(t, err, "2 MiB", c.name)
		require.Equal(t, c.set != nil, p.Exist(), c.name)
		if p.Exist() {
			require.EqualValues(t, HugeBytes, m.UsedBytes(), c.name)
			unmap := m.System.Unmap
			m.System.Unmap = func(uint64, uint64) error { return syscall.ENOMEM }
			require.ErrorIs(t, p.Unmap(), syscall.ENOMEM)
			require.EqualValues(t, HugeBytes, m.UsedBytes(), c.name)
			m.System.Unmap = unmap
		}
		require.NoError(t, p.Unmap())
		require.Zero(t, m.UsedBytes(), c.name)
	}
	_, err := new(Mapper).Map(HugeBytes)
	require.Equal(t, device.CodeUnsupported, device.CodeOf(err), "a system without such pages")
}
