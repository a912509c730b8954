package discover

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"ferrum_mem/core/device"
)

// Backend is what was found of one backend.
type Backend struct {
	// Name is the one in device ids.
	Name string
	// Available says that the backend works here and has a device.
	Available bool
	// Usable says that this build can also open its devices.
	Usable bool
	// Absence says in one word why it is not available; Err says it in full.
	Absence device.Absence
	Err     error
	// Library and Version are of the vendor's runtime, where there is one.
	Library, Version string
	// Devices is empty unless it is available.
	Devices []Device
}

// DisplayName is the backend's name for people.
func (b *Backend) DisplayName() string { return displayName(b.Name) }

// Reason is why the backend is not available, without what programs want to know.
func (b *Backend) Reason() string {
	if b.Err == nil {
		return ""
	}
	return plain(b.Err)
}

// Device is a device that was found, before it is opened.
type Device struct {
	// Info lacks the granularity and the capabilities of devices that only their
	// opening tells.
	device.Info
	// FreeBytes has a meaning only when FreeKnown; it is of the time of discovery.
	FreeBytes uint64
	FreeKnown bool
	// ComputeCapability is the vendor's word for what the device can, or "".
	ComputeCapability string
	// UnifiedMemory says that the memory is shared with the host.
	UnifiedMemory bool
	// MaxAllocationBytes bounds one allocation; 0 means nothing but the capacity.
	MaxAllocationBytes uint64
	// Processes are those that have a context on the device, at the time of discovery;
	// nil means unknown.
	Processes []device.ProcessUse
}

// CanFit says whether that many bytes fit: into what is free or, where that is not
// known, into 80 % of the capacity. An unknown capacity fits nothing.
func (d *Device) CanFit(bytes uint64) bool { return d.roomBytes() >= bytes }

// roomBytes is what CanFit compares with.
func (d *Device) roomBytes() uint64 {
	if d.FreeKnown {
		return d.FreeBytes
	}
	return share(d.TotalBytes, 4, 5)
}

// RecommendedFractionPercent is how much of the capacity an engine should take:
// memory that is the host's too must leave room for the rest of the machine.
func (d *Device) RecommendedFractionPercent() int {
	if d.UnifiedMemory {
		return 70
	}
	return 90
}

// share is floor(bytes × part ÷ whole), for part ≤ whole.
func share(bytes, part, whole uint64) uint64 {
	high, low := bits.Mul64(bytes, part)
	quotient, _ := bits.Div64(high, low, whole)
	return quotient
}

// TotalMemoryGB and FreeMemoryGB are in units of 2^30 bytes.
func (d *Device) TotalMemoryGB() float64 { return gigabytes(d.TotalBytes) }

// FreeMemoryGB is false when the free memory is not known.
func (d *Device) FreeMemoryGB() (float64, bool) { return gigabytes(d.FreeBytes), d.FreeKnown }

func gigabytes(bytes uint64) float64 { return float64(bytes) / (1 << 30) }

// String is the device in one line: "[0] name: 32.00 GB (28.50 GB free)".
func (d *Device) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%d] %s: ", d.ID.Index, d.Name)
	if d.TotalBytes == 0 {
		b.WriteString("unknown memory")
	} else {
		fmt.Fprintf(&b, "%.2f GB", d.TotalMemoryGB())
	}
	if free, known := d.FreeMemoryGB(); known {
		fmt.Fprintf(&b, " (%.2f GB free)", free)
	}
	if d.ComputeCapability != "" {
		fmt.Fprintf(&b, " (compute %s)", d.ComputeCapability)
	}
	// Of the host's own memory that goes without saying.
	if d.UnifiedMemory && d.ID.Backend != BackendCPU.Name() {
		b.WriteString(" (unified memory)")
	}
	return b.String()
}

// Discovery is what was found of all backends at one time.
type Discovery struct {
	// Backends has the host first.
	Backends []Backend
	// At is when it was done, Took how long it took.
	At   time.Time
	Took time.Duration
}

// find gives a backend by its name, or nil.
func (d *Discovery) find(name string) *Backend {
	for i := range d.Backends {
		if d.Backends[i].Name == name {
			return &d.Backends[i]
		}
	}
	return nil
}

// Device finds a device by its identity. What is not there is CodeDeviceNotFound; a
// device of a backend that cannot be used fails with the backend's reason.
func (d *Discovery) Device(id device.ID) (*Device, error) {
	const op = "discover.device"
	b := d.find(id.Backend)
	if b == nil {
		return nil, device.Errorf(device.CodeDeviceNotFound, op, "device id %q: there is no backend %q", id.String(), id.Backend).On(id)
	}
	if b.Err != nil {
		return nil, b.Err
	}
	if id.Index < 0 || id.Index >= len(b.Devices) {
		return nil, device.Errorf(device.CodeDeviceNotFound, op, "device id %q: %s has %d devices",
			id.String(), b.DisplayName(), len(b.Devices)).On(id)
	}
	return &b.Devices[id.Index], nil
}
