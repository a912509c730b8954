package diskfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Mapping is a file in the address space of the process, to be read. A page of the file is read from the
// disk at its first use, and the page cache keeps it.
//
// If another program makes the file shorter, a page behind its end is gone. With a hook of OnMap the use
// of such a page gives zeros, and IsDamaged tells it. Without one it is a fault of the process (SIGBUS);
// in Go code debug.SetPanicOnFault makes that a panic. IsShorter tells whether it can happen.
type Mapping struct {
	file  *os.File
	watch Watch
	// bytes is nil for an empty file.
	bytes []byte
}

// Map maps an open file, which stays the caller's and may be closed before the mapping.
func Map(file *os.File, size int64) (*Mapping, error) {
	m := &Mapping{}
	if size == 0 {
		return m, nil
	}
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	m.file = os.NewFile(uintptr(fd), file.Name())
	if m.bytes, err = unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		_ = m.file.Close()
		return nil, err
	}
	if m.watch, err = watch(m.bytes, fd); err != nil {
		m.watch = noWatch{}
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Bytes is the file. It is not written.
func (m *Mapping) Bytes() []byte { return m.bytes }

// IsShorter states whether the file is shorter than the mapping.
func (m *Mapping) IsShorter() bool {
	if m.bytes == nil {
		return false
	}
	info, err := m.file.Stat()
	return err != nil || info.Size() < int64(len(m.bytes))
}

// IsDamaged states whether a page was gone when it was used. It has been zeros since then.
func (m *Mapping) IsDamaged() bool { return m.bytes != nil && m.watch.IsDamaged() }

// Close unmaps the file. Bytes is not used afterwards.
func (m *Mapping) Close() error {
	if m.bytes == nil {
		return nil
	}
	bytes := m.bytes
	m.bytes = nil
	m.watch.End()
	err := unix.Munmap(bytes)
	if closed := m.file.Close(); err == nil {
		err = closed
	}
	return err
}
