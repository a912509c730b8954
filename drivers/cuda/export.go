package cuda

import (
	"fmt"
	"math/bits"
	"runtime"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

var _ device.Exporter = (*openDevice)(nil)

// ExportPage asks the driver for a descriptor.
func (o *openDevice) ExportPage(number device.Page) (int, error) {
	const op = "cuda.export_page"
	if err := o.startExport(op); err != nil {
		return -1, err
	}
	v := &o.virtual
	v.mu.RLock()
	pages, err := v.listed(op, []device.Page{number})
	v.mu.RUnlock()
	if err != nil {
		return -1, err
	}
	p := pages[0]
	if p.backing != device.BackingShareable {
		return -1, o.ctx.errorf(device.CodeInvalidArgument, op,
			"page %d: was created with backing %d, and only pages of backing %d can be exported",
			number, p.backing, device.BackingShareable)
	}
	fd := int32(-1)
	err = o.ctx.within(op, func() error {
		return o.ctx.call(op, fmt.Sprintf("page %d", number), &o.ctx.api.pageExport,
			dl.Pointer(&fd), uintptr(p.handle), handleFileDescriptor, 0)
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
	p := &page{bytes: pageBytes, backing: device.BackingShareable, imported: true}
	if err := o.ctx.within(op, func() error { return o.virtual.importPage(op, fd, p) }); err != nil {
		o.drop(1)
		return 0, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.enter(p)
	return p.number, nil
}

// importPage makes a handle of a descriptor, or nothing.
func (v *virtualMemory) importPage(op string, fd int, p *page) error {
	what := fmt.Sprintf("descriptor %d", fd)
	number := v.ctx.api.pageImport.Call(dl.Pointer(&p.handle), uintptr(fd), handleFileDescriptor)
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
		_ = v.ctx.takeBack(op, what, &v.ctx.api.pageRelease, uintptr(p.handle))
	}
	return err
}

func (v *virtualMemory) checkImported(op, what string, p *page) error {
	of := new(pageProperties)
	err := v.ctx.call(op, what, &v.ctx.api.pageProperties, dl.Pointer(of), uintptr(p.handle))
	runtime.KeepAlive(of)
	if err != nil {
		return err
	}
	if of.location != (location{locationDevice, v.ctx.cuDevice}) {
		return v.ctx.errorf(device.CodeInvalidArgument, op, "%s: is memory of the CUDA device %d", what, of.location.id)
	}
	window := &reservation{size: p.bytes}
	if err := v.takeSpace(op, window, v.granularity.MinimumBytes); err != nil {
		return err
	}
	mapped := uint64(0)
	number := v.ctx.api.pageMap.Call(uintptr(window.base), uintptr(p.bytes), 0, uintptr(p.handle), 0)
	switch number {
	case 0:
		mapped = p.bytes
	case resultInvalidValue:
		if err = v.ctx.failure(op, &v.ctx.api.pageMap, number, fmt.Sprintf("%s, page size %d", what, p.bytes)); v.ctx.lost.Load() == nil {
			err.(*device.Error).Code = device.CodeInvalidPageSize
		}
	default:
		err = v.ctx.failure(op, &v.ctx.api.pageMap, number, what)
	}
	return v.closeWindow(op, window, mapped, err)
}
