package tensor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/weights"
)

func TestOnDeviceWrongArguments(t *testing.T) {
	r := newRig(t)
	defer r.close()
	block, err := r.pool.Alloc(pool.Request{SizeBytes: 4096})
	require.NoError(t, err)
	contiguous := func(shape ...int64) strided.Layout {
		l, err := strided.Contiguous(shape...)
		require.NoError(t, err)
		return l
	}
	shifted := func(first int64, shape ...int64) strided.Layout {
		whole := contiguous(shape...)
		l, err := strided.Strided(shape, whole.Strides(), first)
		require.NoError(t, err)
		return l
	}
	for _, c := range []struct {
		name   string
		addr   device.Addr
		kind   dtype.DType
		layout strided.Layout
		code   device.Code
		text   string
	}{
		{"no type", block.Addr, 999999, contiguous(1), device.CodeInvalidArgument, "999999 is not a data type"},
		{"too long", block.Addr, dtype.F32, contiguous(1025), device.CodeInvalidOffset, "elements 0 to 1024 of f32 are outside of the memory: its 4096 bytes have 1024 elements"},
		{"before the memory", block.Addr, dtype.F32, shifted(-1, 2), device.CodeInvalidOffset, "elements -1 to 0"},
		{"behind the memory", block.Addr, dtype.F32, shifted(1024, 1), device.CodeInvalidOffset, "elements 1024 to 1024"},
		{"between two elements", block.Addr + 2, dtype.F32, contiguous(1), device.CodeInvalidAlignment, "is not a multiple of 4 bytes, the size of an element of f32"},
		{"half a byte", block.Addr, dtype.U4, contiguous(3), device.CodeInvalidArgument, "a multiple of 2 elements"},
		{"parts of bytes", block.Addr, dtype.U4, shifted(1, 2), device.CodeInvalidArgument, "a tensor of u4 is contiguous"},
	} {
		t.Run(c.name, func(t *testing.T) {
			foreign := tensor.Foreign{Engine: r.engine, Addr: c.addr, SizeBytes: 4096, Release: func() error {
				t.Error("nothing was wrapped")
				return nil
			}}
			_, err := tensor.Wrap(foreign, c.kind, c.layout)
			require.Equal(t, c.code, device.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, c.text)
		})
	}
	empty, err := tensor.Wrap(tensor.Foreign{Engine: r.engine, Addr: block.Addr}, dtype.F32, shifted(1<<40, 0, 3))
	require.NoError(t, err, "a tensor without elements has no place")
	require.NoError(t, empty.Close())
	require.NoError(t, r.pool.Free(block.Addr, nil))

	for _, c := range []struct {
		kind  dtype.DType
		shape []int64
		code  device.Code
	}{
		{dtype.F32, []int64{1 << 62, 2}, device.CodeOverflow},
		{dtype.F32, []int64{1 << 62}, device.CodeOverflow},
		{dtype.F32, []int64{-1}, device.CodeInvalidArgument},
		{dtype.F32, make([]int64, 9), device.CodeInvalidArgument},
		{dtype.GGUFBase + 8, []int64{4, 31}, device.CodeInvalidArgument},
		{-5, []int64{1}, device.CodeInvalidArgument},
	} {
		_, err := tensor.New(weights.InPool(r.pool, ""), c.kind, c.shape, r.stream)
		require.Equal(t, c.code, device.CodeOf(err), "%v %v: %v", c.kind, c.shape, err)
	}

	a, b := r.make(dtype.F32, 4, 6), r.make(dtype.F32, 6, 4)
	wide, err := a.Narrow(0, 0, 1)
	require.NoError(t, err)
	repeated, err := wide.Expand(4, 6)
	require.NoError(t, err)
	packed := r.make(dtype.GGUFBase+8, 2, 64)
	for name, c := range map[string]struct {
		err  error
		code device.Code
		text string
	}{
		"shapes":   {a.Copy(b, r.stream), device.CodeInvalidArgument, "a shape of [4, 6] cannot have the elements of a shape of [6, 4]"},
		"repeated": {repeated.Copy(a, r.stream), device.CodeInvalidArgument, "several elements have one place"},
		"overlap":  {a.Copy(repeated, r.stream), device.CodeInvalidArgument, "overlap"},
		"itself":   {a.Copy(a, r.stream), device.CodeInvalidArgument, "overlap"},
	} {
		require.Equal(t, c.code, device.CodeOf(c.err), name)
		require.ErrorContains(t, c.err, c.text, name)
	}
	_, err = packed.Narrow(1, 0, 32)
	require.Equal(t, device.CodeUnsupported, device.CodeOf(err), "%v", err)
	_, err = packed.Narrow(1, 0, 31)
	require.Equal(t, device.CodeInvalidArgument, device.CodeOf(err), "%v", err)
	row, err := packed.Narrow(0, 1, 1)
	require.NoError(t, err)
	require.EqualValues(t, packed.Addr()+68, row.Addr())
	_, err = b.Reshape(5)
	require.Equal(t, device.CodeInvalidArgument, device.CodeOf(err))
	turned, err := a.Transpose(0, 1)
	require.NoError(t, err)
	_, err = turned.Reshape(24)
	require.Equal(t, device.CodeUnsupported, device.CodeOf(err))
	require.ErrorContains(t, err, "the elements would have to be copied")
	for _, one := range []*tensor.Tensor{a, b, wide, repeated, packed, row, turned} {
		require.NoError(t, one.Close())
	}
	require.NoError(t, r.stream.Synchronize(device.Forever))
	require.Eventually(t, func() bool { return r.pool.Statistics().LiveBlocks.Current == 0 }, 10*time.Second, time.Millisecond)
	assert.Zero(t, r.pool.Statistics().Requested.Current)
}
