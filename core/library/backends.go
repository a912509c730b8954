package library

import (
	"encoding/json"

	"ferrum_mem/core/device"
	"ferrum_mem/core/discover"
)

type backendsReport struct {
	Backends []backendReport `json:"backends"`
	// Recommended is the backend that the automatic choice tries first.
	Recommended        string `json:"recommended"`
	DiscoveredAtUnixNs int64  `json:"discovered_at_unix_ns"`
	DiscoveryTookNs    int64  `json:"discovery_took_ns"`
}

type backendReport struct {
	Backend   string         `json:"backend"`
	Name      string         `json:"name"`
	Available bool           `json:"available"`
	Usable    bool           `json:"usable"`
	Reason    *string        `json:"reason"`
	Error     *string        `json:"error"`
	Native    int64          `json:"native_code"`
	Library   *string        `json:"library"`
	Version   *string        `json:"version"`
	Devices   []deviceReport `json:"devices"`
}

type deviceReport struct {
	ID                         string   `json:"id"`
	Index                      int      `json:"index"`
	Name                       string   `json:"name"`
	TotalBytes                 uint64   `json:"total_bytes"`
	FreeBytes                  *uint64  `json:"free_bytes"`
	ComputeCapability          *string  `json:"compute_capability"`
	UnifiedMemory              bool     `json:"unified_memory"`
	MaxAllocationBytes         *uint64  `json:"max_allocation_bytes"`
	GranularityBytes           uint64   `json:"granularity_bytes"`
	AlignmentBytes             uint64   `json:"alignment_bytes"`
	RecommendedFractionPercent int      `json:"recommended_fraction_percent"`
	HostAddressable            bool     `json:"host_addressable"`
	Capabilities               []string `json:"capabilities"`
	// Processes is null if the processes are not known.
	Processes []device.ProcessUse `json:"processes"`
}

// BackendsJSON describes every backend with its devices, or the reason why it cannot be
// used here, in the form that the public header documents. The first call queries all
// backends; later calls return the same result. It opens no device.
func (l *Library) BackendsJSON() ([]byte, error) {
	const op = "library.backends"
	r, err := l.started(op)
	if err != nil {
		return nil, err
	}
	found := r.backends.Discover()
	report := backendsReport{
		Backends: []backendReport{}, Recommended: found.Best().Name(),
		DiscoveredAtUnixNs: found.At.UnixNano(), DiscoveryTookNs: found.Took.Nanoseconds(),
	}
	for i := range found.Backends {
		report.Backends = append(report.Backends, describeBackend(&found.Backends[i]))
	}
	return encode(op, report)
}

func describeBackend(found *discover.Backend) backendReport {
	backend := backendReport{
		Backend: found.Name, Name: found.DisplayName(), Available: found.Available, Usable: found.Usable,
		Library: textOrNull(found.Library), Version: textOrNull(found.Version),
		Reason: textOrNull(string(found.Absence)), Error: textOrNull(found.Reason()), Devices: []deviceReport{},
	}
	if typed, ok := found.Err.(*device.Error); ok {
		backend.Native = typed.Native
	}
	for i := range found.Devices {
		backend.Devices = append(backend.Devices, describeDevice(&found.Devices[i]))
	}
	return backend
}

func describeDevice(found *discover.Device) deviceReport {
	d := deviceReport{
		ID: found.ID.String(), Index: found.ID.Index, Name: found.Name, TotalBytes: found.TotalBytes,
		ComputeCapability: textOrNull(found.ComputeCapability), UnifiedMemory: found.UnifiedMemory,
		GranularityBytes: found.GranularityBytes, AlignmentBytes: found.AlignmentBytes,
		RecommendedFractionPercent: found.RecommendedFractionPercent(),
		HostAddressable:            found.HostAddressable, Capabilities: []string{}, Processes: found.Processes,
	}
	if found.FreeKnown {
		d.FreeBytes = &found.FreeBytes
	}
	if found.MaxAllocationBytes != 0 {
		d.MaxAllocationBytes = &found.MaxAllocationBytes
	}
	if found.Peer {
		d.Capabilities = append(d.Capabilities, "peer")
	}
	if found.VirtualMemory {
		d.Capabilities = append(d.Capabilities, "virtual_memory")
	}
	return d
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func encode(op string, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, device.Errorf(device.CodeSerialization, op, "%w", err)
	}
	return text, nil
}
