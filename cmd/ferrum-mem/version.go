package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"ferrum_mem/core/library"
)

type versionReport struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersion(s streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			v := versionReport{Version: library.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			if asJSON {
				return printJSON(s, v)
			}
			_, err := fmt.Fprintf(s.out, "ferrum-mem %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
			return err
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}
