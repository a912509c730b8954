package library_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/vmm"
)

func decode(t *testing.T, text []byte) map[string]any {
	var object map[string]any
	require.NoError(t, json.Unmarshal(text, &object), "%s", text)
	return object
}

// withoutTimes returns the report without values that a test cannot know.
func withoutTimes(t *testing.T, text []byte) string {
	report := decode(t, text)
	for _, key := range []string{"discovered_at_unix_ns", "discovery_took_ns"} {
		require.Contains(t, report, key)
		delete(report, key)
	}
	left, err := json.Marshal(report)
	require.NoError(t, err)
	return string(left)
}

func TestBackendsJSON(t *testing.T) {
	b := startBench(t)
	text, err := b.BackendsJSON()
	require.NoError(t, err)
	entry := func(index int) string {
		return fmt.Sprintf(`{"id": "test:%d", "index": %d, "name": "test device", "total_bytes": 67108864, "free_bytes": null,
			"compute_capability": null, "unified_memory": false, "max_allocation_bytes": null,
			"granularity_bytes": 4096, "alignment_bytes": 4096, "recommended_fraction_percent": 90,
			"host_addressable": false, "capabilities": ["peer", "virtual_memory"], "processes": null}`, index, index)
	}
	require.JSONEq(t, `{"recommended": "cpu", "backends": [{"backend": "test", "name": "test", "available": true,
		"usable": true, "reason": null, "error": null, "native_code": 0, "library": null, "version": null,
		"devices": [`+entry(0)+`,`+entry(1)+`]}]}`, withoutTimes(t, text))
	require.Nil(t, b.device(0), "no device is opened for it")

	b.driver.SetProbe(device.Errorf(device.CodeBackendUnavailable, "test.probe", "no runtime").WithNative(7))
	again, err := b.BackendsJSON()
	require.NoError(t, err)
	require.Equal(t, string(text), string(again), "the answer is kept")
	require.NoError(t, b.BackendsRefresh())
	text, err = b.BackendsJSON()
	require.NoError(t, err)
	require.JSONEq(t, `{"recommended": "cpu", "backends": [{"backend": "test", "name": "test", "available": false,
		"usable": false, "reason": "unusable", "error": "no runtime", "native_code": 7, "library": null,
		"version": null, "devices": []}]}`, withoutTimes(t, text))
	b.driver.SetProbe(nil)
}

func TestBackendsJSONWithoutABackend(t *testing.T) {
	b := startBench(t, func(o *library.Options) {
		o.Drivers = func(library.Settings) ([]device.Driver, error) { return nil, nil }
	})
	text, err := b.BackendsJSON()
	require.NoError(t, err)
	require.JSONEq(t, `{"backends": [], "recommended": "cpu"}`, withoutTimes(t, text))
	_, err = b.DeviceOpen("test:0")
	requireCode(t, device.CodeDeviceNotFound, err)
}

var statisticsKeys = []string{"requested", "allocated", "active", "cached", "unusable", "reserved",
	"live_blocks", "segments", "allocations", "frees", "failures", "largest_free_bytes",
	"thread_cached_bytes", "virtual_reserved"}

func TestSnapshotJSONHasTheDocumentedKeys(t *testing.T) { overBoth(t, snapshotHasItsKeys) }

func snapshotHasItsKeys(t *testing.T) {
	b := startBench(t)
	b.fill("test:1")
	b.fill("test:0")
	text, err := b.SnapshotJSON()
	require.NoError(t, err)
	s := decode(t, text)
	require.ElementsMatch(t, []string{"version", "uptime_ns", "devices", "signal_handlers"}, keysOf(s))
	require.Equal(t, library.Version, s["version"])
	require.Positive(t, s["uptime_ns"])
	devices := s["devices"].([]any)
	require.Len(t, devices, 2)
	for i, id := range []string{"test:0", "test:1"} {
		d := devices[i].(map[string]any)
		require.Equal(t, id, d["id"], "in the order of the ids")
		require.ElementsMatch(t, []string{"id", "memory", "statistics", "tags", "pools", "managers", "virtual_pools", "elastic_pools", "fallback_managers", "asleep"}, keysOf(d))
		memory := d["memory"].(map[string]any)
		require.ElementsMatch(t, []string{"pressure", "total_bytes", "used_bytes", "free_bytes", "reserved_bytes",
			"active_allocations", "fragmentation_ratio", "utilization_percent", "bandwidth_known", "bandwidth_gbps",
			"largest_free_bytes", "reading_age_ns", "limit_bytes", "device_total_bytes", "device_free_bytes"},
			keysOf(memory))
		require.Equal(t, "low", memory["pressure"])
		require.Nil(t, memory["bandwidth_gbps"])
		require.EqualValues(t, 2, memory["active_allocations"])
		require.ElementsMatch(t, statisticsKeys, keysOf(d["statistics"]))
		require.Equal(t, map[string]any{"current": 3000.0, "peak": 3000.0},
			d["statistics"].(map[string]any)["requested"])
		require.Equal(t, []any{
			map[string]any{"tag": "weights", "requested_bytes": 2000.0, "allocated_bytes": 2048.0, "blocks": 1.0},
			map[string]any{"tag": "small", "requested_bytes": 1000.0, "allocated_bytes": 1024.0, "blocks": 1.0},
		}, d["tags"])

		pools := d["pools"].([]any)
		require.Len(t, pools, 2)
		for j, owner := range []string{"pool", "manager"} {
			p := pools[j].(map[string]any)
			require.Subset(t, keysOf(p), []string{"name", "strategy", "owner", "statistics", "segments"})
			require.Equal(t, owner, p["owner"])
			require.Equal(t, "small", p["name"])
			require.Equal(t, "best_fit", p["strategy"])
			require.ElementsMatch(t, statisticsKeys, keysOf(p["statistics"]))
			segments := p["segments"].([]any)
			require.Len(t, segments, 1)
			segment := segments[0].(map[string]any)
			require.ElementsMatch(t, []string{"address", "size_bytes", "active_bytes", "largest_free_bytes", "mapped_bytes"}, keysOf(segment))
			require.EqualValues(t, 1<<20, segment["mapped_bytes"])
			if paging == pool.PagingOff {
				require.EqualValues(t, 1<<20, segment["size_bytes"])
			} else {
				require.Greater(t, segment["size_bytes"], segment["mapped_bytes"], "the rest is addresses")
			}
			require.EqualValues(t, 1024*(j+1), segment["active_bytes"])
			require.IsType(t, 0.0, segment["address"])
		}
		managers := d["managers"].([]any)
		require.Len(t, managers, 1)
		m := managers[0].(map[string]any)
		require.ElementsMatch(t, []string{"live_blocks", "memory_types", "statistics", "adopted"}, keysOf(m))
		require.EqualValues(t, 1, m["live_blocks"])
		require.Equal(t, map[string]any{"general": 1.0, "tensor": 0.0, "cache": 0.0, "temporary": 0.0,
			"pinned": 0.0, "mapped": 0.0, "managed": 0.0}, m["memory_types"])
		require.ElementsMatch(t, statisticsKeys, keysOf(m["statistics"]))
	}
}

func TestSnapshotJSONOfNothingHasEmptyLists(t *testing.T) {
	b := startBench(t)
	text, err := b.SnapshotJSON()
	require.NoError(t, err)
	require.Equal(t, []any{}, decode(t, text)["devices"])
	b.open("test:0")
	text, err = b.SnapshotJSON()
	require.NoError(t, err)
	d := decode(t, text)["devices"].([]any)[0].(map[string]any)
	for _, list := range []string{"tags", "pools", "managers", "virtual_pools", "elastic_pools", "fallback_managers"} {
		require.Equal(t, []any{}, d[list], list)
	}
}

func TestSnapshotJSONKnowsTheBandwidthOnceMeasured(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	gbps, err := at(b.Device, dev).MeasureBandwidth()
	require.NoError(t, err)
	require.Positive(t, gbps)
	text, err := b.SnapshotJSON()
	require.NoError(t, err)
	memory := decode(t, text)["devices"].([]any)[0].(map[string]any)["memory"].(map[string]any)
	require.Equal(t, true, memory["bandwidth_known"])
	require.InDelta(t, gbps, memory["bandwidth_gbps"], gbps*1e-6)
}

func TestSnapshotJSONSaysThatADeviceCannotBeRead(t *testing.T) {
	b := startBench(t)
	b.open("test:0")
	b.device(0).FailNth("memory", 1, nil)
	_, err := b.SnapshotJSON()
	requireCode(t, device.CodeDevice, err)
	_, err = b.SnapshotJSON()
	require.NoError(t, err)
}

func TestLeakReportJSON(t *testing.T) {
	b := newBench(t)
	require.JSONEq(t, `{"leaks": [], "omitted": 0, "total_bytes": 0}`, string(b.LeakReportJSON()),
		"works before the first start")
	require.NoError(t, b.Init(nil))
	p, m, stream := b.fill("test:0")
	addr, err := b.PoolAlloc(p, 500, 0)
	require.NoError(t, err)
	def, err := b.StreamDefault(b.open("test:0"))
	require.NoError(t, err)
	require.NotEqual(t, def, stream)
	report := b.leaks()
	require.Equal(t, map[string]int{"device": 1, "pool": 1, "manager": 1, "block": 2, "memory": 1,
		"stream": 1, "event": 1, "registration": 1}, report.kinds(), "the default stream is no leak")
	require.EqualValues(t, 3500, report.TotalBytes)
	require.Zero(t, report.Omitted)
	byKind := map[string]int{}
	for i, found := range report.Leaks {
		require.Equal(t, "test:0", found.Device)
		require.NotZero(t, found.Handle)
		byKind[found.Kind] = i
	}
	block := report.Leaks[byKind["block"]]
	require.EqualValues(t, addr, block.Address)
	require.EqualValues(t, 500, block.Bytes)
	require.Equal(t, "small", block.Tag, "a block without a tag has its pool's name")
	require.Equal(t, p, block.Handle)
	memory := report.Leaks[byKind["memory"]]
	require.EqualValues(t, 2000, memory.Bytes)
	require.Equal(t, "weights", memory.Tag)
	require.Positive(t, memory.AgeNS)
	require.NoError(t, made(b).Free(manager.MemoryHandle(memory.Handle)), "the handle is that of the block")
	require.Equal(t, p, report.Leaks[byKind["pool"]].Handle)
	require.Equal(t, m, report.Leaks[byKind["manager"]].Handle)
	require.Equal(t, stream, report.Leaks[byKind["stream"]].Handle)

	raw := decode(t, b.LeakReportJSON())
	require.ElementsMatch(t, []string{"leaks", "omitted", "total_bytes"}, keysOf(raw))
	require.ElementsMatch(t, []string{"kind", "device", "handle", "address", "bytes", "tag", "age_ns"},
		keysOf(raw["leaks"].([]any)[0]))
	require.NoError(t, b.Shutdown(true))
	kept := b.leaks()
	require.Equal(t, 8, len(kept.Leaks))
	require.Zero(t, kept.kinds()["memory"], "objects that were destroyed before are not listed")
}

// An age lies between two times that the test measured.
func TestALeakReportSaysHowOldABlockIs(t *testing.T) {
	b := startBench(t)
	begin := time.Now()
	b.fill("test:0")
	dev := b.open("test:0")
	rangeAddr := b.mapped(b.vpool(dev), 0, page)
	s, err := b.ElasticPoolCreate(dev, vmm.ElasticConfig{PageBytes: page, ReadyPages: -1})
	require.NoError(t, err)
	chat := modelRef{pool: s, id: "chat"}
	require.NoError(t, at(b.ElasticPool, chat.pool).RegisterModel(chat.id, vmm.ModelConfig{VirtualBytes: 4 * page}))
	_, _, err = at(b.ElasticPool, chat.pool).Alloc(chat.id, page)
	require.NoError(t, err)
	b.monitor()
	end := time.Now()
	least := time.Since(end)
	report := b.leaks()
	most := time.Since(begin)
	owner, err := at(b.Device, dev).Owner(rangeAddr)
	require.NoError(t, err)
	require.GreaterOrEqual(t, owner.Age, least)
	require.LessOrEqual(t, owner.Age, time.Since(begin))
	for _, kind := range []string{"device", "pool", "manager", "memory", "stream", "event", "registration", "vpool", "elastic_pool", "range", "monitor"} {
		require.NotZero(t, report.kinds()[kind], kind)
	}
	for _, found := range report.Leaks {
		if found.Kind == "block" {
			require.Zero(t, found.AgeNS, "a pool without tracking stores no times")
			continue
		}
		require.GreaterOrEqual(t, found.AgeNS, uint64(least), found.Kind)
		require.LessOrEqual(t, found.AgeNS, uint64(most), found.Kind)
	}
}

func TestLeakReportIsBounded(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.Init(nil))
	p := b.pool(b.open("test:0"))
	for range 1500 {
		_, err := b.PoolAlloc(p, 100, 0)
		require.NoError(t, err)
	}
	require.NoError(t, b.Shutdown(true))
	report := b.leaks()
	require.Len(t, report.Leaks, 1000)
	require.EqualValues(t, 502, report.Omitted, "1500 blocks, a pool and a device")
	require.EqualValues(t, 150_000, report.TotalBytes)
}

func TestCachedMemoryIsNoLeak(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	m, err := b.ManagerCreate(dev, nil)
	require.NoError(t, err)
	h, err := at(b.Manager, m).Alloc(100)
	require.NoError(t, err)
	require.NoError(t, made(b).Free(manager.MemoryHandle(h)))
	report := b.leaks()
	require.Equal(t, map[string]int{"device": 1, "manager": 1}, report.kinds())
	require.Zero(t, report.TotalBytes)
	require.Positive(t, b.device(0).HeldBytes())
	_, err = at(b.Manager, m).AllocTyped(manager.Request{Type: manager.Pinned, SizeBytes: 1})
	requireCode(t, device.CodeUnsupported, err)
	require.Zero(t, b.leaks().TotalBytes)
}
