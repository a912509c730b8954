package coretest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// Values of CUresult.
const (
	resultOutOfMemory    = 2
	resultECC            = 214
	resultIllegalAddress = 700
	resultLaunchFailed   = 719
	resultUnknown        = 999
)

// failing are the functions of the vendor driver that the tests make fail. Functions that
// only set or query the current state are not listed: they cannot fail while the device
// exists.
var failing = []string{
	"cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemHostGetDevicePointer_v2", "cuMemFreeHost",
	"cuMemHostRegister_v2", "cuMemHostUnregister",
	"cuMemAddressReserve", "cuMemAddressFree", "cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap", "cuMemSetAccess",
	"cuMemGetInfo_v2", "cuMemcpyDtoDAsync_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyPeerAsync",
	"cuMemsetD8Async", "cuMemsetD32Async", "cuMemsetD2D32Async", "cuLaunchHostFunc", "cuStreamCreateWithPriority", "cuStreamDestroy_v2",
	"cuStreamQuery", "cuStreamSynchronize", "cuStreamWaitEvent", "cuEventCreate", "cuEventRecord", "cuEventQuery",
	"cuEventSynchronize", "cuCtxEnablePeerAccess", "cuModuleLoadDataEx", "cuLaunchKernel",
}

// taking are the functions of failing that fail on a device without free memory.
var taking = []string{
	"cuMemAlloc_v2", "cuMemHostAlloc", "cuMemHostRegister_v2", "cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemSetAccess",
	"cuStreamCreateWithPriority", "cuEventCreate", "cuCtxEnablePeerAccess",
}

// everyCall runs a program once for each call of each function, and makes that call fail
// with the CUresult number.
func everyCall(t *testing.T, p program, names []string, number int32, run func(r *rig, what string)) {
	for _, name := range names {
		for n := 1; ; n += devicetest.Step() {
			what := fmt.Sprintf("%s: call %d of %s", p.name, n, name)
			r := openRig(t)
			r.sim.Fault(name, n, number)
			run(r, what)
			happened := !r.sim.FaultIsLeft()
			r.sim.ClearFaults()
			r.close(t, what)
			if !happened {
				break
			}
			require.Less(t, n, 200, "%s: the program does not end", what)
		}
	}
}

// A call that fails once changes no counters and succeeds when it is repeated.
func TestEveryCallFailsOnce(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			for number, names := range map[int32][]string{resultUnknown: failing, resultOutOfMemory: taking} {
				everyCall(t, p, names, number, func(r *rig, what string) { onceAgain(t, p, r, what, number) })
			}
		})
	}
}

func onceAgain(t *testing.T, p program, r *rig, what string, number int32) {
	failed := 0
	for _, one := range p.steps(r) {
		before := r.counters(t, what)
		err := one.do()
		if err == nil {
			continue
		}
		failed++
		require.Equal(t, 1, failed, "%s, %s: %v", what, one.name, err)
		require.EqualValues(t, number, nativeOf(err), "%s, %s: %v", what, one.name, err)
		if !partly[one.name] {
			require.Equal(t, before, r.counters(t, what), "%s, %s: %v", what, one.name, err)
		}
		require.NoError(t, one.do(), "%s, %s, again after %v", what, one.name, err)
	}
}

// nativeOf returns the native code of an error, or 0 if there is none.
func nativeOf(err error) int64 {
	var typed *device.Error
	if !errors.As(err, &typed) {
		return 0
	}
	if typed.Native == 0 {
		return nativeOf(typed.Unwrap())
	}
	return typed.Native
}
