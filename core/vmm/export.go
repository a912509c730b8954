package vmm

import (
	"os"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/extent"
)

// Export returns a file descriptor for each page of a range, in order. The range must
// be whole pages that are all mapped. Other processes map the same memory with the
// descriptors. The caller closes them. Export returns all descriptors or none. If there
// are more than most, it returns their number with CodeBufferTooSmall.
//
// The pool keeps the pages when the range is freed and reuses them for its own ranges.
// A process that imported them has to unmap them before that.
//
// Errors: CodeInvalidArgument for a pool whose pages are not shareable,
// CodeInvalidSize, CodeInvalidOffset for a range that is not whole pages or ends
// outside the pool, CodeNotMapped with the first page that is not mapped, those of the
// device.
func (p *Pool) Export(offset, size, most uint64) (files []int, count uint64, err error) {
	const op = "export"
	exporter, is := p.space.physical.virtual.(device.Exporter)
	pages, err := p.space.exported(op, device.BackingShareable, is, extent.Span{Offset: offset, Size: size})
	if err != nil {
		return nil, 0, err
	}
	defer p.space.mu.Unlock()
	count = uint64(len(pages))
	if count > most {
		return nil, count, p.space.table.extent.Fault(device.CodeBufferTooSmall, op, "the buffer holds %s, for %s", device.Count(most, "descriptor"), device.Count(count, "page"))
	}
	files = make([]int, 0, count)
	for _, page := range pages {
		file, err := exporter.ExportPage(page)
		if err != nil {
			closeAll(files)
			return nil, 0, err
		}
		files = append(files, file)
	}
	return files, count, nil
}

// ExportFabric is Export with fabric handles: processes on other hosts can map the
// memory, too. If the handles need more than most bytes, it returns the number of bytes
// with CodeBufferTooSmall. The caller has nothing to close.
func (p *Pool) ExportFabric(offset, size, most uint64) (handles []byte, count uint64, err error) {
	const op = "export_fabric"
	exporter, is := p.space.physical.virtual.(device.FabricExporter)
	pages, err := p.space.exported(op, device.BackingFabric, is, extent.Span{Offset: offset, Size: size})
	if err != nil {
		return nil, 0, err
	}
	defer p.space.mu.Unlock()
	count = uint64(len(pages)) * device.FabricHandleBytes
	if count > most {
		return nil, count, p.space.table.extent.Fault(device.CodeBufferTooSmall, op, "the buffer holds %v of handles, the handles of %s are %v", device.Size(most), device.Count(len(pages), "page"), device.Size(count))
	}
	handles = make([]byte, 0, count)
	for _, page := range pages {
		handle, err := exporter.ExportFabricPage(page)
		if err != nil {
			return nil, 0, err
		}
		handles = append(handles, handle[:]...)
	}
	return handles, count, nil
}

// exported returns the pages of a range. The pool must have the wanted backing, and the
// device must be an exporter of it (is). On success the caller holds mu, so that the
// pages stay where they are.
func (s *space) exported(op string, wanted device.Backing, is bool, b extent.Span) (pages []device.Page, err error) {
	if backing := s.physical.config.Backing; backing != wanted || !is {
		return nil, s.table.extent.Fault(device.CodeInvalidArgument, op, "the pool's backing is %d, and pages of backing %d can be exported",
			backing, wanted)
	}
	r, err := s.table.extent.RunOf(op, b)
	if err != nil {
		return nil, err
	}
	if b.Offset%s.table.extent.PageBytes != 0 || b.Size%s.table.extent.PageBytes != 0 {
		return nil, s.table.extent.BadRange(op, b, "offset %d, size %d: want multiples of the page size %d", b.Offset, b.Size, s.table.extent.PageBytes)
	}
	s.mu.Lock()
	defer func() {
		if err != nil {
			s.mu.Unlock()
		}
	}()
	if s.table.state != stateOpen {
		return nil, s.table.extent.Closed(op)
	}
	if page, hole := s.table.live.FirstNotIn(r); hole {
		return nil, s.table.notLive(op, b, r, page)
	}
	return s.table.numbers[r.Start : r.Start+r.Pages], nil
}

// closeAll closes descriptors that the caller does not get.
func closeAll(files []int) {
	for _, file := range files {
		_ = os.NewFile(uintptr(file), "page").Close()
	}
}
