package discover

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"ferrum_mem/core/device"
)

// Backend is the result of the discovery of one backend.
type Backend struct {
	// Name is the backend's name in device ids.
	Name string
	// Available states that the backend works here and has a device.
	Available bool
	// Usable states that this build can also open its devices.
	Usable bool
	// Absence is the reason in one word why it is not available; Err is the full
	// reason.
	Absence device.Absence
	Err     error
	// Library and Version describe the vendor's runtime, if there is one.
	Library, Version string
	// Devices is empty unless the backend is available.
	Devices []Device
}

// DisplayName returns the backend's name for people.
func (b *Backend) DisplayName() string { return displayName(b.Name) }

// Reason returns why the backend is not available, as text for people.
func (b *Backend) Reason() string {
	if b.Err == nil {
		return ""
	}
	return plain(b.Err)
}

// Device is a device that was found and is not open.
type Device struct {
	// Info lacks the granularity and the capabilities that are known only after the
	// device was opened.
	device.Info
	// FreeBytes is valid only if FreeKnown is true; it is of the time of discovery.
	FreeBytes uint64
	FreeKnown bool
	// ComputeCapability is the vendor's term for the abilities of the device, or "".
	ComputeCapability string
	// UnifiedMemory states that the memory is shared with the host.
	UnifiedMemory bool
	// MaxAllocationBytes bounds one allocation; 0 means only the capacity bounds it.
	MaxAllocationBytes uint64
	// Processes has the processes with a context on the device at the time of
	// discovery; nil means unknown.
	Processes []device.ProcessUse
}

// CanFit reports whether that many bytes fit into the free memory or, if that is not
// known, into 80 % of the capacity. Nothing fits into an unknown capacity.
func (d *Device) CanFit(bytes uint64) bool { return d.roomBytes() >= bytes }

// roomBytes returns the bytes that CanFit compares with.
func (d *Device) roomBytes() uint64 {
	if d.FreeKnown {
		return d.FreeBytes
	}
	return share(d.TotalBytes, 4, 5)
}

// RecommendedFractionPercent returns the share of the capacity that an engine should
// use. Memory that is shared with the host must leave room for the rest of the machine.
func (d *Device) RecommendedFractionPercent() int {
	if d.UnifiedMemory {
		return 70
	}
	return 90
}

// share returns floor(bytes × part ÷ whole), for part ≤ whole.
func share(bytes, part, whole uint64) uint64 {
	high, low := bits.Mul64(bytes, part)
	quotient, _ := bits.Div64(high, low, whole)
	return quotient
}

// TotalMemoryGB returns the total memory in units of 2^30 bytes.
func (d *Device) TotalMemoryGB() float64 { return gigabytes(d.TotalBytes) }

// FreeMemoryGB returns the free memory in units of 2^30 bytes; false if it is not
// known.
func (d *Device) FreeMemoryGB() (float64, bool) { return gigabytes(d.FreeBytes), d.FreeKnown }

func gigabytes(bytes uint64) float64 { return float64(bytes) / (1 << 30) }

// String describes the device in one line: "[0] name: 32.00 GB (28.50 GB free)".
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
	// For the host this is obvious.
	if d.UnifiedMemory && d.ID.Backend != BackendCPU.Name() {
		b.WriteString(" (unified memory)")
	}
	return b.String()
}

// Discovery is the result of one discovery of all backends.
type Discovery struct {
	// Backends has the host first.
	Backends []Backend
	// At is the time of the discovery, Took its duration.
	At   time.Time
	Took time.Duration
}

// find returns a backend by its name, or nil.
func (d *Discovery) find(name string) *Backend {
	for i := range d.Backends {
		if d.Backends[i].Name == name {
			return &d.Backends[i]
		}
	}
	return nil
}

// Device finds a device by its id. It returns CodeDeviceNotFound for an unknown device.
// For a device of a backend that cannot be used it returns the backend's reason.
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
		return nil, device.Errorf(device.CodeDeviceNotFound, op, "device id %q: %s has %s",
			id.String(), b.DisplayName(), device.Count(len(b.Devices), "device")).On(id)
	}
	return &b.Devices[id.Index], nil
}
