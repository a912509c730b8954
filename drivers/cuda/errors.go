package cuda

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// The numbers of CUresult that the driver handles.
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
	resultUnknown          = 999 // CUDA_ERROR_UNKNOWN
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
	resultNotRegistered    = 713 // CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
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

// resultStreamDetached is CUDA_ERROR_STREAM_DETACHED of header 13.5. Header 12.9 does not
// have it.
var resultStreamDetached int32 = 917

// codeOf returns what a number means to callers, following the comment on the number in the
// header. A number about an ended context or handle is CodeInvalidState. Before the device
// is called lost, driverContext.failure checks whether the device's own context has ended.
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

// isFinal states whether the context of the device is unusable after this error, because of
// work or of the hardware. The header states for 226, 700, 702, 714 to 719, 721 and 911
// that the process is in an inconsistent state and must be ended. It states for 810 that
// the process must be ended, for 710 that the context cannot be used any more, and for 4
// that the driver shuts down. For 214 and 220 it states only that the error was
// uncorrectable; the vendor's guide to such errors (XID 48, 74) ends the program. The
// numbers from 800 to 809 are about starting. 201, 400 and 709 are not always about the
// device.
func isFinal(number int32) bool {
	switch number {
	case resultDeinitialized, resultECC, resultNVLink, resultContained, resultIllegalAddress, resultLaunchTimeout,
		resultAssert, resultTensorLeak, resultMPSTerminated, resultExternalDevice:
		return true
	}
	return number >= resultStackError && number <= resultLaunchFailed
}

// isStale states whether an argument of the call does not exist any more: the device's
// context, or an external stream, event or context. A stream is detached when its green
// context is destroyed.
func isStale(number int32) bool {
	switch number {
	case resultInvalidContext, resultContextDestroyed, resultInvalidHandle, resultStreamDetached:
		return true
	}
	return false
}

// describe formats a number as the vendor driver does: name, number and text.
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

// refused returns the error of a failed call of the vendor driver, without a device.
func (a *api) refused(op string, call *dl.Function, number int32) *device.Error {
	return device.Errorf(codeOf(number), op, "%s gave %s", call.Name, a.describe(number)).WithNative(int64(number))
}
