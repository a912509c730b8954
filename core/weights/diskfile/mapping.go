package diskfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Mapping is a file that is mapped for reading into the address space of the process. The first use
// of a page reads it from the disk, and the page cache keeps it.
//
// If another program makes the file shorter, the pages behind its new end are lost. With a hook of
// OnMap, reading such a page returns zeros, and IsDamaged reports it. Without a hook it is a fault
// of the process (SIGBUS); in Go code debug.SetPanicOnFault turns the fault into a panic. IsShorter
// states whether the file has lost pages.
type Mapping struct {
	file  *os.File
	watch Watch
	// bytes is nil for an empty file.
	bytes []byte
}

// Map maps an open file. The caller keeps the file and may close it before the mapping.
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

// Bytes returns the bytes of the file. They are read-only.
func (m *Mapping) Bytes() []byte { return m.bytes }

// IsShorter states whether the file is shorter than the mapping.
func (m *Mapping) IsShorter() bool {
	if m.bytes == nil {
		return false
	}
	info, err := m.file.Stat()
	return err != nil || info.Size() < int64(len(m.bytes))
}

// IsDamaged states whether the process has used a lost page. Such a page holds zeros since then.
func (m *Mapping) IsDamaged() bool { return m.bytes != nil && m.watch.IsDamaged() }

// Close unmaps the file. The caller does not use Bytes afterwards.
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
