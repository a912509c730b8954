package library

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm"
)

// The capabilities of a device as bits, as in the C ABI.
const (
	CapabilityHostAddressable uint64 = 1 << 0
	CapabilityPeer            uint64 = 1 << 1
	CapabilityVirtualMemory   uint64 = 1 << 2
	CapabilityPinnedMemory    uint64 = 1 << 3
	CapabilityLinkedMemory    uint64 = 1 << 4
	CapabilityCapture         uint64 = 1 << 7
	CapabilityExportedPages   uint64 = 1 << 5
	CapabilitySharedMemory    uint64 = 1 << 6
)

// The capabilities for kinds of memory.
const (
	CapabilityManagedMemory    uint64 = 1 << 8
	CapabilityRegisteredMemory uint64 = 1 << 9
	CapabilityStreamOrdered    uint64 = 1 << 10
	CapabilityRDMAPages        uint64 = 1 << 11
	CapabilityFabricPages      uint64 = 1 << 12
)

// DeviceInfo describes an open device.
type DeviceInfo struct {
	device.Info
	// Capabilities has the Capability bits.
	Capabilities uint64
}

// DeviceOpen opens the device with that id ("cpu:0", or "cpu" for its device 0). It
// returns the same handle for a device that is already open. Each open needs one
// DeviceClose. Errors: CodeInvalidArgument for a malformed id, CodeDeviceNotFound for
// an id without a device.
func (l *Library) DeviceOpen(id string) (uint64, error) {
	const op = "device.open"
	parsed, err := l.resolveDevice(op, id)
	if err != nil {
		return 0, err
	}
	return l.open(op, parsed, 0)
}

// resolveDevice parses the id of a device.
func (l *Library) resolveDevice(op, id string) (device.ID, error) {
	r, err := l.started(op)
	if err != nil {
		return device.ID{}, err
	}
	return r.backends.Resolve(id)
}

// open opens a device. If native is not 0, it opens the device on that context of the
// program.
func (l *Library) open(op string, parsed device.ID, native uint64) (uint64, error) {
	inside := l.running.insideAnyCallback()
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		r, err := l.started(op)
		if err != nil {
			return 0, err
		}
		d := l.opened[parsed]
		if d == nil {
			return l.openNew(r, parsed, native)
		}
		if !d.closing {
			if err := sameContext(op, d, native); err != nil {
				return 0, err
			}
			d.opens++
			return d.handle.Load(), nil
		}
		if inside {
			// The close may be waiting for this callback.
			return 0, device.Errorf(device.CodeBusy, op,
				"the device is being closed, and the call comes from a callback").On(parsed)
		}
		l.changed.Wait()
	}
}

// openNew opens a device that is not open yet. The caller holds mu.
func (l *Library) openNew(r *run, id device.ID, native uint64) (uint64, error) {
	open := func() (device.Device, error) { return r.backends.Open(id) }
	if native != 0 {
		open = func() (device.Device, error) { return r.backends.OpenContext(id, native) }
	}
	opened, err := open()
	if err != nil {
		return 0, err
	}
	e := engine.New(opened, engine.Options{
		MayNotWait: l.options.MayNotWait,
		Log: func(level engine.Level, message string) {
			l.log.printf(int32(level), "%s", message)
		},
		Debug: r.debug, CallSites: l.options.CallSites,
	})
	d := &Device{Engine: e, streams: l.registry.factory.CreateStreamManager(e), gate: newGate(), opens: 1}
	handle, err := insert(l, l.registry.devices, d)
	if err != nil {
		if closeErr := e.Close(); closeErr != nil {
			l.log.printf(LogError, "%v: closing it after a failed open: %v", id, closeErr)
		}
		return 0, on(err, e)
	}
	if l.options.Mirrors != nil {
		e.PublishAt(l.options.Mirrors.Of(handle), handle)
	}
	l.opened[id] = d
	l.log.printf(LogInfo, "%v: opened: %s, %v", id, e.Info().Name, device.Size(e.Info().TotalBytes))
	return handle, nil
}

// Close undoes one DeviceOpen. The last Close closes the device. Without force it
// returns CodeBusy, and changes nothing, while objects exist on the device. With force
// it waits for streams and callbacks, frees everything and reports it through the log.
// The last Close waits for callbacks that removed themselves and still run, unless it
// is called from a callback.
func (d *Device) Close(force bool) error {
	const op = "device.close"
	l := d.library
	last, err := l.undoOpen(op, d, force)
	if err != nil || !last {
		return err
	}
	return l.finishClose(d, force, func() {
		l.log.logLeaks("forced close of a device", l.collectLeaks(d))
	})
}

// undoOpen undoes one open. If it was the last one, the caller has to close the device,
// and the device rejects new objects.
func (l *Library) undoOpen(op string, d *Device, force bool) (last bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.started(op); err != nil {
		return false, err
	}
	if d.closing || d.closed {
		return false, device.Errorf(device.CodeInvalidHandle, op,
			"device handle %#x: the device is being closed", d.handle.Load()).On(d.Engine.ID())
	}
	if d.opens > 1 {
		d.opens--
		return false, nil
	}
	if force {
		if err := l.registry.notInside(op, d); err != nil {
			return false, err
		}
	} else {
		err := d.gate.tryClose(func(making int) error {
			left := l.registry.countLeft(d)
			left.making = making
			if left.any() {
				return device.Errorf(device.CodeBusy, op, "still in use: %s", left).On(d.Engine.ID())
			}
			// A callback without a handle may still be returning, and objects that do
			// not pass the gate may have been created since.
			if err := d.Engine.InUse(); err != nil {
				return err
			}
			return l.registry.factory.SealDevice(d.Engine)
		})
		if err != nil {
			return false, err
		}
	}
	d.closing = true
	return true, nil
}

// finishClose closes a device that the caller has claimed. If it fails, the device
// stays open with what could not be freed. report, unless nil, is called before
// anything is freed by force.
func (l *Library) finishClose(d *Device, force bool, report func()) error {
	err := l.emptyDevice(d, force, report)
	if err == nil {
		err = on(d.Engine.Close(), d.Engine)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.changed.Broadcast()
	d.closing = false
	if err != nil {
		d.gate.reopen()
		if !errors.Is(err, device.CodeBusy) {
			l.log.printf(LogError, "%v: closing failed: %v", d.Engine.ID(), err)
		}
		return err
	}
	d.closed = true
	d.Engine.PublishAt(nil, 0)
	delete(l.opened, d.Engine.ID())
	l.log.printf(LogInfo, "%v: closed", d.Engine.ID())
	_, err = l.registry.devices.Remove(d.handle.Load())
	return err
}

// Info describes the device.
func (d *Device) Info() DeviceInfo {
	info := d.Engine.Info()
	return DeviceInfo{Info: info, Capabilities: capabilities(info)}
}

func capabilities(info device.Info) uint64 {
	var set uint64
	if info.HostAddressable {
		set |= CapabilityHostAddressable
	}
	if info.Peer {
		set |= CapabilityPeer
	}
	if info.VirtualMemory {
		set |= CapabilityVirtualMemory
	}
	if info.PinnedHost {
		set |= CapabilityPinnedMemory
	}
	if info.Linker {
		set |= CapabilityLinkedMemory
	}
	if info.Capture {
		set |= CapabilityCapture
	}
	if info.Exporter {
		set |= CapabilityExportedPages
	}
	if info.ProcessSharer {
		set |= CapabilitySharedMemory
	}
	if info.Managed {
		set |= CapabilityManagedMemory
	}
	if info.Registrar {
		set |= CapabilityRegisteredMemory
	}
	if info.StreamOrdered {
		set |= CapabilityStreamOrdered
	}
	if info.RDMAPages {
		set |= CapabilityRDMAPages
	}
	if info.FabricExporter {
		set |= CapabilityFabricPages
	}
	return set
}

// MeasureBandwidth measures the copy bandwidth in 10^9 bytes per second. It uses its
// own segments and stream during the call; a close of the device waits for it.
func (d *Device) MeasureBandwidth() (float64, error) {
	if err := d.pass("device.measure_bandwidth"); err != nil {
		return 0, err
	}
	defer d.gate.exit()
	return d.Engine.MeasureBandwidth()
}

// PageSizes returns the page sizes that virtual pools of the device may have. It
// returns CodeUnsupportedDevice for a device without virtual memory.
func (d *Device) PageSizes() (device.Granularity, error) {
	virtual, err := d.VirtualMemory()
	if err != nil {
		return device.Granularity{}, device.Errorf(device.CodeUnsupportedDevice, "device.page_sizes", "%w", err)
	}
	sizes := virtual.Granularity()
	return device.Granularity{
		MinimumBytes:     max(sizes.MinimumBytes, vmm.MinPageBytes),
		RecommendedBytes: max(sizes.RecommendedBytes, vmm.MinPageBytes),
	}, nil
}

// endByForce closes the device, unless another call has closed it.
func (d *Device) endByForce(l *Library, _ uint64) error {
	if !l.claim(d) {
		return nil
	}
	return l.finishClose(d, true, nil)
}

// claim makes the caller the one that closes the device, after other calls that close
// it have ended. It returns false if one of them has closed the device.
func (l *Library) claim(d *Device) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for d.closing {
		l.changed.Wait()
	}
	if d.closed {
		return false
	}
	d.closing = true
	return true
}

// sameContext checks that an open device uses the requested context; 0 accepts any.
func sameContext(op string, d *Device, native uint64) error {
	if native == 0 {
		return nil
	}
	if has, err := nativeOf(op, d.Engine, d.Engine.Device()); err != nil || has != native {
		return device.Errorf(device.CodeAlreadyExists, op,
			"native context %#x: the device is open already, on another context", native).On(d.Engine.ID())
	}
	return nil
}

// nativeOf returns the object of the vendor's runtime that a device, stream or event
// represents.
func nativeOf(op string, e *engine.Engine, of any) (uint64, error) {
	native, is := of.(device.Native)
	if !is {
		return 0, device.Errorf(device.CodeUnsupported, op, "device %v: its backend has no native handles", e.ID()).On(e.ID())
	}
	return native.NativeHandle()
}
