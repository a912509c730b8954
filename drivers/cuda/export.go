package cuda

import (
	"fmt"
	"math/bits"
	"runtime"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
	"ferrum_mem/drivers/internal/gpu/virtual"
)

var _ device.Exporter = (*openDevice)(nil)

// ExportPage asks the driver for a descriptor.
func (o *openDevice) ExportPage(number device.Page) (int, error) {
	const op = "cuda.export_page"
	if err := o.startExport(op); err != nil {
		return -1, err
	}
	p, err := o.virtual.book.Find(op, number)
	if err != nil {
		return -1, err
	}
	if p.Backing != device.BackingShareable {
		return -1, o.ctx.errorf(device.CodeInvalidArgument, op,
			"page %d: was created with backing %d, and only pages of backing %d can be exported",
			number, p.Backing, device.BackingShareable)
	}
	fd := int32(-1)
	err = o.ctx.within(op, func() error {
		return o.ctx.call(op, fmt.Sprintf("page %d", number), &o.ctx.api.pageExport,
			dl.Pointer(&fd), uintptr(p.Handle), handleFileDescriptor, 0)
	})
	if err != nil {
		return -1, err
	}
	if err := keepFromPrograms(int(fd)); err != nil {
		_ = closeDescriptor(int(fd))
		return -1, o.ctx.errorf(device.CodeDevice, op, "page %d: descriptor %d: %v", number, fd, err)
	}
	return int(fd), nil
}

// ImportPage imports the memory and holds what it can against the driver: the device,
// and that a page of this size can be mapped. The driver does not tell a size that is
// too small.
func (o *openDevice) ImportPage(fd int, pageBytes uint64) (device.Page, error) {
	const op = "cuda.import_page"
	if err := o.startExport(op); err != nil {
		return 0, err
	}
	v := &o.virtual
	if bits.OnesCount64(pageBytes) != 1 || pageBytes < v.granularity.MinimumBytes || pageBytes > mostReserved {
		return 0, o.ctx.errorf(device.CodeInvalidPageSize, op,
			"page size %d: want a power of two of at least %d", pageBytes, v.granularity.MinimumBytes)
	}
	if err := checkDescriptor(fd); err != nil {
		return 0, o.ctx.errorf(device.CodeInvalidArgument, op, "descriptor %d: %v", fd, err)
	}
	if err := o.hold(op, 1); err != nil {
		return 0, err
	}
	p := &virtual.Page{Bytes: pageBytes, Backing: device.BackingShareable, Imported: true}
	if err := o.ctx.within(op, func() error { return o.virtual.importPage(op, fd, p) }); err != nil {
		o.drop(1)
		return 0, err
	}
	v.book.Add(p)
	return p.Number, nil
}

// importPage makes a handle of a descriptor, or nothing.
func (v *virtualMemory) importPage(op string, fd int, p *virtual.Page) error {
	what := fmt.Sprintf("descriptor %d", fd)
	number := v.ctx.api.pageImport.Call(dl.Pointer(&p.Handle), uintptr(fd), handleFileDescriptor)
	if number != 0 {
		err := v.ctx.failure(op, &v.ctx.api.pageImport, number, what)
		switch number {
		case resultInvalidValue, resultInvalidHandle, resultInvalidDevice, resultOperatingSystem:
			if v.ctx.lost.Load() == nil {
				err.(*device.Error).Code = device.CodeInvalidArgument
			}
		}
		return err
	}
	err := v.checkImported(op, what, p)
	if err != nil {
		_ = v.ctx.takeBack(op, what, &v.ctx.api.pageRelease, uintptr(p.Handle))
	}
	return err
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
	case resultInvalidValue:
		if err = v.ctx.failure(op, &v.ctx.api.pageMap, number, fmt.Sprintf("%s, page size %d", what, p.Bytes)); v.ctx.lost.Load() == nil {
			err.(*device.Error).Code = device.CodeInvalidPageSize
		}
	default:
		err = v.ctx.failure(op, &v.ctx.api.pageMap, number, what)
	}
	return v.closeWindow(op, window, mapped, err)
}
