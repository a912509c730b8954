package virtual

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/gate"
	"ferrum_mem/drivers/host/mapping"
)

// Create creates pages without memory. The system provides memory at the first touch, in
// huge pages for private pages of at least 2 MiB. Movable pages are adjacent in their file
// where the file has free runs of that length.
func (v *Memory) Create(pages []device.Page, pageBytes uint64, backing device.Backing) error {
	const op = "host.create_pages"
	if _, err := v.supported(op); err != nil {
		return err
	}
	switch {
	case len(pages) == 0:
		return v.errorf(device.CodeInvalidSize, op, "pages: the list must not be empty")
	case bits.OnesCount64(pageBytes) != 1 || pageBytes < v.system.granularity:
		return v.errorf(device.CodeInvalidPageSize, op,
			"page size %d: want a power of two of at least %d", pageBytes, v.system.granularity)
	case backing < device.BackingMovable || backing > device.BackingFabric:
		return v.errorf(device.CodeInvalidArgument, op, "backing %d: not known", backing)
	case backing == device.BackingRDMA || backing == device.BackingFabric:
		return v.errorf(device.CodeUnsupported, op, "backing %d: is memory of a GPU", backing)
	}
	high, size := bits.Mul64(pageBytes, uint64(len(pages)))
	if high != 0 {
		return v.errorf(device.CodeOutOfMemory, op, "%d pages of %v: the sum does not fit 64 bits", len(pages), device.Size(pageBytes))
	}
	if err := v.gate.Add(op, gate.Pages, len(pages)); err != nil {
		return err
	}
	err := v.capacity.Hold(op, size)
	if err == nil {
		if backing == device.BackingShareable {
			err = v.createShareable(op, pages, pageBytes)
		} else {
			err = v.create(op, pages, pageBytes, backing)
		}
		if err == nil {
			return nil
		}
		v.capacity.ReleaseBytes(size)
	}
	v.gate.Remove(gate.Pages, len(pages))
	return err
}

func (v *Memory) create(op string, pages []device.Page, pageBytes uint64, backing device.Backing) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, err := v.store(op, pageBytes, backing)
	if err != nil {
		return err
	}
	if !s.give(pages) {
		return v.errorf(device.CodeResourceExhausted, op,
			"%d pages of %v: the file for them may have %d in all (limit on the size of files)",
			len(pages), device.Size(pageBytes), s.limit)
	}
	return nil
}

// store returns the store for such pages and creates it if it does not exist. For that it
// holds the lock while the system opens a file, once for each page size.
func (v *Memory) store(op string, pageBytes uint64, backing device.Backing) (*store, error) {
	for _, s := range v.stores {
		if s.pageBytes == pageBytes && s.backing == backing {
			return s, nil
		}
	}
	made := &store{
		number: uint64(len(v.stores)), pageBytes: pageBytes, backing: backing, fd: -1,
		limit: placesOf(v.capacity.Bytes(), pageBytes),
	}
	if backing == device.BackingMovable {
		fd, size, err := v.system.files.openFile(made.limit * pageBytes)
		if err != nil {
			return nil, v.systemError(op, device.CodeDevice, v.refused(err), fmt.Sprintf("a file for pages of %v", device.Size(pageBytes)))
		}
		made.fd, made.limit = fd, min(made.limit, size/pageBytes)
	}
	v.stores = append(v.stores, made)
	return made, nil
}

func (l listed) place() *storedPage { return &l.store.pages[l.index] }

// keptListed is the maximum length of a list that is kept for the next call.
const keptListed = 1024

// look finds the pages of a list, each once. The caller holds v.mu until it has used the
// result.
func (v *Memory) look(op string, pages []device.Page) ([]listed, error) {
	if len(pages) == 0 {
		return nil, device.Errorf(device.CodeInvalidSize, op, "pages: the list must not be empty")
	}
	found := v.found[:0]
	defer func() {
		for _, l := range found {
			l.place().named = false
		}
		if cap(found) <= keptListed {
			v.found = found
		}
	}()
	for i, page := range pages {
		s, index, ok := v.find(page)
		if !ok {
			return nil, device.Errorf(device.CodeInvalidHandle, op, "page %#x, number %d of the list: does not exist", uint64(page), i)
		}
		l := listed{store: s, index: index}
		if l.place().named {
			return nil, device.Errorf(device.CodeInvalidHandle, op,
				"page %#x, number %d of the list: listed before", uint64(page), i)
		}
		l.place().named = true
		found = append(found, l)
	}
	return found, nil
}

// idle returns an error for pages that are mapped or that another call works on.
func idle(op string, found []listed) error {
	for _, l := range found {
		p := l.place()
		if p.address != 0 {
			return device.Errorf(device.CodeBusy, op, "page %#x: mapped at %#x", uint64(l.store.page(l.index)), p.address)
		}
		if p.state == pageLeaving {
			return device.Errorf(device.CodeBusy, op, "page %#x: another call is changing it", uint64(l.store.page(l.index)))
		}
	}
	return nil
}

// pageRun is a run of pages that are adjacent in one store.
type pageRun struct {
	store *store
	span
}

// claim claims pages for a call that works on them without a lock, and returns them as
// runs.
func (v *Memory) claim(op string, pages []device.Page) ([]pageRun, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	found, err := v.look(op, pages)
	if err != nil {
		return nil, err
	}
	if err := idle(op, found); err != nil {
		return nil, err
	}
	for _, l := range found {
		l.place().state = pageLeaving
	}
	// sort.Slice is compiled once for all types; slices.SortFunc would make the library larger.
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if a.store != b.store {
			return a.store.number < b.store.number
		}
		return a.index < b.index
	})
	var runs []pageRun
	for _, l := range found {
		if n := len(runs); n > 0 && runs[n-1].store == l.store && runs[n-1].end == l.index {
			runs[n-1].end++
		} else {
			runs = append(runs, pageRun{store: l.store, span: span{start: l.index, end: l.index + 1}})
		}
	}
	return runs, nil
}

// settle ends a claim without a change.
func (v *Memory) settle(runs []pageRun) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, run := range runs {
		for index := run.start; index < run.end; index++ {
			run.store.pages[index].state = pageThere
		}
	}
}

// change calls the system for each run of movable pages. Private pages have no memory while
// they are not mapped.
func (v *Memory) change(op string, runs []pageRun, call func(file mapping.FilePart, size uint64) error) error {
	for _, run := range runs {
		if run.store.backing == device.BackingPrivate {
			continue
		}
		step := run.end - run.start
		if run.store.shareable() {
			step = 1
		}
		for index := run.start; index < run.end; index += step {
			if err := call(run.store.part(index), step*run.store.pageBytes); err != nil {
				return v.systemError(op, device.CodeDevice, v.refused(err), fmt.Sprintf("%d pages of %v", step, device.Size(run.store.pageBytes)))
			}
		}
	}
	return nil
}

// Release releases pages. The memory of movable pages is released by punching holes in
// their file, one for each run. The file of a shareable page is closed; another process may
// still use its memory.
func (v *Memory) Release(pages []device.Page) error {
	const op = "host.release_pages"
	m, err := v.supported(op)
	if err != nil {
		return err
	}
	if err := v.gate.Check(op); err != nil {
		return err
	}
	runs, err := v.claim(op, pages)
	if err != nil {
		return v.about(err)
	}
	if err := v.change(op, slices.DeleteFunc(slices.Clone(runs), pageRun.shareable), m.Punch); err != nil {
		v.settle(runs)
		return err
	}
	v.closeFiles(runs)
	v.capacity.ReleaseBytes(v.removeRuns(runs))
	v.gate.Remove(gate.Pages, len(pages))
	return nil
}

// removeRuns removes pages and returns how many bytes they had.
func (v *Memory) removeRuns(runs []pageRun) uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	var size uint64
	for len(runs) > 0 {
		s := runs[0].store
		var spans []span
		for len(runs) > 0 && runs[0].store == s {
			spans = append(spans, runs[0].span)
			size += s.ownBytes(runs[0].span)
			runs = runs[1:]
		}
		s.freeRuns(spans)
	}
	return size
}

// Zero overwrites the existing parts of movable pages in place. A hole in the file is
// faster, but the next owner pays for it. Zeroing and then writing all of a page of 2 MiB
// took, in us, on Linux 6.18 with 2 cores:
//
//	written before       overwrite          hole
//	all of it            530 +  870         200 + 1600
//	an eighth             43 + 1520          28 + 1610
//	nothing              2.5 + 1660         1.7 + 1630
//
// Private pages that are not mapped have no memory to zero.
func (v *Memory) Zero(pages []device.Page) error {
	const op = "host.zero_pages"
	m, err := v.supported(op)
	if err != nil {
		return err
	}
	if err := v.gate.Check(op); err != nil {
		return err
	}
	runs, err := v.claim(op, pages)
	if err != nil {
		return v.about(err)
	}
	defer v.settle(runs)
	return v.change(op, runs, m.Overwrite)
}

// listed is a page of a list that a call names.
type listed struct {
	store *store
	index uint64
}
