package vmm

import (
	"os"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/extent"
)

// Export gives a file descriptor for each page of a range that is mapped throughout and
// made up of whole pages, in order: by them other processes map the same memory. Whoever
// calls it closes them. All of them are given, or none; where there are more than most,
// none, and their number with CodeBufferTooSmall.
//
// The pool keeps the pages when the range is freed, and hands them out again for its own
// ranges: who has imported them ends that before.
//
// Errors: CodeInvalidArgument for a pool whose pages are not shareable, CodeInvalidSize,
// CodeInvalidOffset for what is no whole pages or ends outside, CodeNotMapped with the
// first page that is not mapped, those of the device.
func (p *Pool) Export(offset, size, most uint64) (files []int, count uint64, err error) {
	return p.space.export("export", extent.Span{Offset: offset, Size: size}, most)
}

func (s *space) export(op string, b extent.Span, most uint64) (files []int, count uint64, err error) {
	exporter, is := s.physical.virtual.(device.Exporter)
	if backing := s.physical.config.Backing; backing != device.BackingShareable || !is {
		return nil, 0, s.table.extent.Fault(device.CodeInvalidArgument, op, "the pool's backing is %d, and pages of backing %d can be exported",
			backing, device.BackingShareable)
	}
	r, err := s.table.extent.RunOf(op, b)
	if err != nil {
		return nil, 0, err
	}
	if b.Offset%s.table.extent.PageBytes != 0 || b.Size%s.table.extent.PageBytes != 0 {
		return nil, 0, s.table.extent.BadRange(op, b, "offset %d, size %d: want multiples of the page size %d", b.Offset, b.Size, s.table.extent.PageBytes)
	}
	// The lock keeps the pages where they are.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table.state != stateOpen {
		return nil, 0, s.table.extent.Closed(op)
	}
	if page, hole := s.table.live.FirstNotIn(r); hole {
		return nil, 0, s.table.notLive(op, b, r, page)
	}
	if r.Pages > most {
		return nil, r.Pages, s.table.extent.Fault(device.CodeBufferTooSmall, op, "room for %d descriptors: there are %d pages", most, r.Pages)
	}
	files = make([]int, 0, r.Pages)
	for page := r.Start; page < r.Start+r.Pages; page++ {
		file, err := exporter.ExportPage(s.table.numbers[page])
		if err != nil {
			closeAll(files)
			return nil, 0, err
		}
		files = append(files, file)
	}
	return files, r.Pages, nil
}

// closeAll closes descriptors that nobody was given.
func closeAll(files []int) {
	for _, file := range files {
		_ = os.NewFile(uintptr(file), "page").Close()
	}
}
