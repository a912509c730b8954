package library_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/placement"
	"ferrum_mem/core/pressure"
)

func (b *bench) strategy(name string) uint64 {
	handle, err := b.PlacementCreate(name)
	require.NoError(b.t, err)
	return handle
}

func sized(bytes uint64, devices ...uint64) library.PlacementRequest {
	return library.PlacementRequest{Request: placement.Request{SizeBytes: bytes}, Devices: devices}
}

func TestAStrategyIsNamedAndChosenByHandle(t *testing.T) {
	b := startBench(t)
	here, there := b.open("test:0"), b.open("test:1")
	b.device(0).SetOthersBytes(capacity / 2)
	for name, want := range map[string]uint64{
		placement.BestFit: here, placement.Original: here, placement.Spread: there, placement.Pack: here,
	} {
		s := b.strategy(name)
		for _, r := range []library.PlacementRequest{sized(1 << 20), sized(1<<20, here, there), sized(1<<20, there, here)} {
			chosen, err := at(b.Placement, s).Select(r)
			require.NoError(t, err)
			require.Equal(t, want, chosen, name)
		}
		found, err := b.PlacementGetName(s)
		require.NoError(t, err)
		require.Equal(t, name, found)
		strict := sized(1 << 20)
		strict.Preferred, strict.Strict = []uint64{there, here}, true
		chosen, err := at(b.Placement, s).Select(strict)
		require.NoError(t, err)
		if name != placement.Original {
			require.Equal(t, there, chosen)
		}
		require.NoError(t, at(b.Placement, s).Destroy(nil))
		requireCode(t, device.CodeInvalidHandle, do(b.Placement, s, func(o *library.Placement) error { return o.Destroy(nil) }))
	}
}

// A device with a small limit is not chosen for its large capacity.
func TestAPlacementGoesByTheLimits(t *testing.T) {
	b := startBench(t)
	here, there := b.open("test:0"), b.open("test:1")
	require.NoError(t, at(b.Device, here).SetLimit(2<<20))
	spread := b.strategy(placement.Spread)
	chosen, err := at(b.Placement, spread).Select(sized(1 << 20))
	require.NoError(t, err)
	require.Equal(t, there, chosen, "half of the limit would be free")
	chosen, err = at(b.Placement, b.strategy(placement.Pack)).Select(sized(1 << 20))
	require.NoError(t, err)
	require.Equal(t, here, chosen)
	_, err = at(b.Placement, spread).Select(sized(3<<20, here))
	requireCode(t, device.CodeNotFound, err)
	text, err := at(b.Placement, spread).ExplainJSON(sized(2<<20, here))
	require.NoError(t, err)
	of := decode(t, text)["devices"].([]any)[0].(map[string]any)
	require.EqualValues(t, 2<<20, of["total_bytes"])
	require.Equal(t, "critical", of["level_after"])
}

func TestAPlacementSaysWhyADeviceWasChosen(t *testing.T) {
	b := startBench(t)
	here := b.open("test:0")
	b.open("test:1")
	b.device(1).FailNth(devicetest.Memory, 1, nil)
	s := b.strategy(placement.BestFit)
	text, err := at(b.Placement, s).ExplainJSON(sized(capacity / 4 * 3))
	require.NoError(t, err)
	object := decode(t, text)
	require.Equal(t, "best_fit", object["strategy"])
	require.Equal(t, "test:0", object["chosen"])
	devices := object["devices"].([]any)
	first, second := devices[0].(map[string]any), devices[1].(map[string]any)
	require.ElementsMatch(t, []string{
		"id", "chosen", "reason", "score", "tier", "preferred_rank", "needed_bytes", "total_bytes", "used_bytes",
		"free_bytes", "largest_free_bytes", "level_after",
	}, keysOf(first))
	require.Equal(t, "medium", first["level_after"])
	require.Equal(t, "no_information", second["reason"])
	require.Nil(t, second["score"])

	pinned := sized(1)
	pinned.Type = manager.Mapped
	_, err = at(b.Placement, s).Select(pinned)
	requireCode(t, device.CodeNotFound, err)
	require.ErrorContains(t, err, "test:0: wrong_memory_type")
	text, err = at(b.Placement, s).ExplainJSON(pinned)
	require.NoError(t, err)
	require.Nil(t, decode(t, text)["chosen"])
	_, err = at(b.Placement, s).Select(sized(capacity+1, here))
	requireCode(t, device.CodeNotFound, err)
	require.ErrorContains(t, err, "too_small")
}

func TestCallersPlacementStrategyChooses(t *testing.T) {
	b := startBench(t)
	here, there := b.open("test:0"), b.open("test:1")
	var s uint64
	s, err := b.PlacementCreateOwn("mine", func(r library.PlacementRequest, options []library.PlacementOption) (int, error) {
		require.Equal(t, s, r.Strategy)
		require.Equal(t, []uint64{there}, r.Preferred)
		require.Equal(t, pressure.Early, r.Profile)
		require.Equal(t, here, options[0].Device)
		for i, o := range options {
			if o.Device == r.Preferred[0] {
				// The strategy may call the library, and destroy itself.
				require.NoError(t, at(b.Placement, s).Destroy([]uint64{s}))
				return i, nil
			}
		}
		return placement.None, nil
	})
	require.NoError(t, err)
	r := sized(1)
	r.Preferred, r.Profile = []uint64{there}, pressure.Early
	chosen, err := at(b.Placement, s).Select(r)
	require.NoError(t, err)
	require.Equal(t, there, chosen)
	err = do(b.Placement, s, func(o *library.Placement) error { return second(o.Select(r)) })
	requireCode(t, device.CodeInvalidHandle, err)
}

func TestPlacementDestroyWaitsForACall(t *testing.T) {
	b := startBench(t)
	b.open("test:0")
	entered, hold := make(chan struct{}), make(chan struct{})
	s, err := b.PlacementCreateOwn("mine", func(library.PlacementRequest, []library.PlacementOption) (int, error) {
		close(entered)
		<-hold
		return 0, nil
	})
	require.NoError(t, err)
	selected := make(chan error, 1)
	device.Go("select", func() {
		_, err := at(b.Placement, s).Select(sized(1))
		selected <- err
	})
	<-entered
	destroyed := device.Go("destroy", func() {
		if err := at(b.Placement, s).Destroy(nil); err != nil {
			panic(err)
		}
	})
	select {
	case <-destroyed:
		t.Fatal("destroyed while a call runs")
	default:
	}
	close(hold)
	<-destroyed
	require.NoError(t, <-selected)
}

func TestPlacementRefusesBadArguments(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	_, err := b.PlacementCreate("first_fit")
	requireCode(t, device.CodeNotFound, err)
	_, err = b.PlacementCreateOwn("mine", nil)
	requireCode(t, device.CodeNullPointer, err)
	choose := func(library.PlacementRequest, []library.PlacementOption) (int, error) { return 0, nil }
	_, err = b.PlacementCreateOwn("spread", choose)
	requireCode(t, device.CodeAlreadyExists, err)
	s := b.strategy(placement.BestFit)
	requireCode(t, device.CodeInvalidHandle, do(b.Placement, dev, func(o *library.Placement) error { return second(o.Select(sized(1))) }))
	requireCode(t, device.CodeInvalidHandle, second(b.PlacementGetName(0)))
	requireCode(t, device.CodeInvalidSize, second(at(b.Placement, s).Select(sized(0))))
	requireCode(t, device.CodeInvalidHandle, do(b.Placement, s, func(o *library.Placement) error { return second(o.Select(sized(1, s))) }))
	requireCode(t, device.CodeNotFound, second(at(b.Placement, s).Select(library.PlacementRequest{
		Request: placement.Request{SizeBytes: 1}, Devices: []uint64{},
	})))
	wrong := sized(1)
	wrong.Preferred = []uint64{7}
	requireCode(t, device.CodeInvalidHandle, do(b.Placement, s, func(o *library.Placement) error { return second(o.ExplainJSON(wrong)) }))
	wrong = sized(1)
	wrong.Profile = 9
	requireCode(t, device.CodeInvalidArgument, second(at(b.Placement, s).Select(wrong)))
	require.NoError(t, at(b.Device, dev).Close(false))
	requireCode(t, device.CodeBusy, b.Shutdown(false))
	require.Equal(t, map[string]int{"placement": 1}, b.leaks().kinds())
}

// With three host devices round robin rotates, and skips a device that is full.
func TestPlacementOverThreeHostDevices(t *testing.T) {
	l := startHost(t, map[string]string{"FERRUM_HOST_DEVICES": "3", "FERRUM_HOST_MEMORY": "96MiB"})
	var devices []uint64
	for _, id := range []string{"cpu:0", "cpu:1", "cpu:2"} {
		dev, err := l.DeviceOpen(id)
		require.NoError(t, err)
		devices = append(devices, dev)
	}
	s, err := l.PlacementCreate(placement.RoundRobin)
	require.NoError(t, err)
	next := func() uint64 {
		chosen, err := at(l.Placement, s).Select(sized(8 << 20))
		require.NoError(t, err)
		return chosen
	}
	require.Equal(t, devices, []uint64{next(), next(), next()})
	p, err := l.PoolCreate(devices[0], smallPool())
	require.NoError(t, err)
	_, err = l.PoolAlloc(p, 28<<20, 0)
	require.NoError(t, err)
	require.Equal(t, []uint64{devices[1], devices[2], devices[1]}, []uint64{next(), next(), next()})
}
