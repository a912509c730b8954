package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
)

// DeviceOpenNative opens a device on a context of the program's in its vendor's runtime,
// which the program keeps until the device is closed. A device that is open already is
// CodeAlreadyExists, unless it is on that very context: then it is the same handle.
func (l *Library) DeviceOpenNative(id string, native uint64) (uint64, error) {
	const op = "device.open_native"
	parsed, err := l.resolveDevice(op, id)
	if err != nil {
		return 0, err
	}
	if native == 0 {
		return 0, device.Errorf(device.CodeNullPointer, op, "native context: must not be 0").On(parsed)
	}
	return l.open(op, parsed, native)
}

// sameContext says whether a device that is open is on the context that is asked for; 0
// is any.
func sameContext(op string, d *openDevice, native uint64) error {
	if native == 0 {
		return nil
	}
	if has, err := nativeOf(op, d.engine, d.engine.Device()); err != nil || has != native {
		return device.Errorf(device.CodeAlreadyExists, op,
			"native context %#x: the device is open already, on another context", native).On(d.engine.ID())
	}
	return nil
}

// nativeOf is the object of the vendor's runtime that something stands for.
func nativeOf(op string, e *engine.Engine, of any) (uint64, error) {
	native, is := of.(device.Native)
	if !is {
		return 0, device.Errorf(device.CodeUnsupported, op, "device %v: its backend has no native handles", e.ID()).On(e.ID())
	}
	return native.NativeHandle()
}

// DeviceGetNative is the context that everything of a device is done in.
func (l *Library) DeviceGetNative(id uint64) (uint64, error) {
	const op = "device.native"
	d, err := find(l, l.devices, op, id)
	if err != nil {
		return 0, err
	}
	native, err := nativeOf(op, d.engine, d.engine.Device())
	return native, late(err, d)
}

// StreamGetNative is the stream of the vendor's runtime.
func (l *Library) StreamGetNative(stream uint64) (uint64, error) {
	const op = "stream.native"
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	return l.factory.StreamNative(manager.StreamHandle(stream))
}

// EventGetNative is the event of the vendor's runtime.
func (l *Library) EventGetNative(event uint64) (uint64, error) {
	const op = "event.native"
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	return l.factory.EventNative(manager.EventHandle(event))
}

// DeviceGrantPeer lets work of another device, also work that is not queued through the
// library, use the memory of this one. Devices whose memory the process addresses itself
// have that already.
func (l *Library) DeviceGrantPeer(id, peer uint64) error {
	const op = "device.grant_peer"
	d, err := find(l, l.devices, op, id)
	if err != nil {
		return err
	}
	other, err := find(l, l.devices, op, peer)
	if err != nil {
		return err
	}
	if d == other {
		return late(device.Errorf(device.CodeInvalidArgument, op, "peer: is the device itself"), d)
	}
	granter, can := d.engine.Device().(device.PeerGranter)
	switch {
	case can:
		return late(granter.GrantPeer(other.engine.Device()), d, other)
	case d.engine.Info().HostAddressable && other.engine.Info().HostAddressable:
		return nil
	}
	return late(device.Errorf(device.CodeUnsupported, op, "peer %v: cannot reach the device's memory", other.engine.ID()), d, other)
}

// VPoolExport gives descriptors of the pages of a range of a virtual pool, if there are
// no more than most.
func (l *Library) VPoolExport(id uint64, r ByteRange, most uint64) (files []int, count uint64, err error) {
	entry, err := find(l, l.vpools, "vpool.export", id)
	if err != nil {
		return nil, 0, err
	}
	files, count, err = entry.pool.Export(r.OffsetBytes, r.SizeBytes, most)
	return files, count, late(err, entry)
}

// ManagerImportMemory gives a handle to memory that another process shares.
func (l *Library) ManagerImportMemory(id uint64, shared device.SharedMemory, tag string) (uint64, error) {
	return l.ManagerImportPages(id, manager.Importation{Shared: &shared, Tag: tag})
}

// ManagerImportPages gives a handle to pages of another process.
func (l *Library) ManagerImportPages(id uint64, i manager.Importation) (uint64, error) {
	entry, err := find(l, l.managers, "manager.import", id)
	if err != nil {
		return 0, err
	}
	h, err := entry.manager.Import(i)
	return h.ID(), late(err, entry)
}

// DeviceShareMemory describes a range of a segment of a device for other processes.
func (l *Library) DeviceShareMemory(id uint64, addr device.Addr, size uint64) (device.SharedMemory, error) {
	const op = "device.share_memory"
	d, err := find(l, l.devices, op, id)
	if err != nil {
		return device.SharedMemory{}, err
	}
	sharer, can := d.engine.Device().(device.ProcessSharer)
	if !can || !d.engine.Info().ProcessSharer {
		return device.SharedMemory{}, late(device.Errorf(device.CodeUnsupported, op,
			"device %v cannot share with other processes", d.engine.ID()), d)
	}
	shared, err := sharer.ShareMemory(addr, size)
	return shared, late(err, d)
}

// SharedEvent is an event as other processes open it.
type SharedEvent struct{ Handle device.ProcessHandle }

// EventShare marks the end of a stream's queue for other processes.
func (l *Library) EventShare(stream uint64) (shared SharedEvent, event uint64, err error) {
	if _, err := l.started("event.share"); err != nil {
		return SharedEvent{}, 0, err
	}
	h, handle, err := l.factory.ShareEvent(manager.StreamHandle(stream))
	return SharedEvent{Handle: handle}, h.ID(), err
}

// EventOpen gives a handle to an event of another process.
func (l *Library) EventOpen(deviceID uint64, shared SharedEvent) (uint64, error) {
	d, err := l.making("event.open", deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.leave()
	h, err := d.streams.OpenEvent(shared.Handle)
	return h.ID(), late(err, d)
}
