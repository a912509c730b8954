package discover

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

func TestRegistry(t *testing.T) {
	works := devicetest.New(devicetest.Config{Backend: "alpha", Devices: 2, TotalBytes: 1 << 20})
	missing := devicetest.New(devicetest.Config{Backend: "beta"})
	reason := device.Errorf(device.CodeBackendUnavailable, "beta.probe", "its runtime is not installed")
	missing.SetProbe(reason)
	r := New(works, missing, devicetest.New(devicetest.Config{Backend: "alpha"}))

	backends := r.Discover().Backends
	require.Len(t, backends, 2, "a second driver of a backend is left out")
	require.True(t, backends[0].Available)
	require.NoError(t, backends[0].Err)
	require.Len(t, backends[0].Devices, 2)
	require.Equal(t, "alpha:1", backends[0].Devices[1].ID.String())
	require.False(t, backends[1].Available)
	require.Equal(t, error(reason), backends[1].Err)
	require.Empty(t, backends[1].Devices)

	missing.SetProbe(nil)
	require.False(t, r.Discover().Backends[1].Available, "the answer is kept")
	require.True(t, r.Refresh().Backends[1].Available)
	require.True(t, r.Discover().Backends[1].Available)
	missing.SetProbe(reason)

	dev, err := r.Open(device.ID{Backend: "alpha", Index: 1})
	require.NoError(t, err)
	require.Equal(t, 1, dev.Info().ID.Index)
	_, err = r.Open(device.ID{Backend: "alpha", Index: 2})
	require.ErrorIs(t, err, device.CodeDeviceNotFound)
	_, err = r.Open(device.ID{Backend: "gamma"})
	require.ErrorIs(t, err, device.CodeDeviceNotFound)
	require.ErrorContains(t, err, "alpha, beta")
	_, err = r.Open(device.ID{Backend: "beta"})
	require.ErrorIs(t, err, device.CodeBackendUnavailable)

	_, err = New().Open(device.ID{Backend: "alpha"})
	require.ErrorContains(t, err, "none")
}
