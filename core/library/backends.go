package library

import (
	"encoding/json"

	"ferrum_mem/core/device"
)

type backendsReport struct {
	Backends []backendReport `json:"backends"`
}

type backendReport struct {
	Backend   string         `json:"backend"`
	Available bool           `json:"available"`
	Error     *string        `json:"error"`
	Devices   []deviceReport `json:"devices"`
}

type deviceReport struct {
	ID               string   `json:"id"`
	Name             string   `json:"name"`
	TotalBytes       uint64   `json:"total_bytes"`
	GranularityBytes uint64   `json:"granularity_bytes"`
	AlignmentBytes   uint64   `json:"alignment_bytes"`
	HostAddressable  bool     `json:"host_addressable"`
	Capabilities     []string `json:"capabilities"`
}

// BackendsJSON describes every backend of this build with its devices, or the
// reason why it cannot be used here, in the form that the public header gives.
// It opens no device.
func (l *Library) BackendsJSON() ([]byte, error) {
	const op = "library.backends"
	r, err := l.started(op)
	if err != nil {
		return nil, err
	}
	report := backendsReport{Backends: []backendReport{}}
	for _, found := range r.backends.Backends() {
		backend := backendReport{Backend: found.Name, Available: found.Available, Devices: []deviceReport{}}
		if found.Err != nil {
			text := found.Err.Error()
			backend.Error = &text
		}
		for _, info := range found.Devices {
			backend.Devices = append(backend.Devices, describe(info))
		}
		report.Backends = append(report.Backends, backend)
	}
	return encode(op, report)
}

func describe(info device.Info) deviceReport {
	d := deviceReport{
		ID: info.ID.String(), Name: info.Name, TotalBytes: info.TotalBytes,
		GranularityBytes: info.GranularityBytes, AlignmentBytes: info.AlignmentBytes,
		HostAddressable: info.HostAddressable, Capabilities: []string{},
	}
	if info.Peer {
		d.Capabilities = append(d.Capabilities, "peer")
	}
	if info.VirtualMemory {
		d.Capabilities = append(d.Capabilities, "virtual_memory")
	}
	return d
}

func encode(op string, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, device.Errorf(device.CodeSerialization, op, "%w", err)
	}
	return text, nil
}
