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
	resultDeinitialized    = 4   // CUDA_ERROR_DEINITIALIZED
	resultStub             = 34  // CUDA_ERROR_STUB_LIBRARY
	resultUnavailable      = 46  // CUDA_ERROR_DEVICE_UNAVAILABLE
	resultNoDevice         = 100 // CUDA_ERROR_NO_DEVICE
	resultInvalidDevice    = 101 // CUDA_ERROR_INVALID_DEVICE
	resultMapFailed        = 205 // CUDA_ERROR_MAP_FAILED
	resultOperatingSystem  = 304 // CUDA_ERROR_OPERATING_SYSTEM
	resultInvalidContext   = 201 // CUDA_ERROR_INVALID_CONTEXT
	resultInvalidImage     = 200 // CUDA_ERROR_INVALID_IMAGE
	resultNoBinary         = 209 // CUDA_ERROR_NO_BINARY_FOR_GPU
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
	resultHostRegistered   = 712 // CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
	resultNotPermitted     = 800 // CUDA_ERROR_NOT_PERMITTED
	resultNotSupported     = 801 // CUDA_ERROR_NOT_SUPPORTED
	resultCaptureFirst     = 900 // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
	resultCaptureImplicit  = 906 // CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
	resultCaptureLast      = 908 // CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
	resultExternalDevice   = 911 // CUDA_ERROR_EXTERNAL_DEVICE
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
	case number == resultNotSupported, number == resultNoBinary,
		number >= resultNoTranslator && number <= resultNoTranslation:
		return device.CodeUnsupported
	case number == resultInvalidImage, number == resultInvalidPTX:
		return device.CodeInvalidFormat
	case number == resultNotFound:
		return device.CodeNotFound
	case number == resultLaunchResources:
		return device.CodeResourceExhausted
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
