package cuda

import "golang.org/x/sys/unix"

// shareDescriptors states that this system shares memory by file descriptors.
const shareDescriptors = true

// checkDescriptor returns an error if fd is not an open descriptor.
func checkDescriptor(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err
}

// keepFromPrograms sets the close-on-exec flag of a descriptor.
func keepFromPrograms(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
	return err
}

func closeDescriptor(fd int) error { return unix.Close(fd) }
