package host

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// The result equals that of a plain loop, wherever the range starts and ends, also across
// the steps of the comparison.
func TestFirstOtherEqualsAPlainLoop(t *testing.T) {
	o := openOne(t)
	const size = 4 * lookBytes
	base := allocate(t, o, size)
	memory := view(base, size)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Byte().Draw(t, "value")
		start := rapid.Uint64Range(0, size-1).Draw(t, "start")
		length := rapid.Uint64Range(1, size-start).Draw(t, "length")
		for i := range memory {
			memory[i] = ^value
		}
		require.NoError(t, o.FillNow(base+device.Addr(start), value, length))
		require.Equal(t, start == 0, memory[0] == value, "the bytes in front are unchanged")
		if end := start + length; end < size {
			require.NotEqual(t, value, memory[end], "the bytes behind are unchanged")
		}
		for _, at := range rapid.SliceOfN(rapid.Uint64Range(0, length-1), 0, 3).Draw(t, "stray") {
			memory[start+at] = value + 1
		}
		want, differs := device.Difference{}, false
		for i, found := range memory[start : start+length] {
			if found != value {
				want, differs = device.Difference{OffsetBytes: uint64(i), Found: found}, true
				break
			}
		}
		got, other, err := o.FirstOther(base+device.Addr(start), value, length)
		require.NoError(t, err)
		require.Equal(t, differs, other)
		require.Equal(t, want, got)
	})
}

func TestVisibleRejectsWhatIsNoSegment(t *testing.T) {
	const segmentBytes = 1 << 20
	o := openOne(t)
	require.True(t, o.Info().HostVisible)
	base := allocate(t, o, segmentBytes)
	for _, wrong := range []struct {
		addr device.Addr
		size uint64
		code device.Code
	}{
		{base, 0, device.CodeInvalidSize},
		{base + 1, segmentBytes, device.CodeInvalidAddress},
		{base - 1, 2, device.CodeInvalidAddress},
		{base, ^uint64(0), device.CodeOverflow},
		{12345, 1, device.CodeInvalidAddress},
	} {
		requireCode(t, wrong.code, o.FillNow(wrong.addr, 1, wrong.size), "host.fill_now")
		_, _, err := o.FirstOther(wrong.addr, 1, wrong.size)
		requireCode(t, wrong.code, err, "host.first_other")
	}
	require.NoError(t, o.FillNow(base, 1, segmentBytes))
	require.NoError(t, o.Free(base, segmentBytes), "no work is in flight")
	closeAll(t, o)
	requireCode(t, device.CodeInvalidState, o.FillNow(base, 1, 1))
	_, _, err := o.FirstOther(base, 1, 1)
	requireCode(t, device.CodeInvalidState, err)
}
