package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// An instance of a partitioned device has its own UUID. CUDA_VISIBLE_DEVICES and ids name
// the instance by this UUID, whose prefix may be missing.
func TestInstancesOfDividedDevices(t *testing.T) {
	const uuid = "53494d02-2222-2222-2222-222222222222"
	if !alone(t, "SIMCUDA_MIG=1", "SIMCUDA_DEVICES=3", "CUDA_VISIBLE_DEVICES=MIG-"+uuid) {
		return
	}
	d := testDriver(t)
	infos, err := d.Devices()
	require.NoError(t, err)
	require.Len(t, infos, 1)
	identity, err := d.Identity(0)
	require.NoError(t, err)
	require.Equal(t, "MIG-"+uuid, identity.UUID)
	for _, name := range []string{identity.UUID, uuid, "mig-" + uuid, identity.PCI, "0"} {
		index, err := d.Find(name)
		require.NoError(t, err, name)
		require.Zero(t, index)
	}
	// The UUID of the device that contains the instance, and the name that drivers before
	// 470 used for the instance.
	for _, name := range []string{"GPU-53494d02-1111-1111-1111-111111111111", "MIG-GPU-53494d02-1111-1111-1111-111111111111/1/0"} {
		_, err = d.Find(name)
		requireCode(t, device.CodeDeviceNotFound, err)
	}
	oneLife(t, open(t, 0))
	newSimulator(t).clean()
}
