/* The names and the texts of the errors. */
#include "internal.h"

static const struct {
    CUresult code;
    const char *name, *text;
} errors[] = {
#define ERROR(code, text) {code, #code, text}
    ERROR(CUDA_SUCCESS, "no error"),
    ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    ERROR(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
    ERROR(CUDA_ERROR_DEVICE_UNAVAILABLE,
          "CUDA-capable device(s) is/are busy or unavailable"),
    ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    ERROR(CUDA_ERROR_MAP_FAILED, "mapping of buffer object failed"),
    ERROR(CUDA_ERROR_UNMAP_FAILED, "unmapping of buffer object failed"),
    ERROR(CUDA_ERROR_ALREADY_MAPPED, "resource already mapped"),
    ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU,
          "no kernel image is available for execution on the device"),
    ERROR(CUDA_ERROR_NOT_MAPPED, "resource not mapped"),
    ERROR(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
    ERROR(CUDA_ERROR_UNSUPPORTED_LIMIT,
          "limit is not supported on this architecture"),
    ERROR(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
          "peer access is not supported between these two devices"),
    ERROR(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    ERROR(CUDA_ERROR_NVLINK_UNCORRECTABLE,
          "uncorrectable NVLink error detected during the execution"),
    ERROR(CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
          "PTX JIT compiler library not found"),
    ERROR(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
          "the provided PTX was compiled with an unsupported toolchain."),
    ERROR(CUDA_ERROR_JIT_COMPILATION_DISABLED,
          "PTX JIT compilation was disabled"),
    ERROR(CUDA_ERROR_CONTAINED, "Invalid access of peer GPU memory over nvlink "
                                "or a hardware error"),
    ERROR(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not "
                                       "supported on this OS"),
    ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    ERROR(CUDA_ERROR_ILLEGAL_STATE,
          "the operation cannot be performed in the present state"),
    ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    ERROR(CUDA_ERROR_ILLEGAL_ADDRESS,
          "an illegal memory access was encountered"),
    ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
          "too many resources requested for launch"),
    ERROR(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    ERROR(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
          "peer access is already enabled"),
    ERROR(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
          "peer access has not been enabled"),
    ERROR(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,
          "cannot set while device is active in this process"),
    ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    ERROR(CUDA_ERROR_ASSERT, "device-side assert triggered"),
    ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
          "part or all of the requested memory range is already mapped"),
    ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
          "pointer does not correspond to a registered memory region"),
    ERROR(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    ERROR(CUDA_ERROR_ILLEGAL_INSTRUCTION,
          "an illegal instruction was encountered"),
    ERROR(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    ERROR(CUDA_ERROR_INVALID_ADDRESS_SPACE,
          "operation not supported on global/shared address space"),
    ERROR(CUDA_ERROR_INVALID_PC, "invalid program counter"),
    ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    ERROR(CUDA_ERROR_TENSOR_MEMORY_LEAK, "tensor memory not completely freed"),
    ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    ERROR(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
    ERROR(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
          "system has unsupported display driver / cuda driver combination"),
    ERROR(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
          "forward compatibility was attempted on non supported HW"),
    ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
          "operation not permitted when stream is capturing"),
    ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
          "operation failed due to a previous error during capture"),
    ERROR(CUDA_ERROR_STREAM_CAPTURE_MERGE,
          "operation would result in a merge of separate capture sequences"),
    ERROR(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
          "capture was not ended in the same stream as it began"),
    ERROR(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
          "capturing stream has unjoined work"),
    ERROR(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
          "dependency created on uncaptured work in another stream"),
    ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
          "operation would make the legacy stream depend on a capturing "
          "blocking stream"),
    ERROR(CUDA_ERROR_CAPTURED_EVENT,
          "operation not permitted on an event last recorded in a capturing "
          "stream"),
    ERROR(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
          "attempt to terminate a thread-local capture sequence from another "
          "thread"),
    ERROR(CUDA_ERROR_TIMEOUT, "wait operation timed out"),
    ERROR(CUDA_ERROR_EXTERNAL_DEVICE,
          "an async error has occurred in external entity outside of CUDA"),
    ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
};

static CUresult look_up(CUresult code, const char **out, bool text) {
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) {
            *out = text ? errors[i].text : errors[i].name;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

/* These two functions are not counted as calls. They never fail on request
 * and need no state. */
CUresult cuGetErrorName(CUresult error, const char **out) {
    return look_up(error, out, false);
}

CUresult cuGetErrorString(CUresult error, const char **out) {
    return look_up(error, out, true);
}
