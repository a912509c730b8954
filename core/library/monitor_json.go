package library

import (
	"math"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/monitor"
	"ferrum_mem/core/pressure"
)

type monitorSnapshot struct {
	Profile  pressure.Profile  `json:"profile"`
	Pressure monitorSummary    `json:"pressure"`
	Devices  []monitoredDevice `json:"devices"`
}

type monitorSummary struct {
	Level         pressure.Level `json:"level"`
	WeightedLevel pressure.Level `json:"weighted_level"`
	Devices       int            `json:"devices"`
	Unknown       int            `json:"unknown"`
	TotalBytes    uint64         `json:"total_bytes"`
	UsedBytes     uint64         `json:"used_bytes"`
}

type monitoredDevice struct {
	ID          string         `json:"id"`
	Managers    int            `json:"managers"`
	Level       pressure.Level `json:"level"`
	LevelBytes  pressure.Level `json:"level_by_bytes"`
	LevelSystem pressure.Level `json:"level_by_system"`
	// Memory is null until a reading has succeeded.
	Memory *memorySnapshot `json:"memory"`
	// Error is the reason why the last query of the device failed.
	Error  *reasonSnapshot `json:"error"`
	System *systemSnapshot `json:"system"`
}

// reasonSnapshot is the reason why a value is missing.
type reasonSnapshot struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

type systemSnapshot struct {
	Machine stallsSnapshot `json:"machine"`
	Group   stallsSnapshot `json:"group"`
	Events  eventsSnapshot `json:"events"`
	High    highSnapshot   `json:"high"`
}

type stallsSnapshot struct {
	Some   *stallSnapshot  `json:"some"`
	Full   *stallSnapshot  `json:"full"`
	Reason *reasonSnapshot `json:"reason"`
}

// stallSnapshot has shares in hundredths of a percent.
type stallSnapshot struct {
	Avg10   uint32 `json:"avg10_hundredths"`
	Avg60   uint32 `json:"avg60_hundredths"`
	Avg300  uint32 `json:"avg300_hundredths"`
	TotalNS uint64 `json:"total_ns"`
}

type eventsSnapshot struct {
	Counts *countsSnapshot `json:"counts"`
	Reason *reasonSnapshot `json:"reason"`
}

type countsSnapshot struct {
	Low     uint64 `json:"low"`
	High    uint64 `json:"high"`
	Max     uint64 `json:"max"`
	OOM     uint64 `json:"oom"`
	OOMKill uint64 `json:"oom_kill"`
}

type highSnapshot struct {
	// Bytes is null when there is no limit.
	Bytes  *uint64         `json:"bytes"`
	Reason *reasonSnapshot `json:"reason"`
}

// InfoJSON describes every watched device, in the form that the public header
// documents, from readings that are at most maxAge old.
func (m *Monitor) InfoJSON(maxAge time.Duration) ([]byte, error) {
	infos := m.Info(maxAge)
	s := m.Summarize(infos)
	snapshot := monitorSnapshot{
		Profile: m.Profile(), Devices: []monitoredDevice{},
		Pressure: monitorSummary{
			Level: s.Level, WeightedLevel: s.WeightedLevel, Devices: s.Devices, Unknown: s.Unknown,
			TotalBytes: s.TotalBytes, UsedBytes: s.UsedBytes,
		},
	}
	for _, info := range infos {
		snapshot.Devices = append(snapshot.Devices, monitored(info))
	}
	return encode("monitor.info_json", snapshot)
}

func monitored(info monitor.DeviceInfo) monitoredDevice {
	d := monitoredDevice{
		ID: info.Device.String(), Managers: info.Managers, Level: info.Level, LevelBytes: info.ByBytes,
		LevelSystem: info.BySystem, Error: reasonOf(info.Err),
	}
	if info.Known {
		memory := snapshotMemory(info.Memory)
		d.Memory = &memory
	}
	if info.System != nil {
		d.System = systemOf(*info.System)
	}
	return d
}

func reasonOf(err error) *reasonSnapshot {
	if err == nil {
		return nil
	}
	return &reasonSnapshot{Status: device.CodeOf(err).String(), Message: err.Error()}
}

func systemOf(p device.SystemPressure) *systemSnapshot {
	s := &systemSnapshot{
		Machine: stallsOf(p.Machine), Group: stallsOf(p.Group),
		Events: eventsSnapshot{Reason: reasonOf(p.Events.Err)}, High: highSnapshot{Reason: reasonOf(p.High.Err)},
	}
	if p.Events.Err == nil {
		e := p.Events.Events
		s.Events.Counts = &countsSnapshot{Low: e.Low, High: e.High, Max: e.Max, OOM: e.OOM, OOMKill: e.OOMKill}
	}
	if p.High.Err == nil && p.High.Bytes != math.MaxUint64 {
		s.High.Bytes = &p.High.Bytes
	}
	return s
}

func stallsOf(r device.StallReading) stallsSnapshot {
	if r.Err != nil {
		return stallsSnapshot{Reason: reasonOf(r.Err)}
	}
	of := func(s device.Stall) *stallSnapshot {
		total := uint64(math.MaxUint64)
		if s.TotalMicroseconds <= total/1000 {
			total = s.TotalMicroseconds * 1000
		}
		return &stallSnapshot{Avg10: s.Avg10, Avg60: s.Avg60, Avg300: s.Avg300, TotalNS: total}
	}
	return stallsSnapshot{Some: of(r.Stalls.Some), Full: of(r.Stalls.Full)}
}
