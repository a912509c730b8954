package manager

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func TestMemoryHandleIsAValue(t *testing.T) {
	h := NewMemoryHandle(42)
	require.EqualValues(t, 42, h.ID())
	require.EqualValues(t, 42, uint64(h))
	require.True(t, h.IsValid())
	require.False(t, NewMemoryHandle(0).IsValid())
	require.True(t, NewMemoryHandle(1<<64-1).IsValid())
	require.Equal(t, h, NewMemoryHandle(42))
	require.Equal(t, "memory 0x2a", h.String())
	require.Equal(t, "here", map[MemoryHandle]string{h: "here"}[NewMemoryHandle(42)])
}

func TestStreamAndEventHandlesAreValues(t *testing.T) {
	s := NewStreamHandle(7)
	require.EqualValues(t, 7, s.ID())
	require.Equal(t, "stream 0x7", s.String())
	require.Zero(t, DefaultStream.ID())
	require.Equal(t, "here", map[StreamHandle]string{s: "here"}[NewStreamHandle(7)])
	e := NewEventHandle(9)
	require.EqualValues(t, 9, e.ID())
	require.True(t, e.IsValid())
	require.False(t, NewEventHandle(0).IsValid())
	require.Equal(t, "event 0x9", e.String())
	require.Equal(t, "here", map[EventHandle]string{e: "here"}[NewEventHandle(9)])
}

func TestMemoryTypesHaveNames(t *testing.T) {
	names := map[MemoryType]string{General: "general", Tensor: "tensor", Cache: "cache",
		Temporary: "temporary", Pinned: "pinned", Mapped: "mapped", Managed: "managed"}
	require.Len(t, names, MemoryTypeCount)
	for kind, name := range names {
		require.Equal(t, name, kind.String())
		text, err := json.Marshal(map[MemoryType]int{kind: 1})
		require.NoError(t, err)
		require.JSONEq(t, `{"`+name+`": 1}`, string(text))
		var back map[MemoryType]int
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, map[MemoryType]int{kind: 1}, back)
	}
	_, err := MemoryType(7).MarshalText()
	requireError(t, err, device.CodeInvalidArgument, "7")
	var kind MemoryType
	requireError(t, kind.UnmarshalText([]byte("Pinned")), device.CodeInvalidFormat, "Pinned")
	require.Equal(t, "unknown (-1)", MemoryType(-1).String())
}

func TestTransferStartsAtOffsetZero(t *testing.T) {
	plain := NewTransfer(1, 2, 3)
	require.Equal(t, Transfer{Src: 1, Dst: 2, SizeBytes: 3}, plain)
	moved := plain.WithSrcOffset(4).WithDstOffset(5)
	require.Equal(t, Transfer{Src: 1, Dst: 2, SizeBytes: 3, SrcOffsetBytes: 4, DstOffsetBytes: 5}, moved)
	require.Zero(t, plain.SrcOffsetBytes, "a transfer is a value: the first one is as it was")
}
