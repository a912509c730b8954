package cuda

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

// Numbers of CUresult that are looked at.
const (
	resultInvalidValue     = 1
	resultOutOfMemory      = 2
	resultDeinitialized    = 4
	resultStub             = 34
	resultUnavailable      = 46
	resultNoDevice         = 100
	resultInvalidDevice    = 101
	resultInvalidContext   = 201
	resultECC              = 214
	resultNVLink           = 220
	resultContained        = 226
	resultInvalidHandle    = 400
	resultNotReady         = 600
	resultIllegalAddress   = 700
	resultLaunchTimeout    = 702
	resultContextDestroyed = 709
	resultAssert           = 710
	resultStackError       = 714
	resultLaunchFailed     = 719
	resultTensorLeak       = 721
	resultNotPermitted     = 800
	resultNotSupported     = 801
	resultCaptureFirst     = 900
	resultCaptureLast      = 908
	resultExternalDevice   = 911
)

// codeOf is what a number means to callers.
func codeOf(number int32) device.Code {
	switch {
	case number == resultOutOfMemory:
		return device.CodeOutOfMemory
	case number == resultStub, number == resultUnavailable:
		return device.CodeBackendUnavailable
	case number == resultNoDevice, number == resultInvalidDevice:
		return device.CodeDeviceNotFound
	case number == resultNotPermitted:
		return device.CodePermissionDenied
	case number == resultNotSupported:
		return device.CodeUnsupported
	case number >= resultCaptureFirst && number <= resultCaptureLast:
		return device.CodeInvalidState
	case isFinal(number):
		return device.CodeDeviceLost
	}
	return device.CodeDevice
}

// isFinal says that the context of the device is of no use after this error: it was
// spoilt by work, or by the hardware, or is there no more.
func isFinal(number int32) bool {
	switch number {
	case resultDeinitialized, resultInvalidContext, resultECC, resultNVLink, resultContained,
		resultIllegalAddress, resultLaunchTimeout, resultContextDestroyed, resultAssert,
		resultTensorLeak, resultExternalDevice:
		return true
	}
	return number >= resultStackError && number <= resultLaunchFailed
}

// describe names a number as the driver does: its name, number and text.
func (a *api) describe(number int32) string {
	name, named := a.errorName.Text(uintptr(number))
	if !named {
		return fmt.Sprintf("error %d", number)
	}
	text, has := a.errorString.Text(uintptr(number))
	if !has {
		return fmt.Sprintf("%s (%d)", name, number)
	}
	return fmt.Sprintf("%s (%d: %s)", name, number, text)
}

// refused is the error of a call of the driver's library, without a device.
func (a *api) refused(op string, call *dl.Function, number int32) *device.Error {
	return device.Errorf(codeOf(number), op, "%s gave %s", call.Name, a.describe(number)).WithNative(int64(number))
}
