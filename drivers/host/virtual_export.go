package host

import (
	"fmt"
	"math/bits"

	"ferrum_mem/core/device"
)

// createShareable makes pages with a file each.
func (o *openDevice) createShareable(op string, pages []device.Page, pageBytes uint64) error {
	made := make([]int, 0, len(pages))
	err := o.openShareable(op, &made, len(pages), pageBytes)
	if err == nil {
		err = o.virtual.createFrom(op, pages, pageBytes, made, false)
	}
	if err != nil {
		for _, fd := range made {
			o.driver.forgetFile(fd)
		}
	}
	return err
}

func (o *openDevice) openShareable(op string, made *[]int, count int, pageBytes uint64) error {
	for range count {
		fd, size, err := o.driver.openFile(pageBytes)
		if err != nil {
			return o.systemError(op, device.CodeDevice, o.refused(err), fmt.Sprintf("a file for a page of %d bytes", pageBytes))
		}
		*made = append(*made, fd)
		if size < pageBytes {
			return o.errorf(device.CodeResourceExhausted, op,
				"page size %d: a file may have %d bytes (limit on the size of files)", pageBytes, size)
		}
	}
	return nil
}

// createFrom makes pages of files.
func (v *virtualMemory) createFrom(op string, pages []device.Page, pageBytes uint64, files []int, imported bool) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, err := v.store(op, pageBytes, device.BackingShareable)
	if err != nil {
		return err
	}
	if !s.give(pages) {
		return v.owner.errorf(device.CodeResourceExhausted, op,
			"%d pages of %d bytes: there may be %d in all", len(pages), pageBytes, s.limit)
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

// closeFiles closes those of shareable pages that a call has claimed.
func (o *openDevice) closeFiles(runs []pageRun) {
	v := o.virtual
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
				_ = o.driver.mapper.virtual.closeFile(fd)
			} else {
				o.driver.forgetFile(fd)
			}
		}
	}
}

// paidFor is how many bytes of places the device's books have.
func (s *store) paidFor(run span) (size uint64) {
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

// ExportPage gives another descriptor of the page's file.
func (o *openDevice) ExportPage(page device.Page) (int, error) {
	const op = "host.export_page"
	m, err := o.virtualMapper(op)
	if err != nil {
		return -1, err
	}
	if err := o.checkOpen(op); err != nil {
		return -1, err
	}
	v := o.virtual
	// The lock keeps the page's file open for that moment.
	v.mu.Lock()
	defer v.mu.Unlock()
	s, index, found := v.find(page)
	switch {
	case !found || s.pages[index].state == pageLeaving && s.shareable() && s.files[index] < 0:
		return -1, o.errorf(device.CodeInvalidHandle, op, "page %#x: not there", uint64(page))
	case !s.shareable():
		return -1, o.errorf(device.CodeInvalidArgument, op,
			"page %#x: was created with backing %d, and only pages of backing %d can be exported",
			uint64(page), s.backing, device.BackingShareable)
	}
	fd, err := m.copyFile(s.files[index])
	if err != nil {
		return -1, o.systemError(op, device.CodeDevice, o.refused(err), fmt.Sprintf("page %#x", uint64(page)))
	}
	return fd, nil
}

// ImportPage takes a file of memory of exactly that size which nobody can cut off.
func (o *openDevice) ImportPage(fd int, pageBytes uint64) (device.Page, error) {
	const op = "host.import_page"
	m, err := o.virtualMapper(op)
	if err != nil {
		return 0, err
	}
	if bits.OnesCount64(pageBytes) != 1 || pageBytes < o.driver.granularity {
		return 0, o.errorf(device.CodeInvalidPageSize, op,
			"page size %d: want a power of two of at least %d", pageBytes, o.driver.granularity)
	}
	if err := o.start(op, &o.pages, 1); err != nil {
		return 0, err
	}
	page, err := o.importPage(op, m, fd, pageBytes)
	if err != nil {
		o.drop(&o.pages, 1)
	}
	return page, err
}

func (o *openDevice) importPage(op string, m *virtualMapper, fd int, pageBytes uint64) (device.Page, error) {
	size, err := m.sealedBytes(fd)
	if err != nil {
		return 0, o.errorf(device.CodeInvalidArgument, op, "descriptor %d: %v", fd, err)
	}
	if size != pageBytes {
		return 0, o.errorf(device.CodeInvalidPageSize, op, "descriptor %d: is a page of %d bytes, not of %d", fd, size, pageBytes)
	}
	own, err := m.copyFile(fd)
	if err != nil {
		return 0, o.systemError(op, device.CodeDevice, o.refused(err), fmt.Sprintf("descriptor %d", fd))
	}
	var page [1]device.Page
	if err := o.virtual.createFrom(op, page[:], pageBytes, []int{own}, true); err != nil {
		_ = m.closeFile(own)
		return 0, err
	}
	return page[0], nil
}
