package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
)

// DeviceOpenNative opens a device on a context of the program in its vendor's runtime.
// The program keeps the context until the device is closed. For an open device it
// returns CodeAlreadyExists, unless the device uses the same context: then it returns
// the same handle.
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

// Native returns the context that the device uses.
func (d *Device) Native() (uint64, error) {
	return nativeOf("device.native", d.Engine, d.Engine.Device())
}

// GrantPeer lets work of another device use the memory of this one, including work that
// is not queued through the library. Devices whose memory the process addresses have
// that access already.
func (d *Device) GrantPeer(peer uint64) error {
	const op = "device.grant_peer"
	other, err := d.library.Device(op, peer)
	if err != nil {
		return err
	}
	if d == other {
		return device.Errorf(device.CodeInvalidArgument, op, "peer: is the device itself")
	}
	granter, can := d.Engine.Device().(device.PeerGranter)
	switch {
	case can:
		return CallError(granter.GrantPeer(other.Engine.Device()), d, other)
	case d.Engine.Info().HostAddressable && other.Engine.Info().HostAddressable:
		return nil
	}
	return CallError(device.Errorf(device.CodeUnsupported, op, "peer %v: cannot reach the device's memory", other.ID()), d, other)
}

// ShareMemory describes a range of a segment of the device for other processes.
func (d *Device) ShareMemory(addr device.Addr, size uint64) (device.SharedMemory, error) {
	sharer, can := d.Engine.Device().(device.ProcessSharer)
	if !can || !d.Engine.Info().ProcessSharer {
		return device.SharedMemory{}, device.Errorf(device.CodeUnsupported, "device.share_memory",
			"device %v cannot share with other processes", d.ID())
	}
	return sharer.ShareMemory(addr, size)
}

// Export returns descriptors of the pages of a range of the pool, if there are at most
// most.
func (p *VPool) Export(r ByteRange, most uint64) (files []int, count uint64, err error) {
	return p.Pool.Export(r.OffsetBytes, r.SizeBytes, most)
}

// ExportFabric returns the fabric handles of the pages of a range of the pool, if they
// need at most most bytes.
func (p *VPool) ExportFabric(r ByteRange, most uint64) (handles []byte, count uint64, err error) {
	return p.Pool.ExportFabric(r.OffsetBytes, r.SizeBytes, most)
}

// ImportMemory registers memory that another process shares under a handle.
func (m *Manager) ImportMemory(shared device.SharedMemory, tag string) (manager.MemoryHandle, error) {
	return m.Import(manager.Importation{Shared: &shared, Tag: tag})
}

// SharedEvent describes an event for other processes to open.
type SharedEvent struct{ Handle device.ProcessHandle }

// EventShare records an event at the end of a stream's queue, for other processes.
func (l *Library) EventShare(stream uint64) (shared SharedEvent, event uint64, err error) {
	if _, err := l.started("event.share"); err != nil {
		return SharedEvent{}, 0, err
	}
	h, handle, err := l.registry.factory.ShareEvent(manager.StreamHandle(stream))
	return SharedEvent{Handle: handle}, h.ID(), err
}

// EventOpen registers an event of another process under a handle.
func (l *Library) EventOpen(deviceID uint64, shared SharedEvent) (uint64, error) {
	d, err := l.making("event.open", deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.exit()
	h, err := d.streams.OpenEvent(shared.Handle)
	return h.ID(), CallError(err, d)
}
