// Code generated from include/ferrum_mem.h; DO NOT EDIT.

package device

// Code is the kind of an error: a status of the C ABI.
type Code int32

// The codes of the status table in include/ferrum_mem.h.
const (
	CodeOK                  Code = 0   // success
	CodeInternal            Code = -1  // a defect of the library
	CodePoisoned            Code = -2  // the library stopped after a defect
	CodeForked              Code = -3  // called in a forked child
	CodeNotInitialized      Code = -4  // ferrum_init has not been called
	CodeInvalidState        Code = -5  // not possible in the present state
	CodeNullPointer         Code = -6  // a required pointer is NULL
	CodeInvalidHandle       Code = -7  // not a live handle of this kind
	CodeInvalidArgument     Code = -8  // an argument has no meaning
	CodeInvalidSize         Code = -9  // a size is zero or not possible
	CodeInvalidAlignment    Code = -10 // an alignment is not a power of two, or is out of bounds
	CodeInvalidStruct       Code = -11 // a struct's size, reserved field or tail is wrong
	CodeInvalidOffset       Code = -12 // an offset or range is out of bounds
	CodeInvalidAddress      Code = -13 // not the address of a live block
	CodeInvalidConfig       Code = -14 // a configuration contradicts itself
	CodeInvalidFormat       Code = -15 // input is malformed
	CodeOverflow            Code = -16 // arithmetic on the arguments overflows
	CodeBufferTooSmall      Code = -17 // the caller's buffer is too small
	CodeOutOfMemory         Code = -18 // not enough memory
	CodeOutOfVirtualMemory  Code = -19 // not enough address space
	CodeOutOfPhysicalMemory Code = -20 // not enough physical memory under the limit
	CodeResourceExhausted   Code = -21 // a resource other than memory is used up
	CodeDoubleFree          Code = -22 // the block is free already
	CodeBusy                Code = -23 // in use
	CodeTimeout             Code = -24 // not done in time
	CodeCancelled           Code = -25 // cancelled
	CodeNotFound            Code = -26 // not found
	CodeAlreadyExists       Code = -27 // exists already
	CodeDeviceNotFound      Code = -28 // no such device
	CodeBackendUnavailable  Code = -29 // the backend cannot be used here
	CodeUnsupported         Code = -30 // the device or build lacks this capability
	CodeUnsupportedDevice   Code = -31 // the device is of the wrong kind for this
	CodeDevice              Code = -32 // the device's runtime reported an error
	CodeDeviceLost          Code = -33 // the device is lost
	CodeMappingFailed       Code = -34 // mapping memory failed
	CodeUnmappingFailed     Code = -35 // unmapping memory failed
	CodeAlreadyMapped       Code = -36 // mapped already
	CodeNotMapped           Code = -37 // not mapped
	CodeInvalidPageSize     Code = -38 // not a page size of this device
	CodeModelNotFound       Code = -39 // no such model
	CodeModelAlreadyExists  Code = -40 // the model exists already
	CodeModel               Code = -41 // the model cannot be used
	CodeIO                  Code = -42 // reading or writing failed
	CodePermissionDenied    Code = -43 // not permitted
	CodeNetwork             Code = -44 // the network failed
	CodeAuthentication      Code = -45 // not authenticated
	CodeRateLimited         Code = -46 // called too often
	CodeSerialization       Code = -47 // a value cannot be written or read as text
	CodeCorrupted           Code = -48 // bytes beside a block, or of a freed block, were overwritten
)

// String is the public name of the status, such as FERRUM_ERROR_BUSY.
func (c Code) String() string {
	switch c {
	case CodeOK:
		return "FERRUM_OK"
	case CodeInternal:
		return "FERRUM_ERROR_INTERNAL"
	case CodePoisoned:
		return "FERRUM_ERROR_POISONED"
	case CodeForked:
		return "FERRUM_ERROR_FORKED"
	case CodeNotInitialized:
		return "FERRUM_ERROR_NOT_INITIALIZED"
	case CodeInvalidState:
		return "FERRUM_ERROR_INVALID_STATE"
	case CodeNullPointer:
		return "FERRUM_ERROR_NULL_POINTER"
	case CodeInvalidHandle:
		return "FERRUM_ERROR_INVALID_HANDLE"
	case CodeInvalidArgument:
		return "FERRUM_ERROR_INVALID_ARGUMENT"
	case CodeInvalidSize:
		return "FERRUM_ERROR_INVALID_SIZE"
	case CodeInvalidAlignment:
		return "FERRUM_ERROR_INVALID_ALIGNMENT"
	case CodeInvalidStruct:
		return "FERRUM_ERROR_INVALID_STRUCT"
	case CodeInvalidOffset:
		return "FERRUM_ERROR_INVALID_OFFSET"
	case CodeInvalidAddress:
		return "FERRUM_ERROR_INVALID_ADDRESS"
	case CodeInvalidConfig:
		return "FERRUM_ERROR_INVALID_CONFIG"
	case CodeInvalidFormat:
		return "FERRUM_ERROR_INVALID_FORMAT"
	case CodeOverflow:
		return "FERRUM_ERROR_OVERFLOW"
	case CodeBufferTooSmall:
		return "FERRUM_ERROR_BUFFER_TOO_SMALL"
	case CodeOutOfMemory:
		return "FERRUM_ERROR_OUT_OF_MEMORY"
	case CodeOutOfVirtualMemory:
		return "FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY"
	case CodeOutOfPhysicalMemory:
		return "FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY"
	case CodeResourceExhausted:
		return "FERRUM_ERROR_RESOURCE_EXHAUSTED"
	case CodeDoubleFree:
		return "FERRUM_ERROR_DOUBLE_FREE"
	case CodeBusy:
		return "FERRUM_ERROR_BUSY"
	case CodeTimeout:
		return "FERRUM_ERROR_TIMEOUT"
	case CodeCancelled:
		return "FERRUM_ERROR_CANCELLED"
	case CodeNotFound:
		return "FERRUM_ERROR_NOT_FOUND"
	case CodeAlreadyExists:
		return "FERRUM_ERROR_ALREADY_EXISTS"
	case CodeDeviceNotFound:
		return "FERRUM_ERROR_DEVICE_NOT_FOUND"
	case CodeBackendUnavailable:
		return "FERRUM_ERROR_BACKEND_UNAVAILABLE"
	case CodeUnsupported:
		return "FERRUM_ERROR_UNSUPPORTED"
	case CodeUnsupportedDevice:
		return "FERRUM_ERROR_UNSUPPORTED_DEVICE"
	case CodeDevice:
		return "FERRUM_ERROR_DEVICE"
	case CodeDeviceLost:
		return "FERRUM_ERROR_DEVICE_LOST"
	case CodeMappingFailed:
		return "FERRUM_ERROR_MAPPING_FAILED"
	case CodeUnmappingFailed:
		return "FERRUM_ERROR_UNMAPPING_FAILED"
	case CodeAlreadyMapped:
		return "FERRUM_ERROR_ALREADY_MAPPED"
	case CodeNotMapped:
		return "FERRUM_ERROR_NOT_MAPPED"
	case CodeInvalidPageSize:
		return "FERRUM_ERROR_INVALID_PAGE_SIZE"
	case CodeModelNotFound:
		return "FERRUM_ERROR_MODEL_NOT_FOUND"
	case CodeModelAlreadyExists:
		return "FERRUM_ERROR_MODEL_ALREADY_EXISTS"
	case CodeModel:
		return "FERRUM_ERROR_MODEL"
	case CodeIO:
		return "FERRUM_ERROR_IO"
	case CodePermissionDenied:
		return "FERRUM_ERROR_PERMISSION_DENIED"
	case CodeNetwork:
		return "FERRUM_ERROR_NETWORK"
	case CodeAuthentication:
		return "FERRUM_ERROR_AUTHENTICATION"
	case CodeRateLimited:
		return "FERRUM_ERROR_RATE_LIMITED"
	case CodeSerialization:
		return "FERRUM_ERROR_SERIALIZATION"
	case CodeCorrupted:
		return "FERRUM_ERROR_CORRUPTED"
	}
	return "FERRUM_ERROR_UNKNOWN"
}
