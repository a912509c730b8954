package manager

import (
	"math/bits"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/track"
)

// maxImportedPages bounds the pages of one block.
const maxImportedPages = 1 << 16

// Importation describes memory of another process that is to get a handle: exported
// pages or shared memory.
type Importation struct {
	// Files has descriptors of pages of PageBytes each, in the order of their
	// addresses. The caller keeps them.
	Files []int
	// FabricHandles has handles of such pages instead, FabricHandleBytes for each.
	FabricHandles []byte
	PageBytes     uint64
	// Shared is shared memory instead of pages.
	Shared *device.SharedMemory
	// Tag is a name for the counters, at most TagMax bytes; "": none.
	Tag string
}

// imported is memory of another process that this process's device uses.
type imported interface {
	addr() device.Addr
	size() uint64
	// close releases the memory. If it fails, a later call releases the rest.
	close() error
}

// Import assigns a handle to memory of another process. The memory stays until the
// block is freed. The block is used like any other, is never moved, and counts as
// adopted memory. Free returns CodeBusy while work is queued on it; a forced close of
// the manager waits for that work.
//
// Errors: CodeInvalidSize for too many pages; CodeInvalidArgument if none or several of
// the three kinds are set, for an incomplete handle, and for descriptors and handles of
// other objects; CodeInvalidPageSize; CodeUnsupported; those of device.Exporter,
// device.FabricExporter and device.ProcessSharer. If it fails, nothing is left.
func (m *Manager) Import(i Importation) (MemoryHandle, error) {
	const op = "manager.import"
	if err := checkTag(op, m.owner.engine.ID(), i.Tag); err != nil {
		return 0, err
	}
	if err := i.check(op); err != nil {
		return 0, device.About(m.owner.engine.ID(), err)
	}
	if err := m.begin(op); err != nil {
		return 0, err
	}
	defer m.end()
	memory, err := m.importMemory(op, i)
	if err != nil {
		return 0, err
	}
	if !m.config.EnableTracking {
		i.Tag = ""
	}
	b := &block{
		manager: m, adopted: true, imported: memory, kind: General, tag: i.Tag, order: m.factory.blocks.Add(1),
		memory: pool.Block{
			Addr: memory.addr(), SizeBytes: memory.size(), RequestedBytes: memory.size(), Tag: i.Tag, AllocatedAt: track.Now(),
		},
	}
	if err := m.publish(b); err != nil {
		m.logFailure("memory of another process without a handle", memory.close())
		return 0, err
	}
	return b.handle, nil
}

func (m *Manager) importMemory(op string, i Importation) (imported, error) {
	e := m.owner.engine
	if i.Shared != nil {
		sharer, ok := e.Device().(device.ProcessSharer)
		if !ok || !e.Info().ProcessSharer {
			return nil, lacks(op, e, "open memory of another process")
		}
		addr, err := sharer.OpenShared(*i.Shared)
		if err != nil {
			return nil, err
		}
		return &sharedRange{sharer: sharer, at: addr, bytes: i.Shared.SizeBytes}, nil
	}
	virtual, err := e.VirtualMemory()
	if err != nil {
		return nil, lacks(op, e, "import pages")
	}
	count, importPage, err := i.pages(op, e)
	if err != nil {
		return nil, err
	}
	if count > maxImportedPages {
		return nil, device.Errorf(device.CodeInvalidSize, op, "%d pages: at most %d are possible",
			count, maxImportedPages).On(e.ID())
	}
	high, size := bits.Mul64(uint64(count), i.PageBytes)
	if high != 0 || size == 0 {
		return nil, device.Errorf(device.CodeInvalidPageSize, op, "%d pages of %v: the sum does not fit 64 bits, or is 0",
			count, device.Size(i.PageBytes)).On(e.ID())
	}
	r := &importedPages{virtual: virtual, bytes: size}
	if err := r.take(count, i.PageBytes, importPage); err != nil {
		m.logFailure("pages of another process that could not be mapped", r.close())
		return nil, err
	}
	return r, nil
}

// check rejects an Importation that is not exactly one kind of memory.
func (i *Importation) check(op string) error {
	kinds := 0
	for _, is := range []bool{len(i.Files) > 0, len(i.FabricHandles) > 0, i.Shared != nil} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		return device.Errorf(device.CodeInvalidArgument, op,
			"%d descriptors of pages, %v of fabric handles, shared memory %v: want one of the three",
			len(i.Files), device.Size(len(i.FabricHandles)), i.Shared != nil)
	}
	if len(i.FabricHandles)%device.FabricHandleBytes != 0 {
		return device.Errorf(device.CodeInvalidArgument, op, "%v of fabric handles: want a multiple of %d",
			device.Size(len(i.FabricHandles)), device.FabricHandleBytes)
	}
	return nil
}

// pages returns the number of pages, and a function that imports one of them.
func (i *Importation) pages(op string, e *engine.Engine) (int, func(int) (device.Page, error), error) {
	if len(i.Files) > 0 {
		exporter, ok := e.Device().(device.Exporter)
		if !ok || !e.Info().Exporter {
			return 0, nil, lacks(op, e, "import pages")
		}
		return len(i.Files), func(at int) (device.Page, error) {
			return exporter.ImportPage(i.Files[at], i.PageBytes)
		}, nil
	}
	exporter, ok := e.Device().(device.FabricExporter)
	if !ok || !e.Info().FabricExporter {
		return 0, nil, lacks(op, e, "import pages by fabric handles")
	}
	return len(i.FabricHandles) / device.FabricHandleBytes, func(at int) (device.Page, error) {
		handle := i.FabricHandles[at*device.FabricHandleBytes:]
		return exporter.ImportFabricPage(device.FabricHandle(handle[:device.FabricHandleBytes]), i.PageBytes)
	}, nil
}

// sharedRange is memory that another process shared.
type sharedRange struct {
	sharer device.ProcessSharer
	at     device.Addr
	bytes  uint64
}

func (r *sharedRange) addr() device.Addr { return r.at }
func (r *sharedRange) size() uint64      { return r.bytes }
func (r *sharedRange) close() error      { return r.sharer.CloseShared(r.at, r.bytes) }

// importedPages has pages that another process exported, with their own address space.
type importedPages struct {
	virtual device.VirtualMemory
	pages   []device.Page
	at      device.Addr
	bytes   uint64
	mapped  bool
}

func (r *importedPages) addr() device.Addr { return r.at }
func (r *importedPages) size() uint64      { return r.bytes }

func (r *importedPages) take(count int, pageBytes uint64, importPage func(int) (device.Page, error)) (err error) {
	for at := range count {
		page, err := importPage(at)
		if err != nil {
			return err
		}
		r.pages = append(r.pages, page)
	}
	if r.at, err = r.virtual.Reserve(r.bytes, pageBytes); err != nil {
		return err
	}
	if err = r.virtual.Map(r.at, r.pages); err != nil {
		return err
	}
	r.mapped = true
	return r.virtual.SetAccess(r.at, r.bytes, device.AccessReadWrite)
}

func (r *importedPages) close() error {
	if r.mapped {
		if err := r.virtual.Unmap(r.at, r.bytes); err != nil {
			return err
		}
		r.mapped = false
	}
	// One page at a time, because a released page must not be released again.
	for len(r.pages) > 0 {
		if err := r.virtual.Release(r.pages[len(r.pages)-1:]); err != nil {
			return err
		}
		r.pages = slices.Delete(r.pages, len(r.pages)-1, len(r.pages))
	}
	if r.at != 0 {
		if err := r.virtual.Unreserve(r.at, r.bytes); err != nil {
			return err
		}
		r.at = 0
	}
	return nil
}
