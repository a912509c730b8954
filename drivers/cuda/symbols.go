package cuda

import "ferrum_mem/drivers/internal/dl"

// Groups of functions that a driver may lack.
const (
	groupUUID2   = "uuid_v2"
	groupID      = "context_id"
	groupPinned  = "pinned"
	groupVirtual = "virtual"
	groupPeer    = "peer"
	groupHostFn  = "host_function"
	groupCapture = "capture"
	groupOrdered = "stream_ordered"
)

// api is the functions of the driver's library that are called here.
type api struct {
	initialize, driverVersion, errorName, errorString dl.Function

	deviceCount, deviceGet, deviceName, deviceTotal, deviceAttribute dl.Function
	deviceUUID, deviceUUID2, devicePCI                               dl.Function

	contextRetain, contextRelease, contextPush, contextPop, contextID dl.Function
	priorityRange, exchangeCapture                                    dl.Function

	memoryInfo, memoryAlloc, memoryFree dl.Function
	orderedAlloc, orderedFree           dl.Function
	hostAlloc, hostFree, hostPointer    dl.Function

	copyWithin, copyIn, copyOut, fill8, fill16, fill32 dl.Function
	canAccessPeer, copyPeer                            dl.Function

	streamCreate, streamDestroy, streamQuery, streamSynchronize, streamWait, hostFunction dl.Function

	streamContext, pointerAttribute dl.Function

	eventCreate, eventDestroy, eventRecord, eventQuery, eventSynchronize dl.Function

	reserve, unreserve, pageCreate, pageRelease, pageMap, pageUnmap, pageAccess, granularity dl.Function
}

// table is each function under the one name whose prototype is meant: the same name
// without its suffix is an older function with other arguments.
func (a *api) table() []dl.Row {
	return []dl.Row{
		{Name: "cuInit", To: &a.initialize},
		{Name: "cuDriverGetVersion", To: &a.driverVersion},
		{Name: "cuGetErrorName", To: &a.errorName},
		{Name: "cuGetErrorString", To: &a.errorString},
		{Name: "cuDeviceGetCount", To: &a.deviceCount},
		{Name: "cuDeviceGet", To: &a.deviceGet},
		{Name: "cuDeviceGetName", To: &a.deviceName},
		{Name: "cuDeviceTotalMem_v2", To: &a.deviceTotal},
		{Name: "cuDeviceGetAttribute", To: &a.deviceAttribute},
		{Name: "cuDeviceGetUuid", To: &a.deviceUUID},
		{Name: "cuDeviceGetUuid_v2", To: &a.deviceUUID2, Group: groupUUID2},
		{Name: "cuDeviceGetPCIBusId", To: &a.devicePCI},
		{Name: "cuDevicePrimaryCtxRetain", To: &a.contextRetain},
		{Name: "cuDevicePrimaryCtxRelease_v2", To: &a.contextRelease},
		{Name: "cuCtxPushCurrent_v2", To: &a.contextPush},
		{Name: "cuCtxPopCurrent_v2", To: &a.contextPop},
		{Name: "cuCtxGetId", To: &a.contextID, Group: groupID},
		{Name: "cuCtxGetStreamPriorityRange", To: &a.priorityRange},
		{Name: "cuThreadExchangeStreamCaptureMode", To: &a.exchangeCapture, Group: groupCapture},
		{Name: "cuMemGetInfo_v2", To: &a.memoryInfo},
		{Name: "cuMemAlloc_v2", To: &a.memoryAlloc},
		{Name: "cuMemFree_v2", To: &a.memoryFree},
		{Name: "cuMemAllocAsync", To: &a.orderedAlloc, Group: groupOrdered},
		{Name: "cuMemFreeAsync", To: &a.orderedFree, Group: groupOrdered},
		{Name: "cuMemHostAlloc", To: &a.hostAlloc, Group: groupPinned},
		{Name: "cuMemFreeHost", To: &a.hostFree, Group: groupPinned},
		{Name: "cuMemHostGetDevicePointer_v2", To: &a.hostPointer, Group: groupPinned},
		{Name: "cuMemcpyDtoDAsync_v2", To: &a.copyWithin},
		{Name: "cuMemcpyHtoDAsync_v2", To: &a.copyIn},
		{Name: "cuMemcpyDtoHAsync_v2", To: &a.copyOut},
		{Name: "cuMemsetD8Async", To: &a.fill8},
		{Name: "cuMemsetD16Async", To: &a.fill16},
		{Name: "cuMemsetD32Async", To: &a.fill32},
		{Name: "cuDeviceCanAccessPeer", To: &a.canAccessPeer, Group: groupPeer},
		{Name: "cuMemcpyPeerAsync", To: &a.copyPeer, Group: groupPeer},
		{Name: "cuStreamCreateWithPriority", To: &a.streamCreate},
		{Name: "cuStreamDestroy_v2", To: &a.streamDestroy},
		{Name: "cuStreamQuery", To: &a.streamQuery},
		{Name: "cuStreamSynchronize", To: &a.streamSynchronize},
		{Name: "cuStreamWaitEvent", To: &a.streamWait},
		{Name: "cuStreamGetCtx", To: &a.streamContext},
		{Name: "cuPointerGetAttribute", To: &a.pointerAttribute},
		{Name: "cuLaunchHostFunc", To: &a.hostFunction, Group: groupHostFn},
		{Name: "cuEventCreate", To: &a.eventCreate},
		{Name: "cuEventDestroy_v2", To: &a.eventDestroy},
		{Name: "cuEventRecord", To: &a.eventRecord},
		{Name: "cuEventQuery", To: &a.eventQuery},
		{Name: "cuEventSynchronize", To: &a.eventSynchronize},
		{Name: "cuMemAddressReserve", To: &a.reserve, Group: groupVirtual},
		{Name: "cuMemAddressFree", To: &a.unreserve, Group: groupVirtual},
		{Name: "cuMemCreate", To: &a.pageCreate, Group: groupVirtual},
		{Name: "cuMemRelease", To: &a.pageRelease, Group: groupVirtual},
		{Name: "cuMemMap", To: &a.pageMap, Group: groupVirtual},
		{Name: "cuMemUnmap", To: &a.pageUnmap, Group: groupVirtual},
		{Name: "cuMemSetAccess", To: &a.pageAccess, Group: groupVirtual},
		{Name: "cuMemGetAllocationGranularity", To: &a.granularity, Group: groupVirtual},
	}
}
