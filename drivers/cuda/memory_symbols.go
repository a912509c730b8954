package cuda

import "ferrum_mem/internal/dl"

// memoryAPI is the functions for other kinds of memory than plain device memory.
type memoryAPI struct {
	managedAlloc dl.Function
	// The older forms take a device number; the newer forms take a location.
	prefetch, advise     dl.Function
	prefetchTo, adviseAt dl.Function

	hostRegister, hostUnregister       dl.Function
	poolCreate, poolDestroy, poolAlloc dl.Function
	poolAccess                         dl.Function
}

func (a *memoryAPI) table() []dl.Row {
	return []dl.Row{
		{Name: "cuMemAllocManaged", To: &a.managedAlloc, Since: 6000, Group: groupManaged},
		{Name: "cuMemPrefetchAsync", To: &a.prefetch, Since: 8000, Group: groupAdvice},
		{Name: "cuMemAdvise", To: &a.advise, Since: 8000, Group: groupAdvice},
		{Name: "cuMemPrefetchAsync_v2", To: &a.prefetchTo, Since: 12020, Group: groupLocations},
		{Name: "cuMemAdvise_v2", To: &a.adviseAt, Since: 12020, Group: groupLocations},
		{Name: "cuMemHostRegister_v2", To: &a.hostRegister, Since: 6050, Group: groupRegistered},
		{Name: "cuMemHostUnregister", To: &a.hostUnregister, Since: 4000, Group: groupRegistered},
		{Name: "cuMemPoolCreate", To: &a.poolCreate, Since: 11020, Group: groupPools},
		{Name: "cuMemPoolDestroy", To: &a.poolDestroy, Since: 11020, Group: groupPools},
		{Name: "cuMemPoolSetAccess", To: &a.poolAccess, Since: 11020, Group: groupPools},
		{Name: "cuMemAllocFromPoolAsync", To: &a.poolAlloc, Since: 11020, Group: groupPools},
	}
}
