package host

import "sync"

// memoryFiles are the open files of memory of all devices.
type memoryFiles struct {
	mu   sync.Mutex
	open map[int]func(fd int) uint64
}

// bytes is how much memory the files have.
func (f *memoryFiles) bytes() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var sum uint64
	for fd, bytes := range f.open {
		sum += bytes(fd)
	}
	return sum
}

// openFile makes a file of memory and counts what it has from then on.
func (d *Driver) openFile(size uint64) (fd int, sizeBytes uint64, err error) {
	d.files.mu.Lock()
	defer d.files.mu.Unlock()
	fd, sizeBytes, err = d.mapper.virtual.openFile(size)
	if err != nil {
		return -1, 0, err
	}
	if d.files.open == nil {
		d.files.open = map[int]func(int) uint64{}
	}
	d.files.open[fd] = d.mapper.virtual.fileBytes
	return fd, sizeBytes, nil
}

// forgetFile closes a file, whose memory goes with it.
func (d *Driver) forgetFile(fd int) {
	d.files.mu.Lock()
	defer d.files.mu.Unlock()
	delete(d.files.open, fd)
	_ = d.mapper.virtual.closeFile(fd)
}
