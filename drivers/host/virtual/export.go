package virtual

import (
	"fmt"
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/gate"
	"ferrum_mem/drivers/host/mapping"
)

// createShareable creates pages with one file each.
func (v *Memory) createShareable(op string, pages []device.Page, pageBytes uint64) error {
	made := make([]int, 0, len(pages))
	err := v.openShareable(op, &made, len(pages), pageBytes)
	if err == nil {
		err = v.createFrom(op, pages, pageBytes, made, false)
	}
	if err != nil {
		for _, fd := range made {
			v.system.files.forgetFile(fd)
		}
	}
	return err
}

func (v *Memory) openShareable(op string, made *[]int, count int, pageBytes uint64) error {
	for range count {
		fd, size, err := v.system.files.openFile(pageBytes)
		if err != nil {
			return v.systemError(op, device.CodeDevice, v.refused(err), fmt.Sprintf("a file for a page of %v", device.Size(pageBytes)))
		}
		*made = append(*made, fd)
		if size < pageBytes {
			return v.errorf(device.CodeResourceExhausted, op,
				"page size %d: a file may have %v (limit on the size of files)", pageBytes, device.Size(size))
		}
	}
	return nil
}

// createFrom creates pages from files.
func (v *Memory) createFrom(op string, pages []device.Page, pageBytes uint64, files []int, imported bool) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, err := v.store(op, pageBytes, device.BackingShareable)
	if err != nil {
		return err
	}
	if !s.give(pages) {
		return v.errorf(device.CodeResourceExhausted, op,
			"%d pages of %v: there may be %d in all", len(pages), device.Size(pageBytes), s.limit)
	}
	for len(s.files) < len(s.pages) {
		s.files = append(s.files, -1)
	}
	for i, page := range pages {
		_, index := v.of(page)
		s.files[index], s.pages[index].imported = files[i], imported
	}
	return nil
}

func (r pageRun) shareable() bool { return r.store.shareable() }

// closeFiles closes the files of shareable pages that a call has claimed.
func (v *Memory) closeFiles(runs []pageRun) {
	for _, run := range runs {
		if !run.shareable() {
			continue
		}
		for index := run.start; index < run.end; index++ {
			v.mu.Lock()
			fd, imported := run.store.files[index], run.store.pages[index].imported
			run.store.files[index] = -1
			v.mu.Unlock()
			if imported {
				_ = v.system.calls.Virtual.CloseFile(fd)
			} else {
				v.system.files.forgetFile(fd)
			}
		}
	}
}

// ownBytes returns how many bytes of the places this device counts as its own.
func (s *store) ownBytes(run span) (size uint64) {
	if !s.shareable() {
		return (run.end - run.start) * s.pageBytes
	}
	for index := run.start; index < run.end; index++ {
		if !s.pages[index].imported {
			size += s.pageBytes
		}
	}
	return size
}

// ExportPage returns another descriptor of the page's file.
func (v *Memory) ExportPage(page device.Page) (int, error) {
	const op = "host.export_page"
	m, err := v.supported(op)
	if err != nil {
		return -1, err
	}
	if err := v.gate.Check(op); err != nil {
		return -1, err
	}
	// The lock keeps the page's file open until it is copied.
	v.mu.Lock()
	defer v.mu.Unlock()
	s, index, found := v.find(page)
	switch {
	case !found || s.pages[index].state == pageLeaving && s.shareable() && s.files[index] < 0:
		return -1, v.errorf(device.CodeInvalidHandle, op, "page %#x: does not exist", uint64(page))
	case !s.shareable():
		return -1, v.errorf(device.CodeInvalidArgument, op,
			"page %#x: was created with backing %d, and only pages of backing %d can be exported",
			uint64(page), s.backing, device.BackingShareable)
	case s.pages[index].imported:
		return -1, v.errorf(device.CodeInvalidArgument, op,
			"page %#x: was imported, and only the process that created it can export it", uint64(page))
	}
	fd, err := m.CopyFile(s.files[index])
	if err != nil {
		return -1, v.systemError(op, device.CodeDevice, v.refused(err), fmt.Sprintf("page %#x", uint64(page)))
	}
	return fd, nil
}

// ImportPage imports a memory file of exactly that size whose size is sealed.
func (v *Memory) ImportPage(fd int, pageBytes uint64) (device.Page, error) {
	const op = "host.import_page"
	m, err := v.supported(op)
	if err != nil {
		return 0, err
	}
	if bits.OnesCount64(pageBytes) != 1 || pageBytes < v.system.granularity {
		return 0, v.errorf(device.CodeInvalidPageSize, op,
			"page size %d: want a power of two of at least %d", pageBytes, v.system.granularity)
	}
	if err := v.gate.Add(op, gate.Pages, 1); err != nil {
		return 0, err
	}
	page, err := v.importPage(op, m, fd, pageBytes)
	if err != nil {
		v.gate.Remove(gate.Pages, 1)
	}
	return page, err
}

func (v *Memory) importPage(op string, m *mapping.VirtualCalls, fd int, pageBytes uint64) (device.Page, error) {
	size, err := m.SealedBytes(fd)
	if err != nil {
		return 0, v.errorf(device.CodeInvalidArgument, op, "descriptor %d: %v", fd, err)
	}
	if size != pageBytes {
		return 0, v.errorf(device.CodeInvalidPageSize, op, "descriptor %d: is a page of %v, not of %v", fd, device.Size(size), device.Size(pageBytes))
	}
	own, err := m.CopyFile(fd)
	if err != nil {
		return 0, v.systemError(op, device.CodeDevice, v.refused(err), fmt.Sprintf("descriptor %d", fd))
	}
	var page [1]device.Page
	if err := v.createFrom(op, page[:], pageBytes, []int{own}, true); err != nil {
		_ = m.CloseFile(own)
		return 0, err
	}
	return page[0], nil
}
