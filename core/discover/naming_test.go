package discover

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// named is a driver that finds device 1 by two names and records the native context of an
// open.
type named struct {
	*devicetest.Driver
	context uint64
}

func (n *named) Find(name string) (int, error) {
	if name == "GPU-1" || name == "0000:65:00.0" {
		return 1, nil
	}
	return 0, device.Errorf(device.CodeDeviceNotFound, "test.find", "device %q", name)
}

func (n *named) OpenContext(index int, native uint64) (device.Device, error) {
	n.context = native
	return n.Open(index)
}

func TestNamesOfDevices(t *testing.T) {
	driver := &named{Driver: devicetest.New(devicetest.Config{Devices: 2})}
	r := New(driver)
	for text, index := range map[string]int{"test:0": 0, "test": 0, "test:1": 1, "test:GPU-1": 1, "test:0000:65:00.0": 1} {
		id, err := r.Resolve(text)
		require.NoError(t, err, text)
		require.Equal(t, device.ID{Backend: "test", Index: index}, id, text)
	}
	for text, code := range map[string]device.Code{
		"test:GPU-2": device.CodeDeviceNotFound, "test:gpu": device.CodeInvalidArgument, "test:": device.CodeInvalidArgument,
		"": device.CodeInvalidArgument, "other:GPU-1": device.CodeInvalidArgument, "test:-": device.CodeInvalidArgument, "test:-1": device.CodeInvalidArgument,
	} {
		_, err := r.Resolve(text)
		require.Equal(t, code, device.CodeOf(err), "%q: %v", text, err)
	}
	plain := New(devicetest.New(devicetest.Config{}))
	_, err := plain.Resolve("test:GPU-1")
	require.Equal(t, device.CodeInvalidArgument, device.CodeOf(err), "a driver without names")

	dev, err := r.OpenContext(device.ID{Backend: "test", Index: 1}, 7)
	require.NoError(t, err)
	require.EqualValues(t, 7, driver.context)
	require.NoError(t, dev.Close())
	_, err = plain.OpenContext(device.ID{Backend: "test"}, 7)
	require.Equal(t, device.CodeUnsupported, device.CodeOf(err))
	_, err = plain.OpenContext(device.ID{Backend: "nothing"}, 7)
	require.Equal(t, device.CodeDeviceNotFound, device.CodeOf(err))
}
