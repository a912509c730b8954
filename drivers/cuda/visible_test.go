package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// looksRight writes random bytes to random ranges, and compares the result of the search
// with the list of these bytes.
func looksRight(t *testing.T, o *openDevice, size uint64) {
	addr, err := o.Alloc(size)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Byte().Draw(t, "value")
		start := rapid.Uint64Range(0, size-1).Draw(t, "start")
		length := rapid.Uint64Range(1, size-start).Draw(t, "length")
		require.NoError(t, o.FillNow(addr, ^value, size))
		require.NoError(t, o.FillNow(addr+device.Addr(start), value, length))
		written := map[uint64]byte{}
		for range rapid.IntRange(0, 3).Draw(t, "others") {
			offset, other := rapid.Uint64Range(0, length-1).Draw(t, "offset"), rapid.Byte().Draw(t, "other")
			require.NoError(t, o.FillNow(addr+device.Addr(start+offset), other, 1))
			written[offset] = other
		}
		first := length
		for offset, other := range written {
			if other != value {
				first = min(first, offset)
			}
		}
		found, other, err := o.FirstOther(addr+device.Addr(start), value, length)
		require.NoError(t, err)
		require.Equal(t, first < length, other)
		if other {
			require.Equal(t, device.Difference{OffsetBytes: first, Found: written[first]}, found)
		}
	})
	require.NoError(t, o.Free(addr, size))
}

func TestDebugModeFindsChangedBytesOnTheDevice(t *testing.T) {
	for _, generation := range generations {
		t.Run(generation, func(t *testing.T) {
			if !alone(t, envLibrary+"="+simulated(generation), "SIMCUDA_JITTER_US=5") {
				return
			}
			sim, o := newSimulator(t), open(t, 0)
			require.True(t, o.Info().HostVisible && o.Info().Compiler)
			looksRight(t, o, kernelBytes)
			looksRight(t, o, 2*lookBytes+3*granularityBytes)
			require.Positive(t, sim.calls("cuLaunchKernel"))
			require.Equal(t, 1, sim.calls("cuModuleLoadDataEx"))
			require.NoError(t, o.Close())
			sim.clean()
		})
	}
}

// If the driver rejects the kernel, the library searches by copies. It tries the kernel
// only once.
func TestSearchWithoutTheKernel(t *testing.T) {
	if !alone(t, "SIMCUDA_JITTER_US=5") {
		return
	}
	sim, o := newSimulator(t), open(t, 0)
	sim.fault("cuModuleLoadDataEx", 1, resultNoBinary)
	looksRight(t, o, 2*lookBytes+3*granularityBytes)
	require.Equal(t, 1, sim.calls("cuModuleLoadDataEx"))
	require.Zero(t, sim.calls("cuLaunchKernel"))
	require.NoError(t, o.Close())
	sim.clean()
}

// If the device has no free memory for the kernel, the library also searches by copies. It
// tries the kernel again at the next search.
func TestSearchOnAFullDevice(t *testing.T) {
	sim, o := newSimulator(t), open(t, 0)
	addr, err := o.Alloc(lookBytes)
	require.NoError(t, err)
	require.NoError(t, o.FillNow(addr, 7, lookBytes))
	look := func() {
		_, other, err := o.FirstOther(addr, 7, lookBytes)
		require.NoError(t, err)
		require.False(t, other)
	}
	launched := sim.calls("cuLaunchKernel")
	for _, name := range []string{"cuModuleLoadDataEx", "cuMemAlloc_v2"} {
		sim.fault(name, 1, resultOutOfMemory)
		look()
		require.Equal(t, launched, sim.calls("cuLaunchKernel"))
	}
	look()
	require.Equal(t, launched+1, sim.calls("cuLaunchKernel"))
	require.NoError(t, o.Free(addr, lookBytes))
	require.NoError(t, o.Close())
	sim.clean()
}

// The n-th driver call of a search fails, for each n. Either the result is still correct,
// or the error has the native code. The search then succeeds when it is repeated.
func TestSearchFailsAtEachCall(t *testing.T) {
	sim := newSimulator(t)
	for n := 1; ; n++ {
		o := open(t, 0)
		addr, err := o.Alloc(lookBytes)
		require.NoError(t, err)
		require.NoError(t, o.FillNow(addr, 3, lookBytes))
		require.NoError(t, o.FillNow(addr+lookBytes-2, 4, 1))
		sim.fault("*", n, resultOutOfMemory)
		look := func() error {
			found, other, err := o.FirstOther(addr, 3, lookBytes)
			if err == nil {
				require.True(t, other, "%d", n)
				require.Equal(t, device.Difference{OffsetBytes: lookBytes - 2, Found: 4}, found, "%d", n)
			}
			return err
		}
		if err := look(); err != nil {
			require.EqualValues(t, resultOutOfMemory, requireCode(t, device.CodeOutOfMemory, err).Native)
		}
		done := sim.call("simcuda_faults_left") != 0
		sim.call("simcuda_clear_faults")
		require.NoError(t, look())
		require.NoError(t, o.Free(addr, lookBytes))
		require.NoError(t, o.Close())
		sim.clean()
		if done {
			require.Greater(t, n, 15)
			return
		}
	}
}

func TestARejectedSearchChangesNothing(t *testing.T) {
	o := open(t, 0)
	addr, err := o.Alloc(granularityBytes)
	require.NoError(t, err)
	for _, one := range []struct {
		addr device.Addr
		size uint64
		code device.Code
		text string
	}{
		{addr, 0, device.CodeInvalidSize, "size 0"},
		{addr, granularityBytes + 1, device.CodeInvalidAddress, "size 65537"},
		{16, 1, device.CodeInvalidAddress, "address 0x10"},
		{addr, ^uint64(0), device.CodeOverflow, "does not fit 64 bits"},
	} {
		require.Contains(t, requireCode(t, one.code, o.FillNow(one.addr, 1, one.size)).Message, one.text)
		_, _, err := o.FirstOther(one.addr, 1, one.size)
		require.Contains(t, requireCode(t, one.code, err).Message, one.text)
	}
	page := o.Granularity().MinimumBytes
	space, err := o.Reserve(page, page)
	require.NoError(t, err)
	requireCode(t, device.CodeNotMapped, o.FillNow(space, 1, page))
	pages := make([]device.Page, 1)
	require.NoError(t, o.Create(pages, page, device.BackingMovable))
	require.NoError(t, o.Map(space, pages))
	require.NoError(t, o.SetAccess(space, page, device.AccessRead))
	requireCode(t, device.CodePermissionDenied, o.FillNow(space, 1, page))
	_, other, err := o.FirstOther(space, 0, page)
	require.NoError(t, err)
	require.False(t, other)
	require.NoError(t, o.Unmap(space, page))
	require.NoError(t, o.Release(pages))
	require.NoError(t, o.Unreserve(space, page))
	require.NoError(t, o.Free(addr, granularityBytes))
	require.NoError(t, o.Close())
	requireCode(t, device.CodeInvalidState, closedLook(o))
	newSimulator(t).clean()
}

func closedLook(o *openDevice) error {
	o.ranges.Insert(span{Base: 1 << 20, Size: 2 * kernelBytes})
	_, _, err := o.FirstOther(1<<20, 0, 2*kernelBytes)
	return err
}

// A search on a lost device reports the loss, with or without the kernel. The device can be
// closed.
func TestSearchOnALostDevice(t *testing.T) {
	for _, had := range []string{"with", "without"} {
		t.Run(had, func(t *testing.T) {
			if !alone(t) {
				return
			}
			sim, o := newSimulator(t), open(t, 0)
			addr, err := o.Alloc(lookBytes)
			require.NoError(t, err)
			require.NoError(t, o.FillNow(addr, 1, lookBytes))
			if had == "with" {
				_, _, err = o.FirstOther(addr, 1, lookBytes)
				require.NoError(t, err)
			}
			sim.fault("async", 1, resultIllegalAddress)
			_, _, err = o.FirstOther(addr, 1, lookBytes)
			requireCode(t, device.CodeDeviceLost, err)
			requireCode(t, device.CodeDeviceLost, o.FillNow(addr, 1, 1))
			require.NoError(t, o.Free(addr, lookBytes))
			require.NoError(t, o.Close())
		})
	}
}
