package library

import (
	"cmp"
	"time"

	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/track"
)

type snapshot struct {
	Version  string           `json:"version"`
	UptimeNS uint64           `json:"uptime_ns"`
	Devices  []deviceSnapshot `json:"devices"`
	// Handlers has the signal handlers that were found without SA_ONSTACK.
	Handlers []Handler `json:"signal_handlers"`
}

// deviceSnapshot has the fields of a device: its own fields, and lists of records by
// name.
type deviceSnapshot map[string]any

// recordsOfPools is the list of the pools of all owners.
const recordsOfPools = "pools"

// add appends to a list, which must be one of the lists that its kind is registered
// with.
func (s deviceSnapshot) add(list string, record any) {
	records, _ := s[list].([]any)
	s[list] = append(records, record)
}

// memorySnapshot has the fields of the public memory information.
type memorySnapshot struct {
	Pressure           string   `json:"pressure"`
	TotalBytes         uint64   `json:"total_bytes"`
	UsedBytes          uint64   `json:"used_bytes"`
	FreeBytes          uint64   `json:"free_bytes"`
	ReservedBytes      uint64   `json:"reserved_bytes"`
	ActiveAllocations  uint64   `json:"active_allocations"`
	LargestFreeBytes   uint64   `json:"largest_free_bytes"`
	FragmentationRatio float32  `json:"fragmentation_ratio"`
	UtilizationPercent float32  `json:"utilization_percent"`
	BandwidthKnown     bool     `json:"bandwidth_known"`
	BandwidthGBps      *float32 `json:"bandwidth_gbps"`
	ReadingAgeNS       uint64   `json:"reading_age_ns"`
	LimitBytes         uint64   `json:"limit_bytes"`
	DeviceTotalBytes   uint64   `json:"device_total_bytes"`
	DeviceFreeBytes    uint64   `json:"device_free_bytes"`
}

// poolSnapshot adds the creator to a pool's snapshot: "pool" (PoolCreate), "manager",
// "fallback_manager", or "graph" for the private pool of a graph.
type poolSnapshot struct {
	pool.Snapshot
	Owner string `json:"owner"`
}

type managerSnapshot struct {
	LiveBlocks  uint64                        `json:"live_blocks"`
	MemoryTypes map[manager.MemoryType]uint64 `json:"memory_types"`
	Statistics  track.Statistics              `json:"statistics"`
	Adopted     manager.Adopted               `json:"adopted"`
}

// SnapshotJSON returns all counters in the form that the public header documents, with
// devices in order of their ids. The record of each pool is of one moment; the records
// of different pools are of different moments.
func (l *Library) SnapshotJSON() ([]byte, error) {
	const op = "library.snapshot"
	r, err := l.started(op)
	if err != nil {
		return nil, err
	}
	s := snapshot{Version: Version, UptimeNS: uint64(time.Since(r.startedAt)), Devices: []deviceSnapshot{}, Handlers: l.foundHandlers()}
	for _, d := range l.registry.listDevices() {
		part, err := l.registry.snapshotDevice(d)
		if err != nil {
			if d.hasEnded() {
				continue
			}
			return nil, on(err, d.Engine)
		}
		s.Devices = append(s.Devices, part)
	}
	return encode(op, s)
}

func (g *registry) listDevices() []*Device {
	var devices []*Device
	g.devices.Each(func(_ uint64, d *Device) bool {
		devices = append(devices, d)
		return true
	})
	sorting.By(devices, func(a, b *Device) int {
		x, y := a.Engine.ID(), b.Engine.ID()
		return cmp.Or(cmp.Compare(x.Backend, y.Backend), cmp.Compare(x.Index, y.Index))
	})
	return devices
}

func (g *registry) snapshotDevice(d *Device) (deviceSnapshot, error) {
	memory, err := d.Engine.MemoryInfo()
	if err != nil {
		return nil, err
	}
	s := deviceSnapshot{
		"id": d.Engine.ID().String(), "memory": snapshotMemory(memory), "statistics": d.Engine.Statistics(),
		"tags": append([]track.TagUse{}, d.Engine.Tags()...), "asleep": d.Engine.Asleep(),
	}
	for _, k := range g.kinds {
		for _, list := range k.traits().records {
			if s[list] == nil {
				s[list] = []any{}
			}
		}
		k.each(func(_ uint64, m member) bool {
			shown, is := m.(snapshotted)
			if is && m.of(d) {
				shown.snapshot(d, s)
			}
			return is
		})
	}
	return s, nil
}

func snapshotMemory(m engine.MemoryInfo) memorySnapshot {
	return memorySnapshot{
		Pressure: m.Pressure.String(), TotalBytes: m.TotalBytes, UsedBytes: m.UsedBytes,
		FreeBytes: m.FreeBytes, ReservedBytes: m.ReservedBytes, ActiveAllocations: m.ActiveAllocations,
		FragmentationRatio: m.FragmentationRatio, UtilizationPercent: m.UtilizationPercent(),
		BandwidthKnown: m.BandwidthGBps != nil, BandwidthGBps: m.BandwidthGBps,
		LargestFreeBytes: m.LargestFreeBytes, ReadingAgeNS: uint64(m.ReadingAge),
		LimitBytes: m.LimitBytes, DeviceTotalBytes: m.DeviceTotalBytes, DeviceFreeBytes: m.DeviceFreeBytes,
	}
}
