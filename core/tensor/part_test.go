package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/strided"
)

func TestOnDevicePartsOfBytesHaveTypesOfTheirOwn(t *testing.T) {
	r := newRig(t)
	block := r.make(dtype.U8, 64)
	r.put(block, make([]byte, 64))
	turned, err := strided.Strided([]int64{2, 3}, []int64{1, 2}, 0)
	require.NoError(t, err)
	part, err := block.Part(8, dtype.F32, turned)
	require.NoError(t, err)
	require.Equal(t, block.Addr()+8, part.Addr())
	numbers := []byte{0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 64, 64, 0, 0, 128, 64, 0, 0, 160, 64, 0, 0, 192, 64}
	require.NoError(t, part.Write(numbers, r.stream))
	// The element [1, 0] is adjacent to [0, 0].
	require.Equal(t, numbers[:4], r.get(block, 64)[8:12])
	require.Equal(t, numbers[12:16], r.get(block, 64)[12:16])
	narrow, err := part.Narrow(1, 1, 2)
	require.NoError(t, err)
	require.NoError(t, block.Close(), "the parts keep the memory")
	read := make([]byte, 16)
	require.NoError(t, narrow.Read(read, r.stream))
	require.Equal(t, append(append([]byte{}, numbers[4:12]...), numbers[16:]...), read)
	require.NoError(t, narrow.Close())
	require.NoError(t, part.Close())
	r.close()
}

func TestPartsThatAreNotPossible(t *testing.T) {
	r := newRig(t)
	block, other := r.make(dtype.U8, 64), r.make(dtype.F32, 16)
	four, err := strided.Contiguous(4)
	require.NoError(t, err)
	wrong := func(code device.Code, offset uint64, kind dtype.DType) {
		t.Helper()
		_, err := block.Part(offset, kind, four)
		require.ErrorIs(t, err, code)
	}
	wrong(device.CodeInvalidOffset, 65, dtype.F32)
	wrong(device.CodeInvalidOffset, 1<<63, dtype.F32)
	wrong(device.CodeInvalidOffset, 52, dtype.F32)
	wrong(device.CodeInvalidAlignment, 2, dtype.F32)
	wrong(device.CodeInvalidArgument, 0, dtype.DType(-1))
	_, err = other.Part(0, dtype.F32, four)
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	kept, err := block.Part(48, dtype.F32, four)
	require.NoError(t, err)
	require.NoError(t, block.Close())
	_, err = block.Part(0, dtype.F32, four)
	require.ErrorIs(t, err, device.CodeInvalidState)
	require.NoError(t, kept.Close())
	require.NoError(t, other.Close())
	r.close()
}
