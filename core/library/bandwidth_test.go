package library_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
)

// heldDriver opens devices that create no stream before the test allows it.
type heldDriver struct {
	*watchedDriver
	entered, goOn chan struct{}
}

type heldDevice struct {
	device.Device
	driver *heldDriver
}

func (d *heldDriver) Open(index int) (device.Device, error) {
	opened, err := d.watchedDriver.Open(index)
	return &heldDevice{opened, d}, err
}

func (d *heldDevice) NewStream() (device.Stream, error) {
	close(d.driver.entered)
	<-d.driver.goOn
	return d.Device.NewStream()
}

// A measurement holds segments and a stream without handles: a forced stop waits for
// their end and does not fail because of them.
func TestForcedStopWaitsForAMeasurement(t *testing.T) {
	held := &heldDriver{entered: make(chan struct{}), goOn: make(chan struct{})}
	b := newBench(t, func(o *library.Options) {
		o.Drivers = func(library.Settings) ([]device.Driver, error) { return []device.Driver{held}, nil }
	})
	held.watchedDriver = b.driver
	require.NoError(t, b.Init(nil))
	dev := b.open("test:0")
	measured := device.Go("measure", func() {
		gbps, err := at(b.Device, dev).MeasureBandwidth()
		require.NoError(t, err)
		require.Positive(t, gbps)
	})
	<-held.entered
	err := at(b.Device, dev).Close(false)
	requireCode(t, device.CodeBusy, err)
	require.ErrorContains(t, err, "still in use: 1 unfinished call")
	stopped := device.Go("stop", func() { require.NoError(t, b.Shutdown(true)) })
	for {
		if err := do(b.Device, dev, func(o *library.Device) error { o.Info(); return nil }); device.CodeOf(err) == device.CodeNotInitialized {
			break
		}
	}
	close(held.goOn)
	<-measured
	<-stopped
	require.Zero(t, b.device(0).Segments())
	require.Zero(t, b.device(0).OpenStreams())
}
