package main

import (
	"encoding/json"
	"os"

	"github.com/spf13/cobra"

	"ferrum_mem/core/library"
)

// readHandlers reads the signal handlers of a program from a snapshot file. "" means none.
func readHandlers(cmd *cobra.Command, file string) ([]library.Handler, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef(cmd, "--snapshot: %v", err)
	}
	var snapshot struct {
		Handlers *[]library.Handler `json:"signal_handlers"`
	}
	if err := json.Unmarshal(text, &snapshot); err != nil || snapshot.Handlers == nil {
		return nil, usagef(cmd, "--snapshot %s: is not the output of ferrum_snapshot_json", file)
	}
	return *snapshot.Handlers, nil
}

// examineHandlers reports what happens to signal handlers that lack SA_ONSTACK, and names
// those of a program.
func (r *doctorReport) examineHandlers(handlers []library.Handler) {
	const check, advice = "signals", "install it with SA_ONSTACK in the program: without the flag it may overwrite memory of the library"
	if os.Getenv(library.EnvSignalHandlers) == "leave" {
		r.add(check, statusWarning, "install every handler with SA_ONSTACK, or unset "+library.EnvSignalHandlers,
			"handlers without SA_ONSTACK are left as they are")
	} else {
		r.add(check, statusOK, "", "handlers without SA_ONSTACK get the flag when an object is opened or created")
	}
	for _, h := range handlers {
		switch {
		case !h.Repaired:
			r.add(check, statusWarning, advice, "without SA_ONSTACK, left as it is: %v", h)
		case h.Late:
			r.add(check, statusWarning, advice, "installed without SA_ONSTACK after ferrum_init, flag added later: %v", h)
		default:
			r.add(check, statusOK, "", "installed without SA_ONSTACK, flag added by ferrum_init: %v", h)
		}
	}
}
