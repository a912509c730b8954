package virtual

import (
	"sync"

	"ferrum_mem/drivers/host/mapping"
)

// memoryFiles are the open memory files of all devices.
type memoryFiles struct {
	calls *mapping.VirtualCalls

	mu   sync.Mutex
	open map[int]struct{}
}

// bytes returns how much memory the files have.
func (f *memoryFiles) bytes() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var sum uint64
	for fd := range f.open {
		sum += f.calls.FileBytes(fd)
	}
	return sum
}

// openFile creates a memory file and counts its memory from then on.
func (f *memoryFiles) openFile(size uint64) (fd int, sizeBytes uint64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fd, sizeBytes, err = f.calls.OpenFile(size)
	if err != nil {
		return -1, 0, err
	}
	if f.open == nil {
		f.open = map[int]struct{}{}
	}
	f.open[fd] = struct{}{}
	return fd, sizeBytes, nil
}

// forgetFile closes a file, which releases its memory.
func (f *memoryFiles) forgetFile(fd int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, fd)
	_ = f.calls.CloseFile(fd)
}
