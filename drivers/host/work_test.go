package host

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func TestBadOperationsAreRejectedAndChangeNothing(t *testing.T) {
	devices := openSome(t, Config{Devices: 2, MemoryBytes: 1 << 30})
	o, other := devices[0], devices[1]
	addr, foreign := allocate(t, o, 64<<10), allocate(t, other, 64<<10)
	freed := allocate(t, o, 4<<20)
	require.NoError(t, o.Free(freed, 4<<20))
	host, _ := hostBuffer(t, 64<<10)
	s := newQueue(t, o)
	scramble(view(addr, 64<<10), 9)
	before := append([]byte(nil), view(addr, 64<<10)...)
	one := device.Pattern{WidthBytes: 1}
	const size, top = 64 << 10, 1<<64 - 1
	for name, c := range map[string]struct {
		code device.Code
		err  error
	}{
		"copy 0":             {device.CodeInvalidSize, s.Copy(addr, addr, 0)},
		"copy past end":      {device.CodeInvalidAddress, s.Copy(addr+1, addr, size)},
		"copy from past end": {device.CodeInvalidAddress, s.Copy(addr, addr+1, size)},
		"copy to freed":      {device.CodeInvalidAddress, s.Copy(freed, addr, 1)},
		"copy from freed":    {device.CodeInvalidAddress, s.Copy(addr, freed, 1)},
		"copy to 0":          {device.CodeInvalidAddress, s.Copy(0, addr, 1)},
		"copy from foreign":  {device.CodeInvalidAddress, s.Copy(addr, foreign, 1)},
		"copy huge":          {device.CodeOverflow, s.Copy(addr, addr, top)},
		"copy wraps":         {device.CodeOverflow, s.Copy(top, addr, 1)},
		"copy nearly wraps":  {device.CodeInvalidAddress, s.Copy(top-1, addr, 1)},
		"copy to Go memory":  {device.CodeInvalidAddress, s.Copy(device.Addr(host), addr, 1)},
		"in, 0":              {device.CodeInvalidSize, s.CopyFromHost(addr, host, 0)},
		"in, past end":       {device.CodeInvalidAddress, s.CopyFromHost(addr+1, host, size)},
		"in, null":           {device.CodeNullPointer, s.CopyFromHost(addr, 0, 1)},
		"in, wraps":          {device.CodeOverflow, s.CopyFromHost(addr, top-3, 8)},
		"out, 0":             {device.CodeInvalidSize, s.CopyToHost(host, addr, 0)},
		"out, past end":      {device.CodeInvalidAddress, s.CopyToHost(host, addr+size, 1)},
		"out, null":          {device.CodeNullPointer, s.CopyToHost(0, addr, 1)},
		"out, wraps":         {device.CodeOverflow, s.CopyToHost(top, addr, 8)},
		"fill 0":             {device.CodeInvalidSize, s.Fill(addr, one, 0)},
		"fill past end":      {device.CodeInvalidAddress, s.Fill(addr+size-1, one, 2)},
		"fill wraps":         {device.CodeOverflow, s.Fill(addr, one, top)},
		"fill odd size":      {device.CodeInvalidSize, s.Fill(addr, device.Pattern{WidthBytes: 4}, 6)},
		"fill odd address":   {device.CodeInvalidArgument, s.Fill(addr+1, device.Pattern{WidthBytes: 2}, 2)},
		"fill width 0":       {device.CodeInvalidArgument, s.Fill(addr, device.Pattern{}, 4)},
		"fill width 3":       {device.CodeInvalidArgument, s.Fill(addr, device.Pattern{WidthBytes: 3}, 3)},
		"fill width -4":      {device.CodeInvalidArgument, s.Fill(addr, device.Pattern{WidthBytes: -4}, 4)},
		"fill width 16":      {device.CodeInvalidArgument, s.Fill(addr, device.Pattern{WidthBytes: 16}, 16)},
		"fill wide value":    {device.CodeInvalidArgument, s.Fill(addr, device.Pattern{Value: 256, WidthBytes: 1}, 1)},
		"no function":        {device.CodeNullPointer, s.HostFunction(nil)},
		"no event":           {device.CodeNullPointer, s.WaitEvent(nil)},
		"other's event":      {device.CodeUnsupported, s.WaitEvent(struct{ device.Event }{})},
		"timeout":            {device.CodeInvalidArgument, s.Synchronize(-2)},
		"device timeout":     {device.CodeInvalidArgument, o.Synchronize(-2)},
		"peer, other stream": {device.CodeInvalidArgument, o.CopyFromPeer(other.DefaultStream(), addr, other, foreign, 1)},
		"peer, no stream":    {device.CodeInvalidArgument, o.CopyFromPeer(nil, addr, other, foreign, 1)},
		"peer, no device":    {device.CodeUnsupported, o.CopyFromPeer(s, addr, nil, foreign, 1)},
		"peer, wrong source": {device.CodeInvalidAddress, o.CopyFromPeer(s, addr, other, addr, 1)},
		"peer, wrong target": {device.CodeInvalidAddress, o.CopyFromPeer(s, foreign, other, foreign, 1)},
		"peer 0":             {device.CodeInvalidSize, o.CopyFromPeer(s, addr, other, foreign, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			requireCode(t, c.code, c.err)
			var typed *device.Error
			require.ErrorAs(t, c.err, &typed)
			require.NotEmpty(t, typed.Device)
		})
	}
	idle, err := s.Idle()
	require.NoError(t, err)
	require.True(t, idle, "nothing may have been queued")
	require.Equal(t, before, view(addr, 64<<10))
	// A rejected operation must not hold a reference.
	require.NoError(t, o.Free(addr, 64<<10))
	require.NoError(t, other.Free(foreign, 64<<10))
}

func TestACopyFromAPeerHoldsBothMemories(t *testing.T) {
	devices := openSome(t, Config{Devices: 2, MemoryBytes: 1 << 30})
	o, other := devices[0], devices[1]
	to, from := allocate(t, o, 4<<20), allocate(t, other, 4<<20)
	scramble(view(from, 4<<20), 5)
	require.True(t, o.CanCopyFrom(other))
	require.True(t, o.CanCopyFrom(o))
	require.False(t, o.CanCopyFrom(nil))
	s := newQueue(t, o)
	g := holdUp(t, s)
	require.NoError(t, o.CopyFromPeer(s, to, other, from, 4<<20))
	requireCode(t, device.CodeBusy, other.Free(from, 4<<20))
	g.open()
	require.NoError(t, s.Synchronize(device.Forever))
	require.Equal(t, view(from, 4<<20), view(to, 4<<20))
	require.NoError(t, other.Free(from, 4<<20))
	require.NoError(t, other.Close())
	require.False(t, o.CanCopyFrom(other))
}

func TestASegmentInUseCannotBeFreed(t *testing.T) {
	o := openOne(t)
	a, b, unused := allocate(t, o, 64<<10), allocate(t, o, 64<<10), allocate(t, o, 64<<10)
	host, _ := hostBuffer(t, 64)
	s := newQueue(t, o)
	for _, queue := range []func() error{
		func() error { return s.Copy(a, b, 64) },
		func() error { return s.Copy(a, a+128, 64) },
		func() error {
			return s.CopyBatch([]device.Move{{Dst: b, Src: b + 64, SizeBytes: 64}, {Dst: b + 128, Src: a, SizeBytes: 64}})
		},
		func() error { return s.Fill(a, device.Pattern{WidthBytes: 1}, 64) },
		func() error { return s.CopyFromHost(a, host, 64) },
		func() error { return s.CopyToHost(host, a, 64) },
	} {
		g := holdUp(t, s)
		require.NoError(t, queue())
		requireCode(t, device.CodeBusy, o.Free(a, 64<<10), "queued work")
		requireCode(t, device.CodeBusy, o.Close())
		g.open()
		require.NoError(t, s.Synchronize(device.Forever))
	}
	g := holdUp(t, s)
	require.NoError(t, s.Fill(a, device.Pattern{WidthBytes: 1}, 64))
	require.NoError(t, o.Free(unused, 64<<10))
	g.open()
	require.NoError(t, s.Synchronize(device.Forever))
	require.NoError(t, o.Free(a, 64<<10))
	require.NoError(t, o.Free(b, 64<<10))
}

func TestAHostFunctionMayUseTheDevice(t *testing.T) {
	o := openOne(t)
	s, other := newQueue(t, o), newQueue(t, o)
	addr := allocate(t, o, 64<<10)
	var inside []error
	require.NoError(t, s.HostFunction(func() {
		segment, err := o.Alloc(64 << 10)
		inside = append(inside, err, o.Free(segment, 64<<10), other.Fill(addr, device.Pattern{Value: 3, WidthBytes: 1}, 4),
			other.Synchronize(device.Forever), s.Fill(addr+4, device.Pattern{Value: 4, WidthBytes: 1}, 4))
		_, err = s.RecordEvent()
		inside = append(inside, err)
	}))
	require.NoError(t, s.Synchronize(device.Forever))
	require.NoError(t, s.Synchronize(device.Forever))
	for _, err := range inside {
		require.NoError(t, err)
	}
	require.Equal(t, []byte{3, 3, 3, 3, 4, 4, 4, 4}, view(addr, 8))
}

func TestADeviceCannotBeClosedFromItsHostFunctions(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("threads can be told apart on Linux only")
	}
	o := openOne(t)
	var closing error
	require.NoError(t, o.DefaultStream().HostFunction(func() { closing = o.Close() }))
	require.NoError(t, o.DefaultStream().Synchronize(device.Forever))
	requireCode(t, device.CodeInvalidState, closing)
}
