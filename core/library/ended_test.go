package library

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/fallback"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/placement"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/vmm"
)

// takes says which parameters of a call are handles, and of which kind: every call of
// the library but those of untaken and of ofTheFactory. One that is new need not be here
// when it takes the handle of the kind that its name begins with, and nor in tells when
// its name says that it gets something.
var takes = map[string][]handle.Kind{
	"DeviceClose": {handle.Device}, "DeviceGetInfo": {handle.Device}, "DeviceMeasureBandwidth": {handle.Device},
	"DeviceGrantPeer": {handle.Device, handle.Device}, "DeviceGetNative": {handle.Device}, "DeviceGetOwner": {handle.Device},
	"DeviceGetPageSizes": {handle.Device}, "DeviceSetLimit": {handle.Device}, "DeviceGetStatistics": {handle.Device},
	"DeviceSynchronize": {handle.Device}, "DeviceGetMemoryInfo": {handle.Device}, "DeviceGetRecentMemoryInfo": {handle.Device},
	"DeviceShareMemory": {handle.Device}, "EventAdopt": {handle.Device}, "EventOpen": {handle.Device},
	"StreamAdopt": {handle.Device}, "StreamCreate": {handle.Device}, "StreamDefault": {handle.Device},
	"PoolCreate": {handle.Device}, "VPoolCreate": {handle.Device}, "ElasticPoolCreate": {handle.Device},
	"ManagerCreate": {handle.Device}, "FallbackManagerCreate": {handle.Device},
	"PressureCallbackAdd": {handle.Device}, "ReclaimCallbackAdd": {handle.Device},

	"PoolAlloc": {handle.Pool}, "PoolAllocWith": {handle.Pool},
	"PoolAllocBatch": {handle.Pool}, "PoolCaptureBegin": {handle.Pool}, "PoolCaptureEnd": {handle.Pool},
	"PoolCaptureGetInfo": {handle.Pool}, "PoolCaptureRelease": {handle.Pool}, "PoolCheck": {handle.Pool},
	"PoolDestroy": {handle.Pool}, "PoolFree": {handle.Pool}, "PoolFreeBatch": {handle.Pool},
	"PoolFreeSized": {handle.Pool}, "PoolGetInfo": {handle.Pool}, "PoolRecordStream": {handle.Pool},
	"PoolReset": {handle.Pool}, "PoolSetLimit": {handle.Pool}, "PoolSetMinHeld": {handle.Pool},
	"PoolSetReleaseThreshold": {handle.Pool}, "PoolGetStatistics": {handle.Pool}, "PoolGetTag": {handle.Pool},
	"PoolTrim": {handle.Pool}, "PoolUsableSize": {handle.Pool}, "CacheLease": {handle.Pool},
	"CacheGiveBack": {handle.Pool}, "CacheStream": {handle.Pool},

	"VPoolAlloc": {handle.VirtualPool}, "VPoolAllocWith": {handle.VirtualPool}, "VPoolCompact": {handle.VirtualPool}, "VPoolFree": {handle.VirtualPool},
	"VPoolDestroy": {handle.VirtualPool}, "VPoolExport": {handle.VirtualPool}, "VPoolGetInfo": {handle.VirtualPool},
	"VPoolIsAsleep": {handle.VirtualPool}, "VPoolIsMapped": {handle.VirtualPool}, "VPoolPause": {handle.VirtualPool},
	"VPoolResume": {handle.VirtualPool}, "VPoolSetLimit": {handle.VirtualPool}, "VPoolSleep": {handle.VirtualPool},
	"VPoolGetStatistics": {handle.VirtualPool}, "VPoolSynchronize": {handle.VirtualPool}, "VPoolTrim": {handle.VirtualPool},
	"VPoolRecordStream": {handle.VirtualPool}, "VPoolWake": {handle.VirtualPool},

	"ElasticPoolCompact": {handle.ElasticPool}, "ElasticPoolDestroy": {handle.ElasticPool}, "ElasticPoolGetInfo": {handle.ElasticPool},
	"ElasticPoolModelsJSON": {handle.ElasticPool}, "ElasticPoolPause": {handle.ElasticPool}, "ElasticPoolResume": {handle.ElasticPool},
	"ElasticPoolSetLimit": {handle.ElasticPool}, "ElasticPoolGetStatistics": {handle.ElasticPool},
	"ElasticPoolSynchronize": {handle.ElasticPool}, "ElasticPoolTrim": {handle.ElasticPool},
	"ElasticPoolAlloc": {handle.ElasticPool}, "ElasticPoolAllocWith": {handle.ElasticPool}, "ElasticPoolFree": {handle.ElasticPool}, "ElasticPoolGetModelInfo": {handle.ElasticPool},
	"ElasticPoolIsModelAsleep": {handle.ElasticPool}, "ElasticPoolIsMapped": {handle.ElasticPool}, "ModelReclaimCallbackAdd": {handle.ElasticPool},
	"ElasticPoolRegisterModel": {handle.ElasticPool}, "ElasticPoolSetModelLimits": {handle.ElasticPool}, "ElasticPoolSleepModel": {handle.ElasticPool},
	"ElasticPoolRecordStream": {handle.ElasticPool}, "ElasticPoolUnregisterModel": {handle.ElasticPool}, "ElasticPoolWakeModel": {handle.ElasticPool},

	"ManagerAdopt": {handle.Manager}, "ManagerAlloc": {handle.Manager},
	"ManagerAllocWith": {handle.Manager}, "ManagerCreateMapping": {handle.Manager, handle.Manager}, "ManagerDefragment": {handle.Manager},
	"ManagerDefragmentWithin": {handle.Manager}, "ManagerImportPages": {handle.Manager}, "ManagerImportMemory": {handle.Manager}, "ManagerConfigurePool": {handle.Manager},
	"ManagerDestroy": {handle.Manager}, "ManagerGetStatistics": {handle.Manager},

	"MonitorCollect": {handle.Monitor}, "MonitorDestroy": {handle.Monitor},
	"MonitorInfoJSON": {handle.Monitor}, "MonitorGetLevels": {handle.Monitor}, "MonitorGetPressure": {handle.Monitor},
	"MonitorRegister": {handle.Monitor, handle.Manager}, "MonitorSetCallback": {handle.Monitor},
	"MonitorUnregister": {handle.Monitor, handle.Manager}, "MonitorUnregisterDevice": {handle.Monitor, handle.Device},

	"PlacementDestroy": {handle.Placement}, "PlacementExplainJSON": {handle.Placement, handle.Device},
	"PlacementGetName": {handle.Placement}, "PlacementSelect": {handle.Placement, handle.Device},

	"FallbackManagerAdopt": {handle.FallbackManager}, "FallbackManagerAlloc": {handle.FallbackManager}, "FallbackManagerGetBackendName": {handle.FallbackManager},
	"FallbackManagerClearPool": {handle.FallbackManager}, "FallbackManagerDestroy": {handle.FallbackManager}, "FallbackManagerGetMemory": {handle.FallbackManager},
	"FallbackManagerOnPressure": {handle.FallbackManager}, "FallbackManagerGetPressure": {handle.FallbackManager},
	"FallbackManagerRelease": {handle.FallbackManager}, "FallbackManagerReturnBuffers": {handle.FallbackManager}, "FallbackManagerShrink": {handle.FallbackManager},
	"FallbackManagerGetStats": {handle.FallbackManager}, "FallbackManagerGetFallbackStats": {handle.FallbackManager}, "FallbackManagerGetTracker": {handle.FallbackManager},
	"FallbackBufferGetAddress": {handle.Buffer}, "FallbackBufferFree": {handle.Buffer}, "FallbackBufferGetInfo": {handle.Buffer},
	"FallbackBufferMove": {handle.Buffer}, "FallbackBufferPin": {handle.Buffer}, "FallbackBufferRead": {handle.Buffer},
	"FallbackBufferTake": {handle.Buffer}, "FallbackBufferUnpin": {handle.Buffer}, "FallbackBufferWrite": {handle.Buffer},

	"TrackerGetAll": {handle.Tracker}, "TrackerClear": {handle.Tracker}, "TrackerDestroy": {handle.Tracker},
	"TrackerGet": {handle.Tracker}, "TrackerFindOld": {handle.Tracker}, "TrackerGetTotals": {handle.Tracker},
	"TrackerTrack": {handle.Tracker}, "TrackerUntrack": {handle.Tracker},

	"GenericPoolAddFree": {handle.GenericPool}, "GenericPoolDestroy": {handle.GenericPool},
	"GenericPoolDrain": {handle.GenericPool}, "GenericPoolGetPooledCount": {handle.GenericPool},
	"GenericPoolRecordAllocation": {handle.GenericPool}, "GenericPoolRecordCPUFallback": {handle.GenericPool},
	"GenericPoolReturn": {handle.GenericPool}, "GenericPoolGetStats": {handle.GenericPool},
	"GenericPoolGetTracker": {handle.GenericPool}, "GenericPoolTryGet": {handle.GenericPool},
}

// tells lists the calls that only tell or take note of something, or find that there is
// nothing to do, and may do so with an object in its last moment. The handles of monitors
// and strategies go before they end.
var tells = []string{
	"DeviceGetInfo", "DeviceGetStatistics", "DeviceGetPageSizes", "DeviceGetRecentMemoryInfo",
	"PoolGetInfo", "PoolGetStatistics", "VPoolGetInfo", "VPoolIsAsleep", "VPoolIsMapped", "VPoolPause", "VPoolResume",
	"VPoolGetStatistics", "VPoolSynchronize", "ElasticPoolGetInfo", "ElasticPoolModelsJSON", "ElasticPoolPause",
	"ElasticPoolResume", "ElasticPoolGetStatistics", "ElasticPoolSynchronize", "ManagerGetStatistics",
	"MonitorCollect", "MonitorDestroy", "MonitorInfoJSON", "MonitorGetLevels", "MonitorGetPressure",
	"PlacementGetName", "PlacementDestroy", "FallbackManagerGetBackendName", "FallbackManagerGetMemory", "FallbackManagerGetPressure",
	"FallbackManagerGetStats", "FallbackManagerGetFallbackStats", "FallbackManagerGetTracker", "FallbackManagerOnPressure", "CacheStream",
	"PoolCheck", "VPoolCompact", "VPoolTrim", "ElasticPoolCompact", "ElasticPoolTrim", "PlacementExplainJSON", "TrackerGetAll", "TrackerFindOld", "TrackerGetTotals",
}

// ofTheFactory lists the calls for blocks, streams and events: core/manager has their
// test. A registration has no call but the one that ends it.
var ofTheFactory = []string{
	"MemoryGetAccessStats", "MemoryCopy", "MemoryCopyAsync", "MemoryFree", "EventDestroy", "EventElapsed", "EventIsReady", "EventGetNative",
	"EventRecord", "EventShare", "EventSynchronize", "MemoryFillAsync", "MemoryGetHandleInfo", "MemoryMap", "MemoryPin", "MemoryPrefetch", "MemoryRead",
	"RegistrationRemove", "MemorySetUsageHint", "StreamDestroy", "StreamHostFunction", "StreamIsReady", "StreamGetNative",
	"StreamSynchronize", "StreamWaitEvent", "MemoryUnmap", "MemoryUnpin", "MemoryGetUsageHints", "MemoryWrite",
}

// untaken lists the calls that take no handle, or that cannot fail.
var untaken = []string{
	"BackendsJSON", "BackendsRefresh", "BackendsSummary", "BackendBest", "CacheStreamIsDry", "DeviceCanFit", "DeviceOpen", "DeviceOpenNative",
	"GenericPoolCreate", "HostGetInfo", "Init", "LeakReportJSON", "Log", "MonitorCreate", "BackendOpen", "PlacementCreate",
	"PlacementCreateOwn", "ReportDefect", "ReportHandler", "BackendSelect", "SetLog", "ShowBooks", "Shutdown", "SnapshotJSON", "TrackerCreate",
}

// kinds are those of which calls have names that begin so.
var kinds = map[string]handle.Kind{
	"Device": handle.Device, "Pool": handle.Pool, "VPool": handle.VirtualPool, "ElasticPool": handle.ElasticPool,
	"Manager": handle.Manager, "Monitor": handle.Monitor, "Placement": handle.Placement, "Tracker": handle.Tracker,
	"FallbackManager": handle.FallbackManager, "FallbackBuffer": handle.Buffer, "GenericPool": handle.GenericPool,
}

// init adds the calls that are in no list and whose names say what they take.
func init() {
	all := reflect.TypeFor[*Library]()
	for i := range all.NumMethod() {
		name := all.Method(i).Name
		if takes[name] != nil || slices.Contains(ofTheFactory, name) || slices.Contains(untaken, name) {
			continue
		}
		for word, kind := range kinds {
			if rest, is := strings.CutPrefix(name, word); is {
				takes[name] = []handle.Kind{kind}
				if strings.HasPrefix(rest, "Get") || strings.HasPrefix(rest, "Is") {
					tells = append(tells, name)
				}
			}
		}
	}
}

func TestEveryCallIsAskedForEndedObjects(t *testing.T) {
	all := reflect.TypeFor[*Library]()
	for i := range all.NumMethod() {
		name := all.Method(i).Name
		lists := 0
		if takes[name] != nil {
			lists++
		}
		for _, list := range [][]string{ofTheFactory, untaken} {
			if slices.Contains(list, name) {
				lists++
			}
		}
		require.Equal(t, 1, lists, "%s is in so many lists of this file", name)
	}
}

// deathbed is a library with one object of each kind.
type deathbed struct {
	*Library
	ids map[handle.Kind]uint64
}

func newDeathbed(t *testing.T) *deathbed {
	l := New(Options{Drivers: func(Settings) ([]device.Driver, error) {
		return []device.Driver{devicetest.New(devicetest.Config{TotalBytes: 64 << 20, Backed: true})}, nil
	}, Getenv: func(string) string { return "" }})
	require.NoError(t, l.Init(nil))
	b := &deathbed{Library: l, ids: map[handle.Kind]uint64{}}
	add := func(id uint64, err error) uint64 {
		require.NoError(t, err)
		b.ids[handle.KindOf(id)] = id
		return id
	}
	d := add(l.DeviceOpen("test:0"))
	settings := pool.DefaultConfig()
	settings.InitialSizeBytes, settings.GrowthIncrementBytes = 1<<20, 1<<20
	add(l.PoolCreate(d, &settings))
	add(l.VPoolCreate(d, vmm.Config{Name: "v", CapacityBytes: 4 << 20, PageBytes: 64 << 10}))
	add(l.ElasticPoolCreate(d, vmm.ElasticConfig{Name: "s", PageBytes: 64 << 10, LimitBytes: 4 << 20}))
	require.NoError(t, l.ElasticPoolRegisterModel(b.argumentRef(), vmm.ModelConfig{VirtualBytes: 4 << 20}))
	managed := manager.DefaultConfig()
	managed.PoolConfigs = map[manager.MemoryType]pool.Config{manager.General: settings}
	add(l.ManagerCreate(d, &managed))
	add(l.MonitorCreate(MonitorConfig{}))
	require.NoError(t, l.MonitorRegister(b.ids[handle.Monitor], b.ids[handle.Manager]))
	add(l.PlacementCreateOwn("mine", func(PlacementRequest, []PlacementOption) (int, error) { return 0, nil }))
	add(l.GenericPoolCreate(fallback.DefaultMemoryConfig().WithTracking(true)))
	memory := fallback.DefaultMemoryConfig().WithTracking(true).WithMinFreeBytes(0).WithCPUFallback(false)
	m := add(l.FallbackManagerCreate(d, 0, memory))
	add(l.FallbackManagerGetTracker(m))
	add(l.FallbackManagerAlloc(m, BufferRequest{Request: fallback.Request{Shape: fallback.Shape{DType: fallback.U8, Len: 64}}}))
	return b
}

func (b *deathbed) argumentRef() ModelRef { return ModelRef{Pool: b.ids[handle.ElasticPool], ID: "m"} }

// argument makes up one that is fit for a call.
func (b *deathbed) argument(of reflect.Type, kind handle.Kind) reflect.Value {
	made := reflect.New(of).Elem()
	switch made.Interface().(type) {
	case ModelRef:
		return reflect.ValueOf(b.argumentRef())
	case fallback.MemoryConfig:
		return reflect.ValueOf(fallback.DefaultMemoryConfig().WithCPUFallback(false))
	case PlacementRequest:
		return reflect.ValueOf(PlacementRequest{Request: placement.Request{SizeBytes: 64}, Devices: []uint64{b.ids[handle.Device]}})
	}
	switch of.Kind() {
	case reflect.Uint64:
		if id, is := b.ids[kind]; is {
			made.SetUint(id)
		}
	case reflect.Slice:
		return reflect.MakeSlice(of, 1, 1)
	case reflect.Func:
		return reflect.MakeFunc(of, func([]reflect.Value) (results []reflect.Value) {
			for i := range of.NumOut() {
				results = append(results, reflect.Zero(of.Out(i)))
			}
			return results
		})
	case reflect.Bool:
		made.SetBool(true)
	}
	return made
}

// call calls a method and gives its error.
func (b *deathbed) call(name string) error {
	method := reflect.ValueOf(b.Library).MethodByName(name)
	var arguments []reflect.Value
	for i := range method.Type().NumIn() {
		kind := handle.Kind(0)
		if i < len(takes[name]) {
			kind = takes[name][i]
		}
		arguments = append(arguments, b.argument(method.Type().In(i), kind))
	}
	results := method.Call(arguments)
	err, _ := results[len(results)-1].Interface().(error)
	return err
}

// ends has an object be over with its handle still there, as the calls that end it have
// it for a moment. They hold object.destroying meanwhile.
var ends = map[string]struct {
	kind handle.Kind
	end  func(t *testing.T, b *deathbed, id uint64)
}{
	"pool": {handle.Pool, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.pools.Get(id)
		entry.destroying.Lock()
		require.NoError(t, entry.pool.Close(true))
	}},
	"virtual pool": {handle.VirtualPool, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.vpools.Get(id)
		entry.destroying.Lock()
		require.NoError(t, entry.pool.Close(true))
	}},
	"elastic pool": {handle.ElasticPool, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.elasticPools.Get(id)
		entry.destroying.Lock()
		require.NoError(t, entry.pool.Close(true))
	}},
	"manager": {handle.Manager, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.managers.Get(id)
		entry.destroying.Lock()
		require.NoError(t, entry.manager.Close(true))
	}},
	"fallback manager":                   {handle.FallbackManager, endFallbackManager},
	"tracker, with its fallback manager": {handle.Tracker, endFallbackManager},
	"buffer, with its fallback manager":  {handle.Buffer, endFallbackManager},
	"buffer": {handle.Buffer, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.buffers.Get(id)
		entry.destroying.Lock()
		require.NoError(t, entry.buffer.Free(nil))
	}},
	"buffer that is taken": {handle.Buffer, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.buffers.Get(id)
		entry.destroying.Lock()
		_, err := entry.buffer.Take(fallback.GPU)
		require.NoError(t, err)
	}},
	"generic pool": {handle.GenericPool, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.genericPools.Get(id)
		require.NoError(t, entry.end("test", true))
	}},
	"tracker, with its generic pool": {handle.Tracker, func(t *testing.T, b *deathbed, _ uint64) {
		entry, _ := b.genericPools.Get(b.ids[handle.GenericPool])
		b.ids[handle.Tracker] = entry.tracker
		require.NoError(t, entry.end("test", true))
	}},
	"monitor": {handle.Monitor, func(_ *testing.T, b *deathbed, id uint64) {
		entry, _ := b.monitors.Get(id)
		entry.monitor.Close(false)
	}},
	"placement strategy": {handle.Placement, func(_ *testing.T, b *deathbed, id uint64) {
		entry, _ := b.placements.Get(id)
		entry.end(false)
	}},
	"device": {handle.Device, func(t *testing.T, b *deathbed, id uint64) {
		entry, _ := b.devices.Get(id)
		require.True(t, b.claim(entry))
		require.NoError(t, b.emptyDevice(entry, true, nil))
		require.NoError(t, entry.engine.Close())
	}},
}

func endFallbackManager(t *testing.T, b *deathbed, _ uint64) {
	entry, _ := b.fallbackManagers.Get(b.ids[handle.FallbackManager])
	entry.destroying.Lock()
	require.NoError(t, entry.manager.Close(true))
}

// Whoever comes between the end of an object and that of its handle hears that the
// handle is invalid, and nothing else.
func TestCallsBetweenTheEndOfAnObjectAndThatOfItsHandle(t *testing.T) {
	for title, c := range ends {
		t.Run(title, func(t *testing.T) {
			var names []string
			for name, kinds := range takes {
				if slices.Contains(kinds, c.kind) {
					names = append(names, name)
				}
			}
			// Those that take the handle away come last.
			slices.SortFunc(names, func(a, b string) int { return cmp.Or(order(a)-order(b), cmp.Compare(a, b)) })
			require.Greater(t, len(names), 3)
			b := newDeathbed(t)
			c.end(t, b, b.ids[c.kind])
			for _, name := range names {
				switch err := b.call(name); {
				case err == nil:
					assert.Contains(t, tells, name, "%s found nothing wrong with an object that is over", name)
				case slices.Contains(enders, name):
					assert.Contains(t, []device.Code{device.CodeInvalidHandle, device.CodeBusy}, device.CodeOf(err), "%s: %v", name, err)
				default:
					assert.Equal(t, device.CodeInvalidHandle, device.CodeOf(err), "%s: %v", name, err)
				}
			}
		})
	}
}

// enders lists the calls that end an object, which are CodeBusy while another one does.
var enders = []string{
	"PoolDestroy", "VPoolDestroy", "ElasticPoolDestroy", "ManagerDestroy", "FallbackManagerDestroy", "FallbackBufferFree", "FallbackBufferTake",
}

func order(name string) int {
	if strings.HasSuffix(name, "Destroy") {
		return 1
	}
	return 0
}
