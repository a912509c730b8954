package cuda

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/virtualtest"
	"ferrum_mem/drivers/internal/dl"
)

// look is where bytes are looked at: one test after the other.
var look []byte

// visible lets the suite see memory that the process cannot address: by copies.
type visible struct {
	*openDevice
	t *testing.T
}

func (v visible) Info() device.Info {
	info := v.openDevice.Info()
	info.HostVisible = true
	return info
}

func (v visible) FillNow(addr device.Addr, value byte, size uint64) error {
	if err := v.DefaultStream().Fill(addr, device.Pattern{Value: uint32(value), WidthBytes: 1}, size); err != nil {
		return err
	}
	return v.DefaultStream().Synchronize(device.Forever)
}

func (v visible) FirstOther(addr device.Addr, value byte, size uint64) (device.Difference, bool, error) {
	if uint64(len(look)) < size {
		look = make([]byte, size)
	}
	found := look[:size]
	if err := v.DefaultStream().CopyToHost(device.HostAddr(dl.Pointer(&look[0])), addr, size); err != nil {
		return device.Difference{}, false, err
	}
	if err := v.DefaultStream().Synchronize(device.Forever); err != nil {
		return device.Difference{}, false, err
	}
	if found[0] == value && bytes.Equal(found[1:], found[:size-1]) {
		return device.Difference{}, false, nil
	}
	for i, b := range found {
		if b != value {
			return device.Difference{OffsetBytes: uint64(i), Found: b}, true, nil
		}
	}
	return device.Difference{}, false, nil
}

func TestVirtualMemoryConforms(t *testing.T) {
	if !alone(t, "SIMCUDA_BYTES=640M", "SIMCUDA_JITTER_US=0") {
		return
	}
	virtualtest.RunEager(t, func(t *testing.T) device.Device { return visible{open(t, 0), t} })
	newSimulator(t).clean()
	require.Positive(t, newSimulator(t).calls("cuMemSetAccess"))
}
