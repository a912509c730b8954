package cuda

import (
	"fmt"
	"strconv"
	"strings"

	"ferrum_mem/core/device"
)

// Identity identifies a device independently of the order of the devices.
type Identity struct {
	// UUID has the form of the vendor's tools: "GPU-00112233-4455-6677-8899-aabbccddeeff",
	// or "MIG-..." for an instance of a divided device.
	UUID string
	// PCI is domain, bus, device and function: "0000:65:00.0".
	PCI string
}

// Identity returns the identity of the device with an index. It returns CodeDeviceNotFound
// if there is none.
func (d *Driver) Identity(index int) (Identity, error) {
	one, err := d.at("cuda.identity", index)
	if err != nil {
		return Identity{}, err
	}
	return one.identity(), nil
}

func (f *found) identity() Identity {
	u, kind := f.uuid, "GPU"
	if f.instance {
		kind = "MIG"
	}
	return Identity{
		UUID: fmt.Sprintf("%s-%x-%x-%x-%x-%x", kind, u[:4], u[4:6], u[6:8], u[8:10], u[10:]),
		PCI:  f.pci,
	}
}

// Find returns the index of a device by its ordinal ("1"), its UUID (with the prefix "GPU-"
// or "MIG-", or without) or its PCI address. It returns CodeDeviceNotFound if no device
// matches.
func (d *Driver) Find(name string) (int, error) {
	const op = "cuda.find"
	if err := d.Probe(); err != nil {
		return 0, err
	}
	if index, err := strconv.Atoi(name); err == nil {
		_, err := d.at(op, index)
		return index, err
	}
	wanted := bare(name)
	for i := range d.devices {
		identity := d.devices[i].identity()
		if wanted != "" && (wanted == bare(identity.UUID) || strings.EqualFold(name, identity.PCI)) {
			return i, nil
		}
	}
	return 0, device.Errorf(device.CodeDeviceNotFound, op,
		"device %q: none of the %d CUDA devices has that ordinal, UUID or PCI address", name, len(d.devices))
}

func bare(uuid string) string {
	uuid = strings.ToLower(uuid)
	return strings.TrimPrefix(strings.TrimPrefix(uuid, "gpu-"), "mig-")
}
