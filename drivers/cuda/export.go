package cuda

import (
	"fmt"
	"math/bits"
	"runtime"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/virtual"
	"ferrum_mem/internal/dl"
)

var (
	_ device.Exporter       = (*openDevice)(nil)
	_ device.FabricExporter = (*openDevice)(nil)
)

// ExportPage queries the vendor driver for a descriptor.
func (o *openDevice) ExportPage(number device.Page) (int, error) {
	const op = "cuda.export_page"
	fd := int32(-1)
	if err := o.startExport(op, device.BackingShareable); err != nil {
		return -1, err
	}
	if err := o.virtual.export(op, number, device.BackingShareable, dl.Pointer(&fd)); err != nil {
		return -1, err
	}
	if err := keepFromPrograms(int(fd)); err != nil {
		_ = closeDescriptor(int(fd))
		return -1, o.ctx.errorf(device.CodeDevice, op, "page %d: descriptor %d: %v", number, fd, err)
	}
	return int(fd), nil
}

// ExportFabricPage queries the vendor driver for a fabric handle.
func (o *openDevice) ExportFabricPage(number device.Page) (device.FabricHandle, error) {
	const op = "cuda.export_fabric_page"
	handle := new(device.FabricHandle)
	if err := o.startExport(op, device.BackingFabric); err != nil {
		return *handle, err
	}
	err := o.virtual.export(op, number, device.BackingFabric, dl.Pointer(handle))
	runtime.KeepAlive(handle)
	return *handle, err
}

// handleKind returns the vendor driver's kind of the handles that export pages of a
// backing. 0: such pages cannot be exported.
func handleKind(backing device.Backing) uintptr {
	switch backing {
	case device.BackingShareable:
		return handleFileDescriptor
	case device.BackingFabric:
		return handleFabric
	}
	return 0
}

// export lets the vendor driver write a handle of a page to the address to.
func (v *virtualMemory) export(op string, number device.Page, backing device.Backing, to uintptr) error {
	p, err := v.book.Find(op, number)
	if err != nil {
		return err
	}
	if p.Backing != backing {
		return v.ctx.errorf(device.CodeInvalidArgument, op,
			"page %d: was created with backing %d, and only pages of backing %d can be exported", number, p.Backing, backing)
	}
	if p.Imported {
		return v.ctx.errorf(device.CodeInvalidArgument, op,
			"page %d: was imported, and only the process that created it can export it", number)
	}
	return v.ctx.within(op, func() error {
		return v.ctx.call(op, fmt.Sprintf("page %d", number), &v.ctx.api.pageExport,
			to, uintptr(p.Handle), handleKind(backing), 0)
	})
}

// ImportPage imports the memory of a descriptor.
func (o *openDevice) ImportPage(fd int, pageBytes uint64) (device.Page, error) {
	const op = "cuda.import_page"
	if err := o.startExport(op, device.BackingShareable); err != nil {
		return 0, err
	}
	if err := checkDescriptor(fd); err != nil {
		return 0, o.ctx.errorf(device.CodeInvalidArgument, op, "descriptor %d: %v", fd, err)
	}
	return o.importPage(op, fmt.Sprintf("descriptor %d", fd), pageBytes, device.BackingShareable, uintptr(fd))
}

// ImportFabricPage imports the memory of a fabric handle.
func (o *openDevice) ImportFabricPage(handle device.FabricHandle, pageBytes uint64) (device.Page, error) {
	const op = "cuda.import_fabric_page"
	if err := o.startExport(op, device.BackingFabric); err != nil {
		return 0, err
	}
	defer runtime.KeepAlive(&handle)
	return o.importPage(op, fmt.Sprintf("fabric handle %x", handle[:8]), pageBytes, device.BackingFabric, dl.Pointer(&handle))
}

// importPage imports memory and checks what the vendor driver reports about it: the device,
// and that a page of this size can be mapped. The vendor driver does not report a size that
// is too small.
func (o *openDevice) importPage(op, what string, pageBytes uint64, backing device.Backing, shared uintptr) (device.Page, error) {
	v := &o.virtual
	if bits.OnesCount64(pageBytes) != 1 || pageBytes < v.granularity.MinimumBytes || pageBytes > mostReserved {
		return 0, o.ctx.errorf(device.CodeInvalidPageSize, op,
			"page size %d: want a power of two of at least %d", pageBytes, v.granularity.MinimumBytes)
	}
	if err := o.hold(op, 1); err != nil {
		return 0, err
	}
	p := &virtual.Page{Bytes: pageBytes, Backing: backing, Imported: true}
	if err := o.ctx.within(op, func() error { return v.importPage(op, what, p, shared) }); err != nil {
		o.drop(1)
		return 0, err
	}
	v.book.Add(p)
	return p.Number, nil
}

// importPage converts an exported handle to a handle of the vendor driver. On an error it
// changes nothing.
func (v *virtualMemory) importPage(op, what string, p *virtual.Page, shared uintptr) error {
	number := v.ctx.api.pageImport.Call(dl.Pointer(&p.Handle), shared, handleKind(p.Backing))
	if number != 0 {
		err := v.ctx.failure(op, &v.ctx.api.pageImport, number, what)
		if namesNothing(number, p.Backing) && v.ctx.lost.Load() == nil {
			err.(*device.Error).Code = device.CodeInvalidArgument
		}
		return err
	}
	err := v.checkImported(op, what, p)
	if err != nil {
		v.ctx.undo(op, what, &v.ctx.api.pageRelease, uintptr(p.Handle))
	}
	return err
}

// namesNothing states whether the import failed because the handle names no memory that this
// process can reach. Driver 580 calls a fabric handle of nothing "not supported", and has an
// unknown error for the descriptor of a file.
func namesNothing(number int32, backing device.Backing) bool {
	switch number {
	case resultInvalidValue, resultInvalidHandle, resultInvalidDevice, resultOperatingSystem:
		return true
	case resultNotSupported:
		return backing == device.BackingFabric
	case resultUnknown:
		return backing == device.BackingShareable
	}
	return false
}

func (v *virtualMemory) checkImported(op, what string, p *virtual.Page) error {
	of := new(pageProperties)
	err := v.ctx.call(op, what, &v.ctx.api.pageProperties, dl.Pointer(of), uintptr(p.Handle))
	runtime.KeepAlive(of)
	if err != nil {
		return err
	}
	if of.location != (location{locationDevice, v.ctx.cuDevice}) {
		return v.ctx.errorf(device.CodeInvalidArgument, op, "%s: is memory of the CUDA device %d", what, of.location.id)
	}
	window := &virtual.Reservation{Size: p.Bytes}
	if err := v.takeSpace(op, window, v.granularity.MinimumBytes); err != nil {
		return err
	}
	mapped := uint64(0)
	number := v.ctx.api.pageMap.Call(uintptr(window.Base), uintptr(p.Bytes), 0, uintptr(p.Handle), 0)
	switch number {
	case 0:
		mapped = p.Bytes
	case resultInvalidValue, resultNotSupported:
		// The address, the offset and the flags are right, so only the size can be wrong.
		// The header states "invalid value" for this, driver 580 returns "not supported".
		if err = v.ctx.failure(op, &v.ctx.api.pageMap, number, fmt.Sprintf("%s, page size %d", what, p.Bytes)); v.ctx.lost.Load() == nil {
			err.(*device.Error).Code = device.CodeInvalidPageSize
		}
	default:
		err = v.ctx.failure(op, &v.ctx.api.pageMap, number, what)
	}
	v.closeWindow(op, window, mapped)
	return err
}
