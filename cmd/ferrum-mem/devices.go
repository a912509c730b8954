package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/drivers/host"
)

// backends is the library's description of what there is, in its public form.
type backends struct {
	Backends []struct {
		Backend   string  `json:"backend"`
		Available bool    `json:"available"`
		Error     *string `json:"error"`
		Devices   []struct {
			ID           string   `json:"id"`
			Name         string   `json:"name"`
			TotalBytes   uint64   `json:"total_bytes"`
			Capabilities []string `json:"capabilities"`
		} `json:"devices"`
	} `json:"backends"`
}

func newDevices(s streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the backends of this build and their devices",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			text, err := readBackends(s)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(s, json.RawMessage(text))
			}
			var found backends
			if err := json.Unmarshal(text, &found); err != nil {
				return err
			}
			return printDevices(s.out, found)
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// newLibrary is the library with the drivers of this build, not started.
func newLibrary(s streams) *library.Library {
	return library.New(library.Options{Drivers: drivers, Stderr: s.err})
}

func drivers(settings library.Settings) ([]device.Driver, error) {
	cpu, err := host.New(host.Config{
		Devices:      settings.HostDevices,
		MemoryBytes:  settings.HostMemoryBytes,
		MemoryForced: settings.HostMemoryForced,
	})
	if err != nil {
		return nil, err
	}
	return []device.Driver{cpu}, nil
}

func readBackends(s streams) ([]byte, error) {
	l := newLibrary(s)
	if err := l.Init(nil); err != nil {
		return nil, err
	}
	text, err := l.BackendsJSON()
	if stopErr := l.Shutdown(false); err == nil {
		err = stopErr
	}
	return text, err
}

func printDevices(out io.Writer, found backends) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DEVICE\tMEMORY\tNAME\tCAPABILITIES")
	for _, b := range found.Backends {
		if !b.Available {
			fmt.Fprintf(table, "%s\t-\tnot available: %s\t\n", b.Backend, *b.Error)
		}
		for _, d := range b.Devices {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", d.ID, totalText(d.TotalBytes), d.Name, orDash(strings.Join(d.Capabilities, ", ")))
		}
	}
	return table.Flush()
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// totalText is a capacity, of which 0 means that it is not known.
func totalText(bytes uint64) string {
	if bytes == 0 {
		return "unknown"
	}
	return formatBytes(bytes)
}
