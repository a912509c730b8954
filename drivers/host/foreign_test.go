package host

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// If an owner releases its memory to the system without notice, calls return errors and the
// process continues. The test keeps the addresses, so that no other mapping gets them.
func TestUnmappedAdoptedMemoryIsDetected(t *testing.T) {
	o := openOne(t)
	const size = 1 << 16
	host, bytes := hostBuffer(t, size)
	addr := device.Addr(host)
	require.NoError(t, o.Adopt(addr, size, device.AccessReadWrite, device.Alone))
	own := allocate(t, o, size)
	s := newQueue(t, o)
	gate := holdUp(t, s)
	<-gate.entered
	require.NoError(t, s.Fill(addr, device.Pattern{Value: 1, WidthBytes: 1}, size))
	there := o.driver.mapper.IsMapped
	o.driver.mapper.IsMapped = func(address, length uint64) bool {
		require.EqualValues(t, addr, address)
		require.EqualValues(t, size, length)
		return false
	}
	requireCode(t, device.CodeInvalidAddress, s.Copy(own, addr, size), "no longer mapped")
	gate.open()
	requireCode(t, device.CodeInvalidAddress, s.Synchronize(device.Forever), "no longer mapped")
	require.Zero(t, bytes[0])
	o.driver.mapper.IsMapped = there
	require.NoError(t, s.Fill(addr, device.Pattern{Value: 1, WidthBytes: 1}, size))
	require.NoError(t, s.Synchronize(device.Forever))
	require.EqualValues(t, 1, bytes[0])
	require.NoError(t, o.Disown(addr, size, device.Alone))
}

func TestMappedAndUnmappedRangesAreDistinguished(t *testing.T) {
	m := mapping.System()
	page := uint64(os.Getpagesize())
	address, err := m.Reserve(4 * page)
	require.NoError(t, err)
	require.True(t, m.IsMapped(address, 4*page))
	require.True(t, m.IsMapped(address+1, 1))
	require.NoError(t, m.Release(address+page, 3*page))
	require.True(t, m.IsMapped(address, page))
	require.False(t, m.IsMapped(address+page-1, 4*page))
	require.NoError(t, m.Release(address, page))
}

// Where the system does not answer, the list of mappings decides.
func TestAccessOfSmallRangesIsKnownWithoutTheSystemsList(t *testing.T) {
	m := mapping.System()
	page := uint64(os.Getpagesize())
	address, err := m.Reserve(3 * page)
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Release(address, 2*page)) }()
	require.NoError(t, m.Release(address+2*page, page))
	require.NoError(t, m.Virtual.Protect(address+page, page, device.AccessRead))
	if !m.Allows(address, page, device.AccessReadWrite) {
		t.Skip("the kernel is older than Linux 5.14")
	}
	for _, c := range []struct {
		at, size uint64
		access   device.Access
		want     bool
	}{
		{100, 8, device.AccessReadWrite, true}, {0, 2 * page, device.AccessRead, true},
		{page - 1, 2, device.AccessReadWrite, false}, {page, 1, device.AccessReadWrite, false},
		{2*page - 1, 1, device.AccessRead, true}, {2*page - 1, 2, device.AccessRead, false},
	} {
		require.Equal(t, c.want, m.Allows(address+c.at, c.size, c.access), "%+v", c)
	}
	for _, first := range []uint64{0, 1, page - 1} {
		require.False(t, m.Allows(first, 16, device.AccessRead), "no memory is at %d", first)
		require.False(t, m.IsMapped(first, 16), "no memory is at %d", first)
	}
}

// Without the system's list, memory that is not mapped is found all the same.
func TestUnmappedMemoryIsRejectedWithoutTheList(t *testing.T) {
	o := openOne(t)
	there := o.driver.system
	o.driver.system = newSystem(t.TempDir())
	defer func() { o.driver.system = there }()
	for _, size := range []uint64{8, quickCheckBytes + 1, 1 << 63} {
		requireCode(t, device.CodeInvalidAddress, o.Adopt(0x40000, size, device.AccessRead, device.Alone), "not readable")
		requireCode(t, device.CodeInvalidAddress, o.Adopt(8, size, device.AccessReadWrite, device.Alone), "not readable and writable")
	}
	const size = 2 * quickCheckBytes
	host, _ := hostBuffer(t, size)
	require.NoError(t, o.Adopt(device.Addr(host), size, device.AccessReadWrite, device.Alone))
	require.NoError(t, o.Disown(device.Addr(host), size, device.Alone))
}

func TestWritableRangesEqualTheSystemsList(t *testing.T) {
	s := newSystem(files(t, map[string]string{
		"proc/self/maps": "1000-2000 rw-p 0 0 0\n2000-3000 rw-s 0 0 0\n3000-4000 r--p 0 0 0\n5000-6000 rw-p 0 0 0\n",
	}))
	for _, c := range []struct {
		base, size uint64
		want       bool
	}{
		{0x1000, 0x2000, true}, {0x1fff, 2, true}, {0x2fff, 1, true}, {0x2fff, 2, false}, {0xfff, 2, false},
		{0x3000, 1, false}, {0x4000, 1, false}, {0x5000, 0x1000, true}, {0x5000, 0x1001, false}, {0x7000, 1, false},
	} {
		isAllowed, isKnown := s.allows("rw", c.base, c.size)
		require.True(t, isKnown)
		require.Equal(t, c.want, isAllowed, "%#x %#x", c.base, c.size)
	}
	_, isKnown := newSystem(t.TempDir()).allows("rw", 1, 1)
	require.False(t, isKnown, "there is no list")
	_, isKnown = newSystem(files(t, map[string]string{"proc/self/maps": "1000:2000 rw-p\n"})).allows("rw", 0x1000, 1)
	require.False(t, isKnown, "the list has another form")
}

// Memory that the process can only read can be read. A write fails before it reaches the
// memory, where it would end the process.
func TestReadOnlyAdoptedMemoryRejectsWrites(t *testing.T) {
	o := openOne(t)
	const size = 1 << 16
	host, bytes := hostBuffer(t, size)
	bytes[size-1] = 7
	require.NoError(t, mapping.System().Virtual.Protect(uint64(host), size, device.AccessRead))
	addr, s := device.Addr(host), newQueue(t, o)
	requireCode(t, device.CodeInvalidAddress, o.Adopt(addr, size, device.AccessReadWrite, device.Alone), "not readable and writable")
	require.NoError(t, o.Adopt(addr, size, device.AccessRead, device.Alone))
	own := allocate(t, o, size)
	require.NoError(t, s.Copy(own, addr, size))
	require.NoError(t, o.Prefetch(s, addr, size, o))
	requireCode(t, device.CodePermissionDenied, s.Fill(addr, device.Pattern{Value: 1, WidthBytes: 1}, 1), "read-only")
	requireCode(t, device.CodePermissionDenied, s.Copy(addr, own, size), "destination")
	require.NoError(t, s.Synchronize(device.Forever))
	require.EqualValues(t, 7, view(own, size)[size-1])
	require.NoError(t, o.Disown(addr, size, device.Alone))
	require.NoError(t, mapping.System().Virtual.Protect(uint64(host), size, device.AccessNone))
	requireCode(t, device.CodeInvalidAddress, o.Adopt(addr, size, device.AccessRead, device.Alone), "not readable")
	require.NoError(t, mapping.System().Virtual.Protect(uint64(host), size, device.AccessReadWrite))
}
