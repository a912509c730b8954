package manager

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

func fillOf(h MemoryHandle, offset, size uint64, value uint32, width int) Fill {
	return Fill{Memory: h, OffsetBytes: offset, SizeBytes: size,
		Pattern: device.Pattern{Value: uint64(value), WidthBytes: width}}
}

func TestCopyMovesTheRangeThatIsAskedFor(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	src, dst := m.mustAlloc(t, 1000), m.mustAlloc(t, 500)
	content, zeros := counting(1000), make([]byte, 500)
	r.write(t, src, content)
	r.write(t, dst, zeros)
	require.NoError(t, r.factory.Copy(NewTransfer(src, dst, 100).WithSrcOffset(900).WithDstOffset(400)))
	require.Equal(t, append(append([]byte{}, zeros[:400]...), content[900:]...), r.bytes(t, dst))
	require.Equal(t, content, r.bytes(t, src))
	require.NoError(t, r.factory.Copy(NewTransfer(src, dst, 500)))
	require.Equal(t, content[:500], r.bytes(t, dst))
}

func TestCopyWithinABlockIsAMove(t *testing.T) {
	for name, c := range map[string]struct{ from, to, size uint64 }{
		"up": {0, 10, 900}, "down": {100, 3, 900}, "onto itself": {5, 5, 900}, "apart": {0, 500, 500},
	} {
		t.Run(name, func(t *testing.T) {
			r := cleanRig(t, devicetest.Config{Backed: true})
			m := r.manager(t, nil)
			h := m.mustAlloc(t, 1000)
			want := counting(1000)
			r.write(t, h, counting(1000))
			copy(want[c.to:c.to+c.size], append([]byte{}, want[c.from:c.from+c.size]...))
			transfer := NewTransfer(h, h, c.size).WithSrcOffset(c.from).WithDstOffset(c.to)
			require.NoError(t, r.factory.Copy(transfer))
			require.Equal(t, want, r.bytes(t, h))
			require.NoError(t, r.factory.CopyAsync(transfer, DefaultStream))
		})
	}
}

func TestBadRangesAreRefused(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	a, b := m.mustAlloc(t, 1000), m.mustAlloc(t, 500)
	host := r.dev.HostBuffer(make([]byte, 2000))
	queued := func() int {
		return r.dev.Calls(devicetest.Copy) + r.dev.Calls(devicetest.CopyFromHost) +
			r.dev.Calls(devicetest.CopyToHost) + r.dev.Calls(devicetest.Fill)
	}
	before := queued()
	cases := map[string]struct {
		transfer Transfer
		code     device.Code
		words    []string
	}{
		"size 0":        {NewTransfer(a, b, 0), device.CodeInvalidSize, []string{"size_bytes is 0"}},
		"dst too small": {NewTransfer(a, b, 501), device.CodeInvalidOffset, []string{"dst_offset_bytes 0", "501", "500"}},
		"src too small": {NewTransfer(a, b, 10).WithSrcOffset(991), device.CodeInvalidOffset, []string{"src_offset_bytes 991", "10", "1000"}},
		"src sum":       {NewTransfer(a, b, 2).WithSrcOffset(math.MaxUint64 - 1), device.CodeOverflow, []string{"src_offset_bytes 18446744073709551614"}},
		"dst sum":       {NewTransfer(a, b, 2).WithDstOffset(math.MaxUint64), device.CodeOverflow, []string{"dst_offset_bytes 18446744073709551615"}},
		"size sum":      {NewTransfer(a, b, math.MaxUint64).WithSrcOffset(1), device.CodeOverflow, nil},
		"rounded part":  {NewTransfer(a, a, 1).WithSrcOffset(1000), device.CodeInvalidOffset, []string{"1000"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			requireError(t, r.factory.Copy(c.transfer), c.code, c.words...)
			requireError(t, r.factory.CopyAsync(c.transfer, DefaultStream), c.code, c.words...)
		})
	}
	for _, call := range []func(MemoryHandle, uint64, device.HostAddr, uint64) error{r.factory.Write, r.factory.Read} {
		requireError(t, call(a, 0, host, 0), device.CodeInvalidSize)
		requireError(t, call(a, 1, host, 1000), device.CodeInvalidOffset, "offset_bytes 1", "1000")
		requireError(t, call(a, math.MaxUint64, host, 1), device.CodeOverflow)
		requireError(t, call(a, 0, 0, 1), device.CodeNullPointer)
		requireError(t, call(a, 0, math.MaxUint64, 2), device.CodeOverflow)
	}
	requireError(t, r.factory.FillAsync(fillOf(a, 0, 0, 1, 1), 0), device.CodeInvalidSize)
	requireError(t, r.factory.FillAsync(fillOf(a, 1000, 4, 1, 4), 0), device.CodeInvalidOffset)
	requireError(t, r.factory.FillAsync(fillOf(a, math.MaxUint64-3, 8, 1, 4), 0), device.CodeOverflow)
	requireError(t, r.factory.FillAsync(fillOf(a, 0, 6, 1, 4), 0), device.CodeInvalidSize, "size_bytes 6", "4")
	requireError(t, r.factory.FillAsync(fillOf(a, 3, 4, 1, 2), 0), device.CodeInvalidOffset, "offset_bytes 3", "2")
	for _, width := range []int{-1, 0, 3, 5, 8} {
		requireError(t, r.factory.FillAsync(fillOf(a, 0, 120, 1, width), 0), device.CodeInvalidArgument, "pattern_bytes")
	}
	requireError(t, r.factory.FillAsync(fillOf(a, 0, 4, 256, 1), 0), device.CodeInvalidArgument, "0x100")
	requireError(t, r.factory.FillAsync(fillOf(a, 0, 4, 1<<16, 2), 0), device.CodeInvalidArgument, "0x10000")
	require.Equal(t, before, queued(), "nothing was queued")
}

func TestFillIsWordByWordAlsoInABlockAtAnOddAddress(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, func(c *Config) {
		odd := smallPool()
		odd.AlignmentBytes = 1
		c.PoolConfigs[General] = odd
	})
	m.mustAlloc(t, 1)
	h := m.mustAlloc(t, 64)
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.EqualValues(t, 1, info.AlignmentBytes)
	requireError(t, r.factory.FillAsync(fillOf(h, 0, 4, 1, 4), 0), device.CodeInvalidOffset)
	require.NoError(t, r.factory.FillAsync(fillOf(h, 0, 64, 0xab, 1), 0))
	require.Equal(t, byte(0xab), r.bytes(t, h)[63])
}

func TestFillWritesPatternsOfEachWidth(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	h := m.mustAlloc(t, 12)
	require.NoError(t, r.factory.FillAsync(fillOf(h, 0, 12, 0x11, 1), DefaultStream))
	require.NoError(t, r.factory.FillAsync(fillOf(h, 2, 4, 0x2233, 2), DefaultStream))
	require.NoError(t, r.factory.FillAsync(fillOf(h, 8, 4, 0x44556677, 4), DefaultStream))
	require.Equal(t, []byte{0x11, 0x11, 0x33, 0x22, 0x33, 0x22, 0x11, 0x11, 0x77, 0x66, 0x55, 0x44}, r.bytes(t, h))
}

func TestReadReturnsWrittenBytes(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	h := m.mustAlloc(t, 300)
	content := counting(300)
	r.write(t, h, content)
	back := make([]byte, 300)
	require.NoError(t, r.factory.Read(h, 100, r.dev.HostBuffer(back), 150))
	require.Equal(t, content[100:250], back[:150])
	require.Zero(t, back[150])
}

func TestCopyWaitsForEarlierWorkOnItsBlocks(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	src, dst := m.mustAlloc(t, 64), m.mustAlloc(t, 64)
	back := make([]byte, 64)
	into, from := r.dev.HostBuffer(back), r.dev.HostBuffer(repeated(0x77, 64))
	for _, c := range []struct {
		name string
		call func() error
		// where the bytes of the fill, or those that come after it, are seen.
		seen func() byte
		want byte
	}{
		{"copy", func() error { return r.factory.Copy(NewTransfer(src, dst, 64)) },
			func() byte { return r.bytes(t, dst)[63] }, 0x5a},
		{"read", func() error { return r.factory.Read(src, 0, into, 64) },
			func() byte { return back[63] }, 0x5a},
		{"write", func() error { return r.factory.Write(src, 0, from, 64) },
			func() byte { return r.bytes(t, src)[63] }, 0x77},
	} {
		t.Run(c.name, func(t *testing.T) {
			stream, held := r.heldStream(t)
			require.NoError(t, r.factory.FillAsync(fillOf(src, 0, 64, 0x5a, 1), stream))
			waits := r.dev.Calls(devicetest.EventSynchronize)
			done := make(chan error, 1)
			go func() { done <- c.call() }()
			// The call is known to wait before the work is released.
			for r.dev.Calls(devicetest.EventSynchronize) == waits {
				requireNot(t, done)
			}
			requireNot(t, done)
			held.Release()
			require.NoError(t, <-done)
			require.Equal(t, c.want, c.seen())
			require.NoError(t, r.factory.DestroyStream(stream, false))
		})
	}
}

// requireNot checks that a call has not returned.
func requireNot(t *testing.T, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		t.Fatalf("the call returned %v before the work was done", err)
	default:
	}
}

func TestCopyReportsAFailureOfItsWork(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	h := m.mustAlloc(t, 64)
	lost := device.Errorf(device.CodeDevice, "test", "the copy failed")
	r.dev.FailNth(devicetest.StreamSynchronize, 2, lost)
	requireError(t, r.factory.Copy(NewTransfer(h, h, 1)), device.CodeDevice, "the copy failed")
	require.NoError(t, r.factory.Copy(NewTransfer(h, h, 1)))
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.Zero(t, info.OperationsInFlight)
}
