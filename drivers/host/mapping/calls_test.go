//go:build unix

package mapping

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The calls simulate a system with a granularity of 64 KiB that fails on demand. Whichever
// call fails, the range is aligned and inside its mapping, and everything outside of the
// mapping has been released.
func TestAlignedRangesLieWithinTheirMapping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Uint64Range(1, 64).Draw(t, "size") << 16
		align := uint64(1) << rapid.IntRange(16, 22).Draw(t, "align")
		start := rapid.Uint64Range(1, 1<<20).Draw(t, "start") << 12
		var reserved, released uint64
		refused := map[uint64]bool{}
		calls := Calls{Release: func(address, size uint64) error {
			require.NotZero(t, size)
			if rapid.Bool().Draw(t, "refused") {
				refused[address] = true
				return syscall.ENOMEM
			}
			released += size
			return nil
		}}
		found, err := calls.Aligned(size, align, func(size uint64) (uint64, error) {
			reserved = size
			return start, nil
		})
		require.NoError(t, err)
		require.Zero(t, found.Base%align)
		require.Equal(t, size, found.Size)
		require.Equal(t, reserved, found.MapSize+released)
		require.LessOrEqual(t, found.MapBase, found.Base)
		require.GreaterOrEqual(t, found.MapBase+found.MapSize, found.Base+size)
		if len(refused) == 0 {
			require.Equal(t, [2]uint64{found.Base, size}, [2]uint64{found.MapBase, found.MapSize})
		}
	})
}

func TestAFailedReservationReturnsAnError(t *testing.T) {
	var calls Calls
	_, err := calls.Aligned(1<<63, 1<<16, nil)
	require.ErrorIs(t, err, syscall.ENOMEM, "the system is not called")
	none := errors.New("none")
	_, err = calls.Aligned(1<<16, 1<<16, func(uint64) (uint64, error) { return 0, none })
	require.ErrorIs(t, err, none)
}

func TestMemoryIsMappedUntilItIsReleased(t *testing.T) {
	calls := System()
	size := 4 * uint64(os.Getpagesize())
	address, err := calls.Reserve(size)
	require.NoError(t, err)
	require.True(t, calls.IsMapped(address, size))
	calls.AdviseHuge(address, size)
	calls.Populate(address, size)
	Bytes(address, size)[size-1] = 7
	require.EqualValues(t, 7, Bytes(address+size-1, 1)[0])
	require.NoError(t, calls.Release(address, size))
	require.False(t, calls.IsMapped(address, size))
}

func TestErrnoReturnsTheSystemsNumber(t *testing.T) {
	require.Equal(t, syscall.ENOENT, Errno(&os.PathError{Err: syscall.ENOENT}))
	require.Zero(t, Errno(errors.New("none")))
	count := 0
	got, err := UntilNotInterrupted(func() (int, error) {
		if count++; count < 3 {
			return 0, syscall.EINTR
		}
		return count, nil
	})
	require.NoError(t, err)
	require.Equal(t, 3, got)
}
