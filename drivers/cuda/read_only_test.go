package cuda

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// fileToRead maps a file that contains sevens. The process can only read the mapping.
func fileToRead(t *testing.T, size int) device.HostAddr {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weights")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte{7}, size), 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	mapped, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(mapped)) })
	return device.HostAddr(dl.Pointer(&mapped[0]))
}

func TestMemoryThatIsOnlyReadIsPageLocked(t *testing.T) {
	if !alone(t) {
		return
	}
	const size = 64 << 10
	sim, at := newSimulator(t), fileToRead(t, size)
	o, other := openTwo(t)
	_, err := o.Register(at, size, device.AccessReadWrite)
	requireCode(t, device.CodeInvalidAddress, err)
	_, err = o.Register(at, size, device.AccessNone)
	requireCode(t, device.CodeInvalidArgument, err)
	addr, err := o.Register(at, size, device.AccessRead)
	require.NoError(t, err)
	plain, err := o.Alloc(size)
	require.NoError(t, err)
	s := o.DefaultStream()
	require.NoError(t, s.Copy(plain, addr, size))
	require.Equal(t, []byte{7, 7}, get(t, s, plain+size-2, 2))
	err = s.Copy(addr, plain, size)
	require.Contains(t, requireCode(t, device.CodePermissionDenied, err).Message, "destination")
	requireCode(t, device.CodePermissionDenied, s.Fill(addr+8, device.Pattern{WidthBytes: 1}, 1))
	_, err = other.Link(o, addr, size)
	requireCode(t, device.CodePermissionDenied, err)
	require.NoError(t, o.Unregister(addr, size))
	require.NoError(t, o.Free(plain, size))
	require.NoError(t, o.Close())
	require.NoError(t, other.Close())
	sim.clean()
}

// A device that cannot lock read-only memory accepts only writable memory. It still rejects
// work that writes to memory that was registered for reading.
func TestReadOnlyMemoryOnADeviceWithoutReadOnlyLocks(t *testing.T) {
	if !alone(t, "SIMCUDA_WITHOUT=readonly") {
		return
	}
	const size = 4096
	o, own := open(t, 0), make([]byte, size)
	_, err := o.Register(fileToRead(t, size), size, device.AccessRead)
	require.Contains(t, requireCode(t, device.CodeInvalidAddress, err).Message, "cuMemHostRegister")
	addr, err := o.Register(device.HostAddr(dl.Pointer(&own[0])), size, device.AccessRead)
	require.NoError(t, err)
	requireCode(t, device.CodePermissionDenied, o.DefaultStream().Fill(addr, device.Pattern{WidthBytes: 1}, 1))
	require.NoError(t, o.Unregister(addr, size))
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}
