package cuda

import "ferrum_mem/internal/dl"

// api is the functions of the vendor driver that this package calls.
type api struct {
	sharingAPI
	memoryAPI

	initialize, driverVersion, errorName, errorString dl.Function

	deviceCount, deviceGet, deviceName, deviceTotal, deviceAttribute dl.Function
	deviceUUID, deviceUUID2, devicePCI                               dl.Function

	contextRetain, contextRelease, contextState, contextPush, contextPop, contextCurrent, contextID dl.Function
	contextSynchronize                                                                              dl.Function
	priorityRange, exchangeCapture, isCapturing, captureInfo, captureInfo3                          dl.Function

	memoryInfo, memoryAlloc, memoryFree dl.Function
	orderedAlloc, orderedFree           dl.Function
	hostAlloc, hostFree, hostPointer    dl.Function

	copyWithin, copyIn, copyOut, fill8, fill16, fill32, fillColumn32 dl.Function
	canAccessPeer, copyPeer                                          dl.Function

	streamCreate, streamDestroy, streamQuery, streamSynchronize, streamWait, hostFunction dl.Function

	streamContext, streamContext2, pointerAttribute dl.Function

	eventCreate, eventDestroy, eventRecord, eventQuery, eventSynchronize, eventElapsed, eventElapsed2 dl.Function

	moduleLoad, moduleUnload, moduleFunction, functionAttribute, launch dl.Function

	reserve, unreserve, pageCreate, pageRelease, pageMap, pageUnmap, pageAccess, granularity dl.Function
}

// table lists each function under the name that has the intended prototype. The same name
// without its suffix is an older function with other arguments.
func (a *api) table() []dl.Row {
	return append(append(a.sharingAPI.table(), a.memoryAPI.table()...), []dl.Row{
		{Name: "cuInit", To: &a.initialize, Since: 2000},
		{Name: "cuDriverGetVersion", To: &a.driverVersion, Since: 2020},
		{Name: "cuGetErrorName", To: &a.errorName, Since: 6000},
		{Name: "cuGetErrorString", To: &a.errorString, Since: 6000},
		{Name: "cuDeviceGetCount", To: &a.deviceCount, Since: 2000},
		{Name: "cuDeviceGet", To: &a.deviceGet, Since: 2000},
		{Name: "cuDeviceGetName", To: &a.deviceName, Since: 2000},
		{Name: "cuDeviceTotalMem_v2", To: &a.deviceTotal, Since: 3020},
		{Name: "cuDeviceGetAttribute", To: &a.deviceAttribute, Since: 2000},
		{Name: "cuDeviceGetUuid", To: &a.deviceUUID, Since: 9020, Group: groupUUID},
		{Name: "cuDeviceGetUuid_v2", To: &a.deviceUUID2, Since: 11040, Group: groupUUID2},
		{Name: "cuDeviceGetPCIBusId", To: &a.devicePCI, Since: 4010},
		{Name: "cuDevicePrimaryCtxRetain", To: &a.contextRetain, Since: 7000},
		{Name: "cuDevicePrimaryCtxRelease_v2", To: &a.contextRelease, Since: 11000},
		{Name: "cuDevicePrimaryCtxGetState", To: &a.contextState, Since: 7000},
		{Name: "cuCtxPushCurrent_v2", To: &a.contextPush, Since: 4000},
		{Name: "cuCtxPopCurrent_v2", To: &a.contextPop, Since: 4000},
		{Name: "cuCtxGetCurrent", To: &a.contextCurrent, Since: 4000},
		{Name: "cuCtxGetId", To: &a.contextID, Since: 12000, Group: groupID},
		{Name: "cuCtxSynchronize", To: &a.contextSynchronize, Since: 2000},
		{Name: "cuCtxGetStreamPriorityRange", To: &a.priorityRange, Since: 5050},
		{Name: "cuThreadExchangeStreamCaptureMode", To: &a.exchangeCapture, Since: 10010, Group: groupCapture},
		{Name: "cuStreamIsCapturing", To: &a.isCapturing, Since: 10000, Group: groupCapture},
		{Name: "cuStreamGetCaptureInfo_v2", To: &a.captureInfo, Since: 11030, Group: groupCaptureInfo},
		{Name: "cuStreamGetCaptureInfo_v3", To: &a.captureInfo3, Since: 12030, Group: groupCaptureInfo3},
		{Name: "cuMemGetInfo_v2", To: &a.memoryInfo, Since: 3020},
		{Name: "cuMemAlloc_v2", To: &a.memoryAlloc, Since: 3020},
		{Name: "cuMemFree_v2", To: &a.memoryFree, Since: 3020},
		{Name: "cuMemAllocAsync", To: &a.orderedAlloc, Since: 11020, Group: groupOrdered},
		{Name: "cuMemFreeAsync", To: &a.orderedFree, Since: 11020, Group: groupOrdered},
		{Name: "cuMemHostAlloc", To: &a.hostAlloc, Since: 2020, Group: groupPinned},
		{Name: "cuMemFreeHost", To: &a.hostFree, Since: 2000, Group: groupPinned},
		{Name: "cuMemHostGetDevicePointer_v2", To: &a.hostPointer, Since: 3020, Group: groupPinned},
		{Name: "cuMemcpyDtoDAsync_v2", To: &a.copyWithin, Since: 3020},
		{Name: "cuMemcpyHtoDAsync_v2", To: &a.copyIn, Since: 3020},
		{Name: "cuMemcpyDtoHAsync_v2", To: &a.copyOut, Since: 3020},
		{Name: "cuMemsetD8Async", To: &a.fill8, Since: 3020},
		{Name: "cuMemsetD16Async", To: &a.fill16, Since: 3020},
		{Name: "cuMemsetD32Async", To: &a.fill32, Since: 3020},
		{Name: "cuMemsetD2D32Async", To: &a.fillColumn32, Since: 3020},
		{Name: "cuDeviceCanAccessPeer", To: &a.canAccessPeer, Since: 4000, Group: groupPeer},
		{Name: "cuMemcpyPeerAsync", To: &a.copyPeer, Since: 4000, Group: groupPeer},
		{Name: "cuStreamCreateWithPriority", To: &a.streamCreate, Since: 5050},
		{Name: "cuStreamDestroy_v2", To: &a.streamDestroy, Since: 4000},
		{Name: "cuStreamQuery", To: &a.streamQuery, Since: 2000},
		{Name: "cuStreamSynchronize", To: &a.streamSynchronize, Since: 2000},
		{Name: "cuStreamWaitEvent", To: &a.streamWait, Since: 3020},
		{Name: "cuStreamGetCtx", To: &a.streamContext, Since: 9020},
		{Name: "cuStreamGetCtx_v2", To: &a.streamContext2, Since: 12050, Group: groupGreen},
		{Name: "cuPointerGetAttribute", To: &a.pointerAttribute, Since: 4000},
		{Name: "cuLaunchHostFunc", To: &a.hostFunction, Since: 10000, Group: groupHostFn},
		{Name: "cuEventCreate", To: &a.eventCreate, Since: 2000},
		{Name: "cuEventDestroy_v2", To: &a.eventDestroy, Since: 4000},
		{Name: "cuEventRecord", To: &a.eventRecord, Since: 2000},
		{Name: "cuEventQuery", To: &a.eventQuery, Since: 2000},
		{Name: "cuEventSynchronize", To: &a.eventSynchronize, Since: 2000},
		{Name: "cuEventElapsedTime", To: &a.eventElapsed, Since: 2000, Group: groupTimes},
		{Name: "cuEventElapsedTime_v2", To: &a.eventElapsed2, Since: 12080, Group: groupTimes2},
		{Name: "cuModuleLoadDataEx", To: &a.moduleLoad, Since: 2010, Group: groupKernels},
		{Name: "cuModuleUnload", To: &a.moduleUnload, Since: 2000, Group: groupKernels},
		{Name: "cuModuleGetFunction", To: &a.moduleFunction, Since: 2000, Group: groupKernels},
		{Name: "cuFuncGetAttribute", To: &a.functionAttribute, Since: 2020, Group: groupKernels},
		{Name: "cuLaunchKernel", To: &a.launch, Since: 4000, Group: groupKernels},
		{Name: "cuMemAddressReserve", To: &a.reserve, Since: 10020, Group: groupVirtual},
		{Name: "cuMemAddressFree", To: &a.unreserve, Since: 10020, Group: groupVirtual},
		{Name: "cuMemCreate", To: &a.pageCreate, Since: 10020, Group: groupVirtual},
		{Name: "cuMemRelease", To: &a.pageRelease, Since: 10020, Group: groupVirtual},
		{Name: "cuMemMap", To: &a.pageMap, Since: 10020, Group: groupVirtual},
		{Name: "cuMemUnmap", To: &a.pageUnmap, Since: 10020, Group: groupVirtual},
		{Name: "cuMemSetAccess", To: &a.pageAccess, Since: 10020, Group: groupVirtual},
		{Name: "cuMemGetAllocationGranularity", To: &a.granularity, Since: 10020, Group: groupVirtual},
	}...)
}

// either returns wanted if the library has it, and else other, which takes the same
// arguments.
func either(wanted, other *dl.Function) *dl.Function {
	if wanted.Found() {
		return wanted
	}
	return other
}
