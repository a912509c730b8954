package streamtest

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// Run runs the suite on devices of one driver, which it closes. It needs 1 MiB of each.
func Run(t *testing.T, devices []device.Device) {
	t.Run("programs", func(t *testing.T) { programs(t, devices) })
	t.Run("refusals", func(t *testing.T) { refusals(t, devices[0]) })
	for _, dev := range devices {
		require.NoError(t, dev.Close(), "nothing is left behind")
		require.Equal(t, device.CodeInvalidState, device.CodeOf(dev.Close()))
	}
}

func programs(t *testing.T, devices []device.Device) {
	var slots []*slot
	var streams []device.Stream
	var owners []int
	segment := map[int]device.Addr{}
	size := uint64(1 << 20)
	for owner, dev := range devices {
		addr, err := dev.Alloc(size)
		require.NoError(t, err)
		segment[owner] = addr
		for i := range slotsDevice {
			// The address is not the start of a page or a cache line.
			slots = append(slots, &slot{owner: owner, addr: addr + device.Addr(i*(slotBytes+64))})
		}
		streams, owners = append(streams, dev.DefaultStream()), append(owners, owner)
		for range streamsOfDevice - 1 {
			s, err := dev.NewStream()
			require.NoError(t, err)
			streams, owners = append(streams, s), append(owners, owner)
		}
	}
	for range slotsDevice {
		slots = append(slots, &slot{owner: -1, bytes: make([]byte, slotBytes)})
	}
	rapid.Check(t, func(t *rapid.T) {
		p := &program{t: t, devices: devices, streams: streams, owners: owners, slots: slots}
		for _, x := range slots {
			x.model, x.last = make([]byte, slotBytes), -1
			if x.owner < 0 {
				clear(x.bytes)
				continue
			}
			s := devices[x.owner].DefaultStream()
			require.NoError(t, s.Fill(x.addr, device.Pattern{WidthBytes: 1}, slotBytes))
			require.NoError(t, s.Synchronize(device.Forever))
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			p.step()
		}
		p.end()
	})
	for i, s := range streams {
		if i%streamsOfDevice != 0 {
			require.NoError(t, s.Close())
			require.Equal(t, device.CodeInvalidState, device.CodeOf(s.Close()))
		}
	}
	for owner, addr := range segment {
		require.Equal(t, device.CodeBusy, device.CodeOf(devices[owner].Close()))
		require.NoError(t, devices[owner].Free(addr, size))
	}
}

// refusals: impossible calls are rejected with the right code, and change nothing.
func refusals(t *testing.T, dev device.Device) {
	info := dev.Info()
	size := info.GranularityBytes
	addr, err := dev.Alloc(size)
	require.NoError(t, err)
	require.Zero(t, uint64(addr)%info.AlignmentBytes)
	s, err := dev.NewStream()
	require.NoError(t, err)
	pattern := device.Pattern{Value: 5, WidthBytes: 4}
	end := addr + device.Addr(size)
	refused := func(code device.Code, err error) {
		t.Helper()
		require.Equal(t, code, device.CodeOf(err), "%v", err)
	}
	_, err = dev.Alloc(0)
	refused(device.CodeInvalidSize, err)
	_, err = dev.Alloc(size - 1)
	refused(device.CodeInvalidSize, err)
	_, err = dev.Alloc(1 << 62)
	refused(device.CodeOutOfMemory, err)
	refused(device.CodeInvalidAddress, dev.Free(addr, 2*size))
	refused(device.CodeInvalidAddress, dev.Free(addr+64, size))
	refused(device.CodeInvalidSize, s.Fill(addr, pattern, 0))
	refused(device.CodeInvalidSize, s.Fill(addr, pattern, 6))
	refused(device.CodeInvalidArgument, s.Fill(addr+2, pattern, 8))
	refused(device.CodeInvalidArgument, s.Fill(addr, device.Pattern{Value: 256, WidthBytes: 1}, 8))
	refused(device.CodeInvalidArgument, s.Fill(addr, device.Pattern{WidthBytes: 3}, 9))
	refused(device.CodeInvalidArgument, s.Fill(addr+4, device.Pattern{WidthBytes: 8}, 8))
	refused(device.CodeInvalidSize, s.Fill(addr, device.Pattern{WidthBytes: 8}, 12))
	refused(device.CodeInvalidAddress, s.Fill(end-4, pattern, 8))
	refused(device.CodeInvalidSize, s.Copy(addr, addr, 0))
	refused(device.CodeInvalidAddress, s.Copy(end, addr, 8))
	refused(device.CodeInvalidAddress, s.Copy(addr, end-1, 2))
	good := device.Move{Dst: addr, Src: addr + 64, SizeBytes: 8}
	require.NoError(t, s.Fill(addr, device.Pattern{Value: 1, WidthBytes: 1}, 64))
	require.NoError(t, s.Fill(addr+64, device.Pattern{Value: 2, WidthBytes: 1}, 64))
	for code, bad := range map[device.Code]device.Move{
		device.CodeInvalidSize:    {Dst: addr, Src: addr + 64},
		device.CodeInvalidAddress: {Dst: end - 4, Src: addr, SizeBytes: 8},
		device.CodeOverflow:       {Dst: addr, Src: addr + 64, SizeBytes: 1<<64 - 1},
	} {
		err := s.CopyBatch([]device.Move{good, bad, good})
		refused(code, err)
		require.ErrorContains(t, err, "copies[1]: ")
	}
	require.NoError(t, s.CopyBatch(nil))
	word := make([]byte, 8)
	require.NoError(t, s.CopyToHost(device.HostAddr(reflect.ValueOf(word).Pointer()), addr, 8))
	require.NoError(t, s.Synchronize(device.Forever))
	require.Equal(t, []byte{1, 1, 1, 1, 1, 1, 1, 1}, word, "nothing of a refused batch was copied")
	refused(device.CodeNullPointer, s.CopyToHost(0, addr, 8))
	refused(device.CodeNullPointer, s.CopyFromHost(addr, 0, 8))
	refused(device.CodeNullPointer, s.WaitEvent(nil))
	refused(device.CodeInvalidArgument, s.Synchronize(-7))
	refused(device.CodeInvalidArgument, dev.DefaultStream().Close())
	require.NoError(t, s.Synchronize(device.Forever))
	e, err := s.RecordEvent()
	require.NoError(t, err)
	require.NoError(t, e.Synchronize(device.Forever))
	done, err := e.Done()
	require.NoError(t, err)
	require.True(t, done)
	require.NoError(t, e.Close())
	_, err = e.Done()
	refused(device.CodeInvalidState, err)
	refused(device.CodeInvalidState, e.Close())
	refused(device.CodeBusy, dev.Close())
	require.NoError(t, s.Close())
	refused(device.CodeInvalidState, s.Fill(addr, pattern, 8))
	_, err = s.RecordEvent()
	refused(device.CodeInvalidState, err)
	require.NoError(t, dev.Free(addr, size))
	refused(device.CodeInvalidAddress, dev.Free(addr, size))
	refused(device.CodeInvalidAddress, dev.DefaultStream().Fill(addr, pattern, 8))
}
