package cuda

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

// Numbers of CUresult that are looked at.
const (
	resultInvalidValue     = 1   // CUDA_ERROR_INVALID_VALUE
	resultOutOfMemory      = 2   // CUDA_ERROR_OUT_OF_MEMORY
	resultNotInitialized   = 3   // CUDA_ERROR_NOT_INITIALIZED
	resultDeinitialized    = 4   // CUDA_ERROR_DEINITIALIZED
	resultStub             = 34  // CUDA_ERROR_STUB_LIBRARY
	resultUnavailable      = 46  // CUDA_ERROR_DEVICE_UNAVAILABLE
	resultNoDevice         = 100 // CUDA_ERROR_NO_DEVICE
	resultInvalidDevice    = 101 // CUDA_ERROR_INVALID_DEVICE
	resultMapFailed        = 205 // CUDA_ERROR_MAP_FAILED
	resultOperatingSystem  = 304 // CUDA_ERROR_OPERATING_SYSTEM
	resultInvalidContext   = 201 // CUDA_ERROR_INVALID_CONTEXT
	resultNotLicensed      = 102 // CUDA_ERROR_DEVICE_NOT_LICENSED
	resultInvalidImage     = 200 // CUDA_ERROR_INVALID_IMAGE
	resultNoBinary         = 209 // CUDA_ERROR_NO_BINARY_FOR_GPU
	resultNoPeer           = 217 // CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
	resultInvalidPTX       = 218 // CUDA_ERROR_INVALID_PTX
	resultNoTranslator     = 221 // CUDA_ERROR_JIT_COMPILER_NOT_FOUND
	resultNewerPTX         = 222 // CUDA_ERROR_UNSUPPORTED_PTX_VERSION
	resultNoTranslation    = 223 // CUDA_ERROR_JIT_COMPILATION_DISABLED
	resultNotFound         = 500 // CUDA_ERROR_NOT_FOUND
	resultLaunchResources  = 701 // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
	resultECC              = 214 // CUDA_ERROR_ECC_UNCORRECTABLE
	resultNVLink           = 220 // CUDA_ERROR_NVLINK_UNCORRECTABLE
	resultContained        = 226 // CUDA_ERROR_CONTAINED
	resultInvalidHandle    = 400 // CUDA_ERROR_INVALID_HANDLE
	resultNotReady         = 600 // CUDA_ERROR_NOT_READY
	resultIllegalAddress   = 700 // CUDA_ERROR_ILLEGAL_ADDRESS
	resultLaunchTimeout    = 702 // CUDA_ERROR_LAUNCH_TIMEOUT
	resultContextDestroyed = 709 // CUDA_ERROR_CONTEXT_IS_DESTROYED
	resultAssert           = 710 // CUDA_ERROR_ASSERT
	resultStackError       = 714 // CUDA_ERROR_HARDWARE_STACK_ERROR
	resultLaunchFailed     = 719 // CUDA_ERROR_LAUNCH_FAILED
	resultTensorLeak       = 721 // CUDA_ERROR_TENSOR_MEMORY_LEAK
	resultPeerEnabled      = 704 // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
	resultTooManyPeers     = 711 // CUDA_ERROR_TOO_MANY_PEERS
	resultHostRegistered   = 712 // CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
	resultNotPermitted     = 800 // CUDA_ERROR_NOT_PERMITTED
	resultNotSupported     = 801 // CUDA_ERROR_NOT_SUPPORTED
	resultNotReadySystem   = 802 // CUDA_ERROR_SYSTEM_NOT_READY
	resultMPSNotReady      = 807 // CUDA_ERROR_MPS_SERVER_NOT_READY
	resultMPSClients       = 808 // CUDA_ERROR_MPS_MAX_CLIENTS_REACHED
	resultMPSConnections   = 809 // CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED
	resultMPSTerminated    = 810 // CUDA_ERROR_MPS_CLIENT_TERMINATED
	resultCaptureFirst     = 900 // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
	resultCaptureImplicit  = 906 // CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
	resultCaptureLast      = 908 // CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
	resultTimeout          = 909 // CUDA_ERROR_TIMEOUT
	resultExternalDevice   = 911 // CUDA_ERROR_EXTERNAL_DEVICE
)

// resultStreamDetached is CUDA_ERROR_STREAM_DETACHED of the header 13.5; the one of 12.9
// does not have it yet.
var resultStreamDetached int32 = 917

// codeOf is what a number means to callers, as the header's comment on it says. A number
// of a context or handle that is gone is CodeInvalidState: whether it is the device's own
// context is asked before it is called lost (openDevice.failure).
func codeOf(number int32) device.Code {
	switch {
	case number == resultOutOfMemory:
		return device.CodeOutOfMemory
	case number == resultStub, number == resultUnavailable, number == resultNotInitialized, number == resultNotLicensed,
		number >= resultNotReadySystem && number <= resultMPSNotReady:
		return device.CodeBackendUnavailable
	case number == resultNoDevice, number == resultInvalidDevice:
		return device.CodeDeviceNotFound
	case number == resultNotPermitted:
		return device.CodePermissionDenied
	case number == resultNotSupported, number == resultNoBinary, number == resultNoPeer,
		number >= resultNoTranslator && number <= resultNoTranslation:
		return device.CodeUnsupported
	case number == resultInvalidImage, number == resultInvalidPTX:
		return device.CodeInvalidFormat
	case number == resultNotFound:
		return device.CodeNotFound
	case number == resultTimeout:
		return device.CodeTimeout
	case number == resultLaunchResources, number == resultTooManyPeers, number == resultMPSClients, number == resultMPSConnections:
		return device.CodeResourceExhausted
	case number >= resultCaptureFirst && number <= resultCaptureLast, isStale(number):
		return device.CodeInvalidState
	case isFinal(number):
		return device.CodeDeviceLost
	}
	return device.CodeDevice
}

// isFinal says that the context of the device is of no use after this error: it was
// spoilt by work, or by the hardware. Of 226, 700, 702, 714 to 719, 721 and 911 the header
// says that the process is left in an inconsistent state and has to be ended, of 810 the
// same without the state, of 710 that the context cannot be used any more, and of 4 that
// the driver shuts down. Of 214 and 220 it says only that the error was uncorrectable; the
// vendor's guide to such errors (XID 48, 74) ends the program. Those of the 800s before 810
// are about starting, and what 201, 400 and 709 say is not always said of the device.
func isFinal(number int32) bool {
	switch number {
	case resultDeinitialized, resultECC, resultNVLink, resultContained, resultIllegalAddress, resultLaunchTimeout,
		resultAssert, resultTensorLeak, resultMPSTerminated, resultExternalDevice:
		return true
	}
	return number >= resultStackError && number <= resultLaunchFailed
}

// isStale says that something which a call was given is there no more: the device's
// context, or a stream, event or context of somebody else's. A stream is detached when the
// green context that it was made in is destroyed.
func isStale(number int32) bool {
	switch number {
	case resultInvalidContext, resultContextDestroyed, resultInvalidHandle, resultStreamDetached:
		return true
	}
	return false
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
