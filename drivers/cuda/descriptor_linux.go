package cuda

import "golang.org/x/sys/unix"

// shareDescriptors says that memory is shared by file descriptors on this system.
const shareDescriptors = true

// checkDescriptor refuses a number that is no open descriptor.
func checkDescriptor(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err
}

// keepFromPrograms closes a descriptor in programs that this one becomes.
func keepFromPrograms(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
	return err
}

func closeDescriptor(fd int) error { return unix.Close(fd) }
