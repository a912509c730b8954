package main

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"ferrum_mem/core/device"
	"ferrum_mem/core/discover"
	"ferrum_mem/core/library"
	"ferrum_mem/drivers"
	"ferrum_mem/drivers/host"
	"ferrum_mem/drivers/installed"
)

// backends is the library's public description of the backends and devices.
type backends struct {
	Backends []struct {
		Backend   string  `json:"backend"`
		Name      string  `json:"name"`
		Available bool    `json:"available"`
		Usable    bool    `json:"usable"`
		Reason    *string `json:"reason"`
		Error     *string `json:"error"`
		Devices   []struct {
			ID                string              `json:"id"`
			Name              string              `json:"name"`
			TotalBytes        uint64              `json:"total_bytes"`
			FreeBytes         *uint64             `json:"free_bytes"`
			ComputeCapability *string             `json:"compute_capability"`
			UnifiedMemory     bool                `json:"unified_memory"`
			Capabilities      []string            `json:"capabilities"`
			Processes         []device.ProcessUse `json:"processes"`
		} `json:"devices"`
	} `json:"backends"`
}

func newDevices(s streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the backends, their devices, the compute backends, and why others are unavailable",
		Long: "List all backends with their devices, or why they cannot be used here, and the recommended one.\n" +
			"Each vendor's library is queried in a separate process; see FERRUM_PROBE in docs/environment.md.\n" +
			"Then list the compute backends of " + installed.FileName + " in the same way.",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			var best discover.BackendType
			text, err := ask(s, func(l *library.Library) (text []byte, err error) {
				if text, err = l.BackendsJSON(); err == nil {
					best, err = l.BackendBest()
				}
				return text, err
			})
			if err != nil {
				return err
			}
			computes := listComputes(s)
			if asJSON {
				all := map[string]any{}
				if err := json.Unmarshal(text, &all); err != nil {
					return err
				}
				all["compute"] = computes
				return printJSON(s, all)
			}
			var found backends
			if err := json.Unmarshal(text, &found); err != nil {
				return err
			}
			if err := printDevices(s.out, found, best.String()); err != nil {
				return err
			}
			return computes.print(s.out)
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// newLibrary returns the library with the drivers of this build, not started.
func newLibrary(s streams) *library.Library {
	o := library.Options{Drivers: makeDrivers, Surveyors: drivers.Surveyors(), Stderr: s.err}
	// The command is its own helper.
	if self, err := os.Executable(); err == nil {
		o.ProbeHelpers = []string{self}
	}
	return library.New(o)
}

func makeDrivers(settings library.Settings) ([]device.Driver, error) {
	return drivers.New(drivers.Settings{Host: host.Config{
		Devices:      settings.HostDevices,
		MemoryBytes:  settings.HostMemoryBytes,
		MemoryForced: settings.HostMemoryForced,
	}})
}

// ofDevice adds the device to the error of a backend that cannot be used, which does not
// know the device.
func ofDevice(id string, err error) error {
	var typed *device.Error
	if !errors.As(err, &typed) || typed.Device != "" || typed.Code != device.CodeBackendUnavailable {
		return err
	}
	named := *typed
	named.Device = id
	return &named
}

// ask starts the library for one query.
func ask(s streams, question func(*library.Library) ([]byte, error)) ([]byte, error) {
	defer busy(s.progress, "looking for devices")()
	l := newLibrary(s)
	if err := l.Init(nil); err != nil {
		return nil, err
	}
	text, err := question(l)
	if stopErr := l.Shutdown(false); err == nil {
		err = stopErr
	}
	return text, err
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// totalText formats a capacity. 0 means not known.
func totalText(bytes uint64) string {
	if bytes == 0 {
		return "unknown"
	}
	return formatBytes(bytes)
}
