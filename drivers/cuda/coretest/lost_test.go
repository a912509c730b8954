package coretest

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// A device is lost in the middle of an operation, because a call fails or because queued
// work fails later. From then on every call that needs the device reports the loss with its
// first cause. No call waits. Everything can be closed, and the counters are then zero. The
// other device still works.
func TestDeviceIsLostAtEveryCall(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			everyCall(t, p, failing, resultLaunchFailed, func(r *rig, what string) {
				goOn(t, p, r, what, resultLaunchFailed)
			})
			everyCall(t, p, []string{"async"}, resultIllegalAddress, func(r *rig, what string) {
				goOn(t, p, r, what, resultIllegalAddress)
			})
		})
	}
}

// goOn runs a whole program. After one step has reported the lost device, a step that uses
// the device may return no other error. Steps that lack an earlier step are exempt.
func goOn(t *testing.T, p program, r *rig, what string, number int32) {
	lost := false
	for _, one := range p.steps(r) {
		err := one.do()
		r.counters(t, what)
		if err == nil || lost && lacksAnEarlierStep(err) {
			continue
		}
		require.Equal(t, device.CodeDeviceLost, device.CodeOf(err), "%s, %s: %v", what, one.name, err)
		require.EqualValues(t, number, nativeOf(err), "%s, %s: %v", what, one.name, err)
		require.False(t, ends[one.name], "%s, %s: %v", what, one.name, err)
		lost = true
	}
	if lost {
		requireLost(t, r, what, number)
	}
}

// lacksAnEarlierStep states whether a step could not run because an earlier one failed.
func lacksAnEarlierStep(err error) bool {
	switch device.CodeOf(err) {
	case device.CodeInvalidState, device.CodeBusy, device.CodeNotFound, device.CodeAlreadyMapped,
		device.CodeOutOfPhysicalMemory:
		return nativeOf(err) == 0
	}
	return false
}

// requireLost requires that one of the two devices is lost and that the other one works.
func requireLost(t *testing.T, r *rig, what string, number int32) {
	lost := 0
	for _, dev := range r.devices[:2] {
		_, err := dev.Memory()
		if err != nil {
			lost++
			require.Equal(t, device.CodeDeviceLost, device.CodeOf(err), "%s: %v", what, err)
			require.EqualValues(t, number, nativeOf(err), "%s: %v", what, err)
			_, err = dev.Alloc(page)
			require.Equal(t, device.CodeDeviceLost, device.CodeOf(err), "%s: %v", what, err)
			continue
		}
		addr, err := dev.Alloc(page)
		require.NoError(t, err, what)
		require.NoError(t, dev.DefaultStream().Fill(addr, device.Pattern{WidthBytes: 1}, page), what)
		require.NoError(t, dev.DefaultStream().Synchronize(device.Forever), what)
		require.NoError(t, dev.Free(addr, page), what)
	}
	require.Equal(t, 1, lost, what)
}

// The program resets the device's primary context between two steps. The requirements are
// the same as in TestDeviceIsLostAtEveryCall.
func TestContextIsResetAtEveryStep(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			for at := 0; ; at++ {
				r := openRig(t)
				steps := p.steps(r)
				if at == len(steps) {
					r.close(t, p.name)
					return
				}
				lost := false
				for i, one := range steps {
					if i == at {
						require.Zero(t, r.sim.Call("cuDevicePrimaryCtxReset_v2", 0))
					}
					err := one.do()
					r.counters(t, one.name)
					if err == nil || lost && lacksAnEarlierStep(err) {
						continue
					}
					require.GreaterOrEqual(t, i, at, "%s: %v", one.name, err)
					if !lost {
						// The call that detected the loss used an object of the ended
						// context, which the simulator reports. No later call may do so.
						lost = true
						r.sim.Call("simcuda_clear_violations")
					}
					require.False(t, ends[one.name], "reset before %s, %s: %v", steps[at].name, one.name, err)
					require.Equal(t, device.CodeDeviceLost, device.CodeOf(err), "reset before %s, %s: %v", steps[at].name, one.name, err)
				}
				r.close(t, "reset before "+steps[at].name)
			}
		})
	}
}

// spoil makes a call of the program fail on a device in a way that makes its context
// unusable.
func (r *rig) spoil(t *testing.T, index uintptr) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var context uintptr
	defer runtime.KeepAlive(&context)
	require.Zero(t, r.sim.Call("cuDevicePrimaryCtxRetain", dl.Pointer(&context), index))
	require.Zero(t, r.sim.Call("cuCtxPushCurrent_v2", context))
	r.sim.Fault("cuCtxSynchronize", 1, resultIllegalAddress)
	require.EqualValues(t, resultIllegalAddress, r.sim.Call("cuCtxSynchronize"))
	require.Zero(t, r.sim.Call("cuCtxPopCurrent_v2", dl.Pointer(&context)))
	require.Zero(t, r.sim.Call("cuDevicePrimaryCtxRelease_v2", index))
}

// A call on one device returns the error of another device, whose loss was not known
// before. The other device then counts as lost. The first device does not.
func TestLossOfAnotherDeviceLosesOnlyThatDevice(t *testing.T) {
	for name, lose := range map[string]func(r *rig){
		"spoilt": func(r *rig) { r.spoil(t, 1) },
		"reset":  func(r *rig) { require.Zero(t, r.sim.Call("cuDevicePrimaryCtxReset_v2", 1)) },
	} {
		for what, use := range map[string]func(r *rig, e device.Event, from, to device.Addr) error{
			"event": func(r *rig, e device.Event, _, _ device.Addr) error { return r.devices[0].DefaultStream().WaitEvent(e) },
			"copy": func(r *rig, _ device.Event, from, to device.Addr) error {
				on := r.devices[0].DefaultStream()
				return r.devices[0].(device.Peer).CopyFromPeer(on, to, r.devices[1], from, page)
			},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				r := openRig(t)
				e, err := r.devices[1].DefaultStream().RecordEvent()
				require.NoError(t, err)
				from, err := r.devices[1].Alloc(page)
				require.NoError(t, err)
				to, err := r.devices[0].Alloc(page)
				require.NoError(t, err)
				lose(r)
				err = use(r, e, from, to)
				if err != nil {
					require.Equal(t, device.CodeDeviceLost, device.CodeOf(err), "%v", err)
					require.ErrorContains(t, err, "cuda:1: ")
				}
				_, err = r.devices[0].Memory()
				require.NoError(t, err)
				_, err = r.devices[1].Memory()
				require.Equal(t, device.CodeDeviceLost, device.CodeOf(err), "%v", err)
				require.NoError(t, e.Close())
				require.NoError(t, r.devices[1].Free(from, page))
				require.NoError(t, r.devices[0].Free(to, page))
				r.sim.Call("simcuda_clear_violations")
				r.close(t, what)
			})
		}
	}
}
