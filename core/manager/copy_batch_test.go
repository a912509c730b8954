package manager

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// The reference compares every copy with every other one.
func TestOverlapsOfABatchAreFound(t *testing.T) {
	meet := func(a device.Addr, aSize uint64, b device.Addr, bSize uint64) bool {
		return a < b+device.Addr(bSize) && b < a+device.Addr(aSize)
	}
	rapid.Check(t, func(t *rapid.T) {
		copies := make([]device.Move, rapid.IntRange(1, 12).Draw(t, "count"))
		for i := range copies {
			copies[i] = device.Move{
				Dst: device.Addr(rapid.IntRange(1, 120).Draw(t, "dst")), Src: device.Addr(rapid.IntRange(1, 120).Draw(t, "src")),
				SizeBytes: uint64(rapid.IntRange(1, 9).Draw(t, "size")),
			}
		}
		overlap := false
		for i, a := range copies {
			for j, b := range copies {
				overlap = overlap || i != j && (meet(a.Dst, a.SizeBytes, b.Dst, b.SizeBytes) || meet(a.Dst, a.SizeBytes, b.Src, b.SizeBytes))
			}
		}
		want := device.CodeOK
		if overlap {
			want = device.CodeInvalidArgument
		}
		require.Equal(t, want, device.CodeOf(checkMoves("op", copies)), "%+v", copies)
	})
}

func TestABatchIsCheckedAsAWhole(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	h := m.mustAlloc(t, 1000)
	content := counting(1000)
	r.write(t, h, content)
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	at := info.Addr
	s, err := r.streams.CreateStream()
	require.NoError(t, err)
	good := device.Move{Dst: at, Src: at + 500, SizeBytes: 100}
	for name, c := range map[string]struct {
		bad  device.Move
		code device.Code
		text string
	}{
		"size":       {device.Move{Dst: at + 200, Src: at + 600}, device.CodeInvalidSize, "copies[1]: size_bytes is 0"},
		"end":        {device.Move{Dst: 1<<64 - 8, Src: at, SizeBytes: 8}, device.CodeOverflow, "copies[1]"},
		"twice":      {device.Move{Dst: at + 99, Src: at + 700, SizeBytes: 8}, device.CodeInvalidArgument, "copies[1]: the destination of 8 bytes"},
		"from a new": {device.Move{Dst: at + 300, Src: at + 50, SizeBytes: 8}, device.CodeInvalidArgument, "copies[1]: the source of 8 bytes"},
		"onto a src": {device.Move{Dst: at + 599, Src: at + 700, SizeBytes: 8}, device.CodeInvalidArgument, "copies[0]: the source of 100 bytes"},
	} {
		err := r.factory.CopyBatch(s, []device.Move{good, c.bad})
		require.Equal(t, c.code, device.CodeOf(err), "%s: %v", name, err)
		require.ErrorContains(t, err, c.text, name)
	}
	require.Zero(t, r.dev.Calls(devicetest.CopyBatch))
	require.Equal(t, content, r.bytes(t, h))
	r.dev.FailNth(devicetest.CopyBatch, 1, nil)
	require.Equal(t, device.CodeDevice, device.CodeOf(r.factory.CopyBatch(s, []device.Move{good})))
	within := device.Move{Dst: at + 801, Src: at + 800, SizeBytes: 100}
	require.NoError(t, r.factory.CopyBatch(s, []device.Move{good, {Dst: at + 200, Src: at + 550, SizeBytes: 100}, within}))
	require.NoError(t, r.factory.SynchronizeStream(s, device.Forever))
	want := bytes.Clone(content)
	copy(want[0:100], content[500:600])
	copy(want[200:300], content[550:650])
	copy(want[801:901], content[800:900])
	require.Equal(t, want, r.bytes(t, h))
	require.NoError(t, r.factory.DestroyStream(s, false))
	require.Equal(t, device.CodeInvalidHandle, device.CodeOf(r.factory.CopyBatch(s, []device.Move{good})))
}
