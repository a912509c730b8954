package cuda

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The layouts, numbers and names that are used here are those of the vendor's header:
// a compiler says so.
func TestHeaderAgrees(t *testing.T) {
	headers, err := filepath.Glob("../../build/venv/lib/python3*/site-packages/nvidia/cuda_runtime/include")
	require.NoError(t, err)
	compiler, missing := exec.LookPath("cc")
	if len(headers) == 0 || missing != nil {
		t.Skip("the vendor's header (wheel nvidia-cuda-runtime-cu12) or a C compiler is not there")
	}
	var text strings.Builder
	text.WriteString("#define __CUDA_API_VERSION_INTERNAL 1\n#include <cuda.h>\n#include <stddef.h>\n")
	for expression, value := range map[string]uintptr{
		"sizeof(CUmemAllocationProp)":                             unsafe.Sizeof(pageProperties{}),
		"offsetof(CUmemAllocationProp, type)":                     unsafe.Offsetof(pageProperties{}.kind),
		"offsetof(CUmemAllocationProp, location)":                 unsafe.Offsetof(pageProperties{}.location),
		"sizeof(CUmemLocation)":                                   unsafe.Sizeof(location{}),
		"offsetof(CUmemLocation, id)":                             unsafe.Offsetof(location{}.id),
		"sizeof(CUmemAccessDesc)":                                 unsafe.Sizeof(accessDescription{}),
		"offsetof(CUmemAccessDesc, flags)":                        unsafe.Offsetof(accessDescription{}.access),
		"sizeof(CUuuid)":                                          16,
		"CU_MEM_ALLOCATION_TYPE_PINNED":                           allocationPinned,
		"CU_MEM_LOCATION_TYPE_DEVICE":                             locationDevice,
		"CU_MEM_ACCESS_FLAGS_PROT_NONE":                           accessNone,
		"CU_MEM_ACCESS_FLAGS_PROT_READ":                           accessRead,
		"CU_MEM_ACCESS_FLAGS_PROT_READWRITE":                      accessReadWrite,
		"CU_MEM_ALLOC_GRANULARITY_MINIMUM":                        granularityMinimum,
		"CU_MEM_ALLOC_GRANULARITY_RECOMMENDED":                    granularityRecommended,
		"CU_MEMORYTYPE_DEVICE":                                    memoryTypeDevice,
		"CU_POINTER_ATTRIBUTE_MEMORY_TYPE":                        pointerMemoryType,
		"CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL":                     pointerOrdinal,
		"CU_POINTER_ATTRIBUTE_RANGE_START_ADDR":                   pointerRangeStart,
		"CU_POINTER_ATTRIBUTE_RANGE_SIZE":                         pointerRangeSize,
		"CU_STREAM_NON_BLOCKING":                                  streamNonBlocking,
		"CU_EVENT_BLOCKING_SYNC":                                  eventBlockingSync,
		"CU_EVENT_DISABLE_TIMING":                                 eventDisableTiming,
		"CU_MEMHOSTALLOC_PORTABLE":                                hostPortable,
		"CU_MEMHOSTALLOC_DEVICEMAP":                               hostDeviceMap,
		"CU_STREAM_CAPTURE_MODE_RELAXED":                          captureRelaxed,
		"CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED": attributeVirtual,
		"CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY":                 attributeMapHost,
		"CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED":              attributeOrdered,
		"CUDA_ERROR_INVALID_VALUE":                                resultInvalidValue,
		"CUDA_ERROR_OUT_OF_MEMORY":                                resultOutOfMemory,
		"CUDA_ERROR_DEINITIALIZED":                                resultDeinitialized,
		"CUDA_ERROR_STUB_LIBRARY":                                 resultStub,
		"CUDA_ERROR_DEVICE_UNAVAILABLE":                           resultUnavailable,
		"CUDA_ERROR_NO_DEVICE":                                    resultNoDevice,
		"CUDA_ERROR_INVALID_DEVICE":                               resultInvalidDevice,
		"CUDA_ERROR_INVALID_CONTEXT":                              resultInvalidContext,
		"CUDA_ERROR_ECC_UNCORRECTABLE":                            resultECC,
		"CUDA_ERROR_NVLINK_UNCORRECTABLE":                         resultNVLink,
		"CUDA_ERROR_CONTAINED":                                    resultContained,
		"CUDA_ERROR_INVALID_HANDLE":                               resultInvalidHandle,
		"CUDA_ERROR_NOT_READY":                                    resultNotReady,
		"CUDA_ERROR_ILLEGAL_ADDRESS":                              resultIllegalAddress,
		"CUDA_ERROR_LAUNCH_TIMEOUT":                               resultLaunchTimeout,
		"CUDA_ERROR_CONTEXT_IS_DESTROYED":                         resultContextDestroyed,
		"CUDA_ERROR_ASSERT":                                       resultAssert,
		"CUDA_ERROR_HARDWARE_STACK_ERROR":                         resultStackError,
		"CUDA_ERROR_LAUNCH_FAILED":                                resultLaunchFailed,
		"CUDA_ERROR_TENSOR_MEMORY_LEAK":                           resultTensorLeak,
		"CUDA_ERROR_EXTERNAL_DEVICE":                              resultExternalDevice,
		"CUDA_ERROR_NOT_PERMITTED":                                resultNotPermitted,
		"CUDA_ERROR_NOT_SUPPORTED":                                resultNotSupported,
		"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED":                   resultCaptureFirst,
		"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD":                  resultCaptureLast,
	} {
		fmt.Fprintf(&text, "_Static_assert(%s == %d, \"%s\");\n", expression, value, expression)
	}
	// A use of each name is enough: an implicit declaration is an error.
	for i, row := range new(api).table() {
		fmt.Fprintf(&text, "void *use_%d(void) { return (void *)&%s; }\n", i, row.Name)
	}
	check := exec.Command(compiler, "-x", "c", "-std=c11", "-fsyntax-only", "-Werror", "-isystem", headers[0], "-")
	check.Stdin = strings.NewReader(text.String())
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
