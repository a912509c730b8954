package host

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func TestAdoptedMemoryIsUsedAndLeftAlone(t *testing.T) {
	o := openOne(t)
	const size = 1 << 16
	host, bytes := hostBuffer(t, 2*size)
	addr := device.Addr(host)
	require.NoError(t, o.Adopt(addr, size))
	require.NoError(t, o.DefaultStream().Fill(addr, device.Pattern{Value: 3, WidthBytes: 1}, size))
	require.NoError(t, o.DefaultStream().Synchronize(device.Forever))
	require.EqualValues(t, []byte{3, 0}, bytes[size-1:size+1])
	requireCode(t, device.CodeInvalidAddress, o.DefaultStream().Fill(addr, device.Pattern{Value: 3, WidthBytes: 1}, size+1))

	requireCode(t, device.CodeAlreadyExists, o.Adopt(addr, 1))
	requireCode(t, device.CodeAlreadyExists, o.Adopt(addr+size-1, 1))
	require.NoError(t, o.Adopt(addr+size, 1))
	require.NoError(t, o.Disown(addr+size, 1))
	requireCode(t, device.CodeBusy, o.Close(), "1 ranges of others")
	requireCode(t, device.CodeInvalidAddress, o.Free(addr, size))
	requireCode(t, device.CodeInvalidAddress, o.Disown(addr, size-1))

	s := newQueue(t, o)
	gate := holdUp(t, s)
	<-gate.entered
	require.NoError(t, s.Fill(addr, device.Pattern{Value: 4, WidthBytes: 1}, size))
	requireCode(t, device.CodeBusy, o.Disown(addr, size))
	gate.open()
	require.NoError(t, s.Synchronize(device.Forever))
	require.NoError(t, o.Disown(addr, size))
	requireCode(t, device.CodeInvalidAddress, o.Disown(addr, size))
	require.EqualValues(t, 4, bytes[0], "its owner has it still")
	require.Zero(t, o.memory.held.Load())
}

// An owner who gives his memory back to the system without a word gets errors, and
// the process goes on. The memory stays here, so that nobody else gets its addresses.
func TestAdoptedMemoryThatIsGone(t *testing.T) {
	o := openOne(t)
	const size = 1 << 16
	host, bytes := hostBuffer(t, size)
	addr := device.Addr(host)
	require.NoError(t, o.Adopt(addr, size))
	own := allocate(t, o, size)
	s := newQueue(t, o)
	gate := holdUp(t, s)
	<-gate.entered
	require.NoError(t, s.Fill(addr, device.Pattern{Value: 1, WidthBytes: 1}, size))
	there := o.driver.mapper.isMapped
	o.driver.mapper.isMapped = func(address, length uint64) bool {
		require.EqualValues(t, addr, address)
		require.EqualValues(t, size, length)
		return false
	}
	requireCode(t, device.CodeInvalidAddress, s.Copy(own, addr, size), "not mapped any more")
	gate.open()
	requireCode(t, device.CodeInvalidAddress, s.Synchronize(device.Forever), "not mapped any more")
	require.Zero(t, bytes[0])
	o.driver.mapper.isMapped = there
	require.NoError(t, s.Fill(addr, device.Pattern{Value: 1, WidthBytes: 1}, size))
	require.NoError(t, s.Synchronize(device.Forever))
	require.EqualValues(t, 1, bytes[0])
	require.NoError(t, o.Disown(addr, size))
}

func TestWhatIsMapped(t *testing.T) {
	m := systemMapper()
	page := uint64(os.Getpagesize())
	address, err := m.reserve(4 * page)
	require.NoError(t, err)
	require.True(t, m.isMapped(address, 4*page))
	require.True(t, m.isMapped(address+1, 1))
	require.NoError(t, m.release(address+page, 3*page))
	require.True(t, m.isMapped(address, page))
	require.False(t, m.isMapped(address+page-1, 4*page))
	require.NoError(t, m.release(address, page))
}

func TestAdoptRefusesWhatIsNoMemory(t *testing.T) {
	o := openOne(t)
	own := allocate(t, o, 1<<16)
	space, err := o.Reserve(1<<20, 1<<20)
	require.NoError(t, err)
	defer func() { require.NoError(t, o.Unreserve(space, 1<<20)) }()
	host, _ := hostBuffer(t, 1<<16)
	for name, c := range map[string]struct {
		addr device.Addr
		size uint64
		code device.Code
	}{
		"no address": {0, 1, device.CodeInvalidAddress},
		"no size":    {device.Addr(host), 0, device.CodeInvalidSize},
		"no end":     {device.Addr(host), 1<<64 - 1, device.CodeOverflow},
		"nowhere":    {1 << 20, 1, device.CodeInvalidAddress},
		"beyond":     {device.Addr(host), 1 << 60, device.CodeInvalidAddress},
		"own":        {own + 5, 1, device.CodeAlreadyExists},
		"reserved":   {space, 1, device.CodeInvalidAddress},
	} {
		t.Run(name, func(t *testing.T) { requireCode(t, c.code, o.Adopt(c.addr, c.size)) })
	}
	require.Zero(t, o.foreign.count())
}

func TestReadableAndWritable(t *testing.T) {
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
		require.Equal(t, c.want, s.isWritable(c.base, c.size), "%#x %#x", c.base, c.size)
	}
	require.True(t, newSystem(t.TempDir()).isWritable(1, 1), "what is not known is not refused")
}

func TestLinkedMemoryIsOne(t *testing.T) {
	both := openSome(t, Config{Devices: 2, MemoryBytes: 1 << 30})
	a, b := both[0], both[1]
	addr := allocate(t, a, 1<<16)
	there, err := b.Link(a, addr+64, 1024)
	require.NoError(t, err)
	require.NoError(t, b.DefaultStream().Fill(there, device.Pattern{Value: 5, WidthBytes: 1}, 1024))
	require.NoError(t, b.DefaultStream().Synchronize(device.Forever))
	require.EqualValues(t, []byte{0, 5}, view(addr, 1<<16)[63:65])
	requireCode(t, device.CodeBusy, b.Close())
	_, err = b.Link(a, addr, 65)
	requireCode(t, device.CodeAlreadyExists, err)
	_, err = a.Link(a, addr, 1)
	requireCode(t, device.CodeInvalidArgument, err, "cpu:0")
	_, err = b.Link(a, addr, 1<<17)
	requireCode(t, device.CodeInvalidAddress, err)
	require.NoError(t, b.Unlink(there, 1024))
	requireCode(t, device.CodeInvalidAddress, b.Unlink(there, 1024))
}
