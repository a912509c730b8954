package mapping

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A read of private memory that was never written maps the page of zeros, which does not
// count as memory. Written pages count, with both kinds of query.
func TestZerosThatWereOnlyReadAreNotResident(t *testing.T) {
	calls := System()
	page := uint64(os.Getpagesize())
	address, err := calls.Reserve(4 * page)
	require.NoError(t, err)
	defer func() { require.NoError(t, calls.Release(address, 4*page)) }()
	memory := Bytes(address, 4*page)
	require.Zero(t, memory[0]|memory[page]|memory[2*page]|memory[3*page])
	fd, err := unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(fd)) }()
	_, scanErr := scanResident(fd, address, page)
	if scanErr == nil {
		got, err := calls.Virtual.PrivateResident(address, 4*page)
		require.NoError(t, err)
		require.Zero(t, got)
	}
	memory[2*page] = 1
	old, err := readResident(fd, address+2*page, page)
	require.NoError(t, err)
	require.Equal(t, page, old, "the value that older kernels report")
	if scanErr != nil {
		t.Skip("this kernel cannot tell the page of zeros from others")
	}
	got, err := calls.Virtual.PrivateResident(address, 4*page)
	require.NoError(t, err)
	require.Equal(t, page, got)
}
