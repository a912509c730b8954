package segments

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// Segments are allocated and freed at random, and random ranges are checked.
func TestSegmentsEqualAPlainList(t *testing.T) {
	r := open(t)
	rapid.Check(t, func(t *rapid.T) {
		live := map[device.Addr]uint64{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(live) == 0 || rapid.Bool().Draw(t, "allocate") {
				size := uint64(rapid.IntRange(1, 40).Draw(t, "granules")) * granule
				addr, err := r.Alloc(size)
				require.NoError(t, err)
				live[addr] = size
			} else {
				for addr, size := range live {
					require.NoError(t, r.Free(addr, size))
					delete(live, addr)
					break
				}
			}
			for addr, size := range live {
				start := addr + device.Addr(rapid.Int64Range(-100, int64(size)+100).Draw(t, "start"))
				length := uint64(rapid.Int64Range(1, int64(size)+100).Draw(t, "length"))
				inside, touches := false, false
				for a, n := range live {
					inside = inside || (start >= a && uint64(start-a) < n && length <= n-uint64(start-a))
					touches = touches || start < a+device.Addr(n) && a < start+device.Addr(length)
				}
				require.Equal(t, touches, r.Overlaps(uint64(start), length))
				found, err := r.Acquire("test", "range", start, length)
				require.Equal(t, inside, err == nil)
				if err == nil {
					requireCode(t, device.CodeBusy, r.Free(device.Addr(found.Base), found.Size), "1 use by queued work")
					found.Release()
				}
			}
		}
		var held uint64
		for _, size := range live {
			held += size
		}
		require.Equal(t, held, r.capacity.held.Load())
		for addr, size := range live {
			require.NoError(t, r.Free(addr, size))
		}
		require.Zero(t, r.capacity.held.Load())
	})
}

// External memory is added and removed at random. Overlapping ranges are rejected, and a
// range is known from Add to Remove. The test never touches the memory.
func TestForeignRangesEqualAPlainList(t *testing.T) {
	r := open(t)
	rapid.Check(t, func(t *rapid.T) {
		const taken = uint64(40)
		entered := map[uint64]uint64{}
		overlap := func(base, size uint64) bool {
			for b, n := range entered {
				if base < b+n && b < base+size {
					return true
				}
			}
			return false
		}
		isTaken := func(base, size uint64) bool { return base <= taken && taken < base+size }
		for range 40 {
			base, size := rapid.Uint64Range(1, 60).Draw(t, "base"), rapid.Uint64Range(1, 12).Draw(t, "size")
			if n, ok := entered[base]; ok && rapid.Bool().Draw(t, "leave") {
				require.NoError(t, r.foreign.Remove("leave", device.Addr(base), n, device.Alone))
				delete(entered, base)
				continue
			}
			require.NoError(t, r.foreign.Check("enter", device.Addr(base), size))
			err := r.foreign.Add("enter", device.Addr(base), size, device.AccessReadWrite, device.Alone, isTaken)
			if overlap(base, size) || isTaken(base, size) {
				requireCode(t, device.CodeAlreadyExists, err)
			} else {
				require.NoError(t, err)
				entered[base] = size
			}
			inside := false
			for b, n := range entered {
				inside = inside || base >= b && base+size <= b+n
			}
			found, known, err := r.foreign.Acquire("use", "range", device.Addr(base), size, device.AccessReadWrite)
			require.NoError(t, err)
			require.Equal(t, inside, known)
			if known {
				r.gone[base] = true
				requireCode(t, device.CodeInvalidAddress, found.Check("execute", base, size), "no longer mapped")
				_, known, err = r.foreign.Acquire("use", "range", device.Addr(base), size, device.AccessReadWrite)
				require.True(t, known)
				requireCode(t, device.CodeInvalidAddress, err, "no longer mapped")
				delete(r.gone, base)
				requireCode(t, device.CodeBusy, r.foreign.Remove("leave", device.Addr(found.Base), found.Size, device.Alone), "1 use by")
				found.Release()
			}
		}
		for base, size := range entered {
			require.NoError(t, r.foreign.Remove("leave", device.Addr(base), size, device.Alone))
		}
		require.Contains(t, r.gate.Left(), "0 external ranges")
	})
}

func TestAForeignRangeIsChecked(t *testing.T) {
	f := open(t).foreign
	requireCode(t, device.CodeInvalidAddress, f.Check("test", 0, 1), "address is 0")
	requireCode(t, device.CodeInvalidSize, f.Check("test", 1, 0), "size 0")
	requireCode(t, device.CodeOverflow, f.Check("test", 2, 1<<64-2), "64 bits")
	requireCode(t, device.CodeInvalidAddress, f.Remove("test", 8, 1, device.Alone))
	require.NoError(t, f.gate.Close("close"))
	requireCode(t, device.CodeInvalidState, f.Remove("test", 8, 1, device.Alone))
	requireCode(t, device.CodeInvalidState, f.Add("test", 8, 1, device.AccessReadWrite, device.Alone, nil))
}
