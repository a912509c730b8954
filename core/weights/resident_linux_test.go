package weights

import (
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Resident returns how many bytes of a file the page cache holds.
func Resident(t *testing.T, path string) (held int) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	mapping, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_NONE, unix.MAP_SHARED)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(mapping)) }()
	page := os.Getpagesize()
	pages := make([]byte, (len(mapping)+page-1)/page)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapping[0])), uintptr(len(mapping)), uintptr(unsafe.Pointer(&pages[0])))
	require.Zero(t, errno)
	for _, is := range pages {
		held += int(is&1) * page
	}
	return held
}
