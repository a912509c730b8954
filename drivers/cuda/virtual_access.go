package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// giveAccess sets the access of this device and of guests to a range of whole pages, by one
// call of the vendor driver.
func (v *virtualMemory) giveAccess(op string, addr, size uint64, access device.Access, accessors []int32) error {
	flags := map[device.Access]int32{
		device.AccessNone: accessNone, device.AccessRead: accessRead, device.AccessReadWrite: accessReadWrite,
	}[access]
	given := make([]accessDescription, 1, 1+len(accessors))
	given[0] = accessDescription{location: location{locationDevice, v.ctx.cuDevice}, access: flags}
	for _, accessor := range accessors {
		given = append(given, accessDescription{location: location{locationDevice, accessor}, access: flags})
	}
	err := v.ctx.call(op, fmt.Sprintf("address %#x, size %d, access %d", addr, size, access),
		&v.ctx.api.pageAccess, uintptr(addr), uintptr(size), dl.Pointer(&given[0]), uintptr(len(given)))
	runtime.KeepAlive(given)
	// The range was checked before, so the vendor driver rejects the protection.
	var why *device.Error
	if access != device.AccessReadWrite && errors.As(err, &why) && why.Code == device.CodeDevice && why.Native == resultInvalidValue {
		why.Code = device.CodeUnsupported
		why.Message += "; this driver can only make memory of devices readable and writable"
	}
	return err
}

// allowAccess gives another device, by the vendor driver's number, the access of this device to
// pages that are mapped now or later. It makes one call for each run. If a call fails, the
// device gets no access.
func (v *virtualMemory) allowAccess(op string, accessor int32) error {
	if accessor == v.ctx.cuDevice {
		return nil
	}
	v.opening.Lock()
	defer v.opening.Unlock()
	if slices.Contains(v.accessors, accessor) {
		return nil
	}
	// While opening is held, no other call maps, unmaps or sets access.
	runs := v.book.Runs()
	with := append(slices.Clone(v.accessors), accessor)
	err := v.ctx.within(op, func() error {
		for i, r := range runs {
			err := v.giveAccess(op, r.Addr, r.Size, r.Access, with)
			if err == nil {
				continue
			}
			none := &accessDescription{location: location{locationDevice, accessor}, access: accessNone}
			for _, r := range runs[:i] {
				// This call is not owed, because some drivers never remove access. Work of the guest
				// is checked against the lists of ranges, and the next call opens the range again.
				if v.ctx.api.pageAccess.Call(uintptr(r.Addr), uintptr(r.Size), dl.Pointer(none), 1) != 0 {
					v.ctx.api.pageAccess.Call(uintptr(r.Addr), uintptr(r.Size), dl.Pointer(none), 1)
				}
			}
			runtime.KeepAlive(none)
			return err
		}
		return nil
	})
	if err == nil {
		v.accessors = with
	}
	return err
}
