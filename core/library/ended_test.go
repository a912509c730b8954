package library

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/fallback"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/kvcache"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/placement"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/vmm"
)

// takes lists the further handles of a call, and the handles of calls of the library
// itself: all calls except those of the other lists. The handle that finds an object is
// known.
var takes = map[string][]handle.Kind{
	"lib.EventAdopt": {handle.Device}, "lib.EventOpen": {handle.Device},
	"lib.StreamAdopt": {handle.Device}, "lib.StreamCreate": {handle.Device}, "lib.StreamDefault": {handle.Device},
	"lib.PoolCreate": {handle.Device}, "lib.VPoolCreate": {handle.Device}, "lib.ElasticPoolCreate": {handle.Device},
	"lib.ManagerCreate": {handle.Device}, "lib.FallbackManagerCreate": {handle.Device},
	"lib.PressureCallbackAdd": {handle.Device}, "lib.ReclaimCallbackAdd": {handle.Device},
	"lib.PoolAlloc": {handle.Pool}, "lib.PoolFree": {handle.Pool}, "lib.CacheLease": {handle.Pool},
	"lib.CacheGiveBack": {handle.Pool}, "lib.CacheStream": {handle.Pool}, "lib.PlacementGetName": {handle.Placement},

	"Device.GrantPeer": {handle.Device}, "Manager.CreateMapping": {handle.Manager}, "Monitor.Register": {handle.Manager},
	"Monitor.Unregister": {handle.Manager}, "Monitor.UnregisterDevice": {handle.Device},
	"Placement.ExplainJSON": {handle.Device}, "Placement.Select": {handle.Device},

	"tensors.Create": {handle.Pool}, "tensors.FromDLPack": {handle.Device}, "tensors.FromSet": {handle.TensorSet},
	"tensors.Wrap": {handle.Device}, "Tensor.Copy": {handle.Tensor},
	"computes.CreateSequence": {handle.Compute}, "computes.Prepare": {handle.Compute}, "computes.Open": {handle.Device},
	"computes.Validate": {handle.Device}, "Op.Pack": {0, handle.Tensor}, "Sequence.Add": {handle.Op},
	"executors.Build": {handle.ElasticPool}, "executors.PlanJSON": {handle.Compute}, "executors.ExportDefinitionONNX": {0, handle.Weights},
	"kvCaches.Create": {handle.Pool},
}

// tells lists the calls that only report or record something, or find nothing to do,
// and may succeed on an ending object. The handles of monitors and strategies are
// removed before they end.
var tells = []string{
	"Device.Info", "Device.Statistics", "Device.PageSizes", "Device.RecentMemoryInfo",
	"Pool.Info", "Pool.Statistics", "VPool.Info", "VPool.IsAsleep", "VPool.IsMapped", "VPool.Pause", "VPool.Resume",
	"VPool.Statistics", "VPool.Synchronize", "ElasticPool.Info", "ElasticPool.ModelsJSON", "ElasticPool.Pause",
	"ElasticPool.Resume", "ElasticPool.Statistics", "ElasticPool.Synchronize", "Manager.Statistics",
	"Monitor.Collect", "Monitor.Destroy", "Monitor.InfoJSON", "Monitor.Levels", "Monitor.Pressure",
	"lib.PlacementGetName", "Placement.Destroy", "FallbackManager.BackendName", "FallbackManager.Memory", "FallbackManager.Pressure",
	"FallbackManager.Stats", "FallbackManager.FallbackStats", "FallbackManager.Tracker", "FallbackManager.PressureCallbackAdd", "lib.CacheStream",
	"Pool.Check", "VPool.Compact", "VPool.Trim", "ElasticPool.Compact", "ElasticPool.Trim", "Placement.ExplainJSON",
	"Tracker.All", "Tracker.FindOld", "Tracker.Totals",
	"Weights.MetadataJSON", "TensorSet.Cancel", "TensorSet.Progress", "TensorSet.Wait",
	"Compute.CapabilitiesJSON", "Compute.Manager", "Compute.StatusJSON", "KVCache.Find", "KVCache.HashTokens", "KVCache.Stats",
}

// ofTheFactory lists the calls of the library for blocks and streams, which
// core/manager tests. A registration has only the call that ends it.
var ofTheFactory = []string{
	"lib.MemoryGetAccessStats", "lib.EventShare", "lib.MemoryGetHandleInfo", "lib.MemoryPrefetch", "lib.RegistrationRemove",
	"lib.StreamDestroy", "tensors.FromMemory",
}

// untaken lists the calls that take no handle, or that cannot fail.
var untaken = []string{
	"lib.BackendsJSON", "lib.BackendsRefresh", "lib.BackendsSummary", "lib.BackendBest", "lib.CacheStreamIsDry", "lib.DeviceCanFit", "lib.DeviceOpen",
	"lib.DeviceOpenNative", "lib.GenericPoolCreate", "lib.HostGetInfo", "lib.Init", "lib.LeakReportJSON", "lib.Log", "lib.MonitorCreate",
	"lib.BackendOpen", "lib.PlacementCreate", "lib.PlacementCreateOwn", "lib.ReportDefect", "lib.ReportHandler", "lib.BackendSelect", "lib.SetLog",
	"lib.PublishCounters", "lib.Shutdown", "lib.SnapshotJSON", "lib.TrackerCreate", "lib.Factory",
	"loader.CapabilitiesJSON", "loader.Check", "loader.DecoderAdd", "loader.Open", "tensors.EndExport",
	"computes.BackendsJSON", "computes.FindJSON", "computes.Register",
	"executors.BuilderInfoJSON", "executors.EstimateJSON", "executors.ExportJSON", "executors.ExportONNX", "executors.OptimizeJSON", "executors.RegisterPass", "executors.Find", "executors.ListJSON",
	"executors.RemoveName", "executors.ValidateDefinitionJSON", "executors.ValidateModelJSON",
}

// kinds has the kinds whose objects are called.
var kinds = map[string]handle.Kind{
	"Device": handle.Device, "Pool": handle.Pool, "VPool": handle.VirtualPool, "ElasticPool": handle.ElasticPool,
	"Manager": handle.Manager, "Monitor": handle.Monitor, "Placement": handle.Placement, "Tracker": handle.Tracker,
	"FallbackManager": handle.FallbackManager, "FallbackBuffer": handle.Buffer, "GenericPool": handle.GenericPool,
	"Weights": handle.Weights, "TensorSet": handle.TensorSet, "Tensor": handle.Tensor,
	"Compute": handle.Compute, "Op": handle.Op, "Sequence": handle.Sequence,
	"Executor": handle.Executor, "KVCache": handle.KVCache,
}

// calls has the calls of the exports: "Pool.Trim" is one of an object, "lib.PoolAlloc"
// one of the library.
var calls = exportedCalls()

func exportedCalls() []string {
	files, err := filepath.Glob("../../capi/*.go")
	if err != nil || len(files) == 0 {
		panic(fmt.Sprintf("no exports: %v", err))
	}
	const parts = `(?:lib|loader|tensors|computes|executors|kvCaches)`
	found := regexp.MustCompile(`object, err := ` + parts + `\.(\w+)\(|\bobject\.(\w+)\(|\b(` + parts + `\.\w+)\(`)
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		kind := ""
		for _, m := range found.FindAllStringSubmatch(string(text), -1) {
			switch {
			case m[1] != "":
				kind = m[1]
			case m[2] != "":
				names = append(names, kind+"."+m[2])
			default:
				names = append(names, m[3])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// kindOf returns the kind of the object of a call; 0: it is a call of the library.
func kindOf(name string) handle.Kind {
	word, _, _ := strings.Cut(name, ".")
	return kinds[word]
}

// takesKind reports whether a call is on an object of that kind, or takes its handle.
func takesKind(name string, kind handle.Kind) bool {
	return kindOf(name) == kind || slices.Contains(takes[name], kind)
}

func TestEveryCallIsAskedForEndedObjects(t *testing.T) {
	require.Greater(t, len(calls), 100)
	for _, name := range calls {
		if kindOf(name) != 0 {
			continue
		}
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
	for _, list := range [][]string{slices.Collect(maps.Keys(takes)), tells, enders} {
		for _, name := range list {
			require.Contains(t, calls, name, "no export calls it")
		}
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
	elastic, err := l.ElasticPool("test", b.ids[handle.ElasticPool])
	require.NoError(t, err)
	require.NoError(t, elastic.RegisterModel(modelID, vmm.ModelConfig{VirtualBytes: 4 << 20}))
	managed := manager.DefaultConfig()
	managed.PoolConfigs = map[manager.MemoryType]pool.Config{manager.General: settings}
	add(l.ManagerCreate(d, &managed))
	add(l.MonitorCreate(MonitorConfig{}))
	watching, err := l.Monitor("test", b.ids[handle.Monitor])
	require.NoError(t, err)
	require.NoError(t, watching.Register(b.ids[handle.Manager]))
	add(l.PlacementCreateOwn("mine", func(PlacementRequest, []PlacementOption) (int, error) { return 0, nil }))
	add(l.GenericPoolCreate(fallback.DefaultMemoryConfig().WithTracking(true)))
	memory := fallback.DefaultMemoryConfig().WithTracking(true).WithMinFreeBytes(0).WithCPUFallback(false)
	m, err := l.FallbackManager("test", add(l.FallbackManagerCreate(d, 0, memory)))
	require.NoError(t, err)
	add(m.Tracker())
	add(m.Alloc(BufferRequest{Request: fallback.Request{Shape: fallback.Shape{DType: fallback.U8, Len: 64}}}))
	w, err := l.Loader.Weights("test", add(l.Loader.Open(rawWeights(t))))
	require.NoError(t, err)
	set, err := l.Loader.TensorSet("test", add(w.Load(LoadRequest{Map: true})))
	require.NoError(t, err)
	require.NoError(t, set.Wait(device.Forever))
	add(l.Tensors.Create(TensorMemory{Pool: b.ids[handle.Pool]}, int32(dtype.F32), []int64{6}, 0))
	blocks := kvcache.Config{BlockTokens: 4, Blocks: 4, Sequences: 2, SequenceTokens: 8}
	add(l.KVCaches.Create(KVCacheConfig{Config: blocks}, TensorMemory{}, 0, 0))
	return b
}

// rawWeights is a file of one tensor without a header.
func rawWeights(t *testing.T) WeightsSource {
	path := filepath.Join(t.TempDir(), "weights.bin")
	require.NoError(t, os.WriteFile(path, make([]byte, 64), 0o600))
	source := WeightsSource{Path: path, Format: FormatRaw, RawDType: dtype.U8, RawRank: 1}
	source.RawShape[0] = 64
	return source
}

// modelID is the model of the elastic pool.
const modelID = "m"

// argument returns a valid argument for a call.
func (b *deathbed) argument(of reflect.Type, kind handle.Kind) reflect.Value {
	made := reflect.New(of).Elem()
	switch made.Interface().(type) {
	case fallback.MemoryConfig:
		return reflect.ValueOf(fallback.DefaultMemoryConfig().WithCPUFallback(false))
	case ComputeConfig:
		return reflect.ValueOf(ComputeConfig{Config: backend.DefaultConfig(), DeviceHandle: b.ids[handle.Device]})
	case BuildRequest:
		return reflect.ValueOf(BuildRequest{ElasticPool: b.ids[handle.ElasticPool], Model: modelID})
	case TensorMemory:
		return reflect.ValueOf(TensorMemory{Pool: b.ids[handle.Pool]})
	case PlacementRequest:
		return reflect.ValueOf(PlacementRequest{Request: placement.Request{SizeBytes: 64}, Devices: []uint64{b.ids[handle.Device]}})
	}
	switch of.Kind() {
	case reflect.String:
		made.SetString(modelID)
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

// call makes a call like an export, and returns its error.
func (b *deathbed) call(name string) error {
	word, method, _ := strings.Cut(name, ".")
	of := reflect.ValueOf(b.Library)
	kind := kindOf(name)
	if kind == handle.Weights || kind == handle.TensorSet {
		of = reflect.ValueOf(&b.Library.Loader)
	}
	if kind == handle.Compute || kind == handle.Op || kind == handle.Sequence || word == "computes" {
		of = reflect.ValueOf(&b.Library.Computes)
	}
	if kind == handle.Executor || word == "executors" {
		of = reflect.ValueOf(&b.Library.Executors)
	}
	if kind == handle.KVCache || word == "kvCaches" {
		of = reflect.ValueOf(&b.Library.KVCaches)
	}
	if kind == handle.Tensor || word == "tensors" {
		of = reflect.ValueOf(&b.Library.Tensors)
	}
	if kind != 0 {
		found := of.MethodByName(word).Call([]reflect.Value{reflect.ValueOf("test"), reflect.ValueOf(b.ids[kind])})
		if err, failed := found[1].Interface().(error); failed {
			return err
		}
		of = found[0]
	}
	called := of.MethodByName(method)
	var arguments []reflect.Value
	for i := range called.Type().NumIn() {
		kind := handle.Kind(0)
		if i < len(takes[name]) {
			kind = takes[name][i]
		}
		arguments = append(arguments, b.argument(called.Type().In(i), kind))
	}
	results := called.Call(arguments)
	if len(results) == 0 {
		return nil
	}
	err, _ := results[len(results)-1].Interface().(error)
	if object, is := of.Interface().(member); is && !slices.Contains(enders, name) {
		return CallError(err, object)
	}
	return err
}

// A call between the end of an object and the removal of its handle returns
// CodeInvalidHandle, and no other error.
func TestCallsBetweenTheEndOfAnObjectAndThatOfItsHandle(t *testing.T) {
	for title, c := range ends {
		t.Run(title, func(t *testing.T) {
			var names []string
			for _, name := range calls {
				if takesKind(name, c.kind) {
					names = append(names, name)
				}
			}
			// Calls that remove the handle come last.
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

// enders lists the calls that end an object, which return CodeBusy while another one
// ends it.
var enders = []string{
	"Pool.Destroy", "VPool.Destroy", "ElasticPool.Destroy", "Manager.Destroy", "FallbackManager.Destroy", "FallbackBuffer.Free",
	"FallbackBuffer.Take", "Device.Close", "GenericPool.Destroy", "Tracker.Destroy", "Tensor.Destroy",
	"Compute.Close", "Op.Destroy", "Sequence.Destroy", "Executor.Destroy", "KVCache.Destroy",
}

func order(name string) int {
	if strings.HasSuffix(name, "Destroy") {
		return 1
	}
	return 0
}
