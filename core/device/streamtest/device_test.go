package streamtest_test

import (
	"os"
	"testing"

	"ferrum_mem/core/device/streamtest"
	"ferrum_mem/drivers/testdevice"
)

func TestMain(m *testing.M) { os.Exit(testdevice.Main(m, nil)) }

func TestOnDeviceStreamsConform(t *testing.T) {
	streamtest.Run(t, testdevice.OpenAll(t, testdevice.Count(t), 64<<20))
}
