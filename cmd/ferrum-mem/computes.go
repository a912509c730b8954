package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"ferrum_mem/drivers/installed"
)

// computes are the compute backends of the library, or why it was not loaded.
type computes struct {
	// Library is the file; nil: it was not loaded, and Error states why.
	Library  *string          `json:"library"`
	Error    *string          `json:"error"`
	Backends []computeBackend `json:"backends"`
}

// computeBackend is a backend in the form of ferrum_compute_backends_json.
type computeBackend struct {
	Name         string          `json:"name"`
	Type         string          `json:"backend_type"`
	Available    bool            `json:"available"`
	Reason       string          `json:"reason,omitempty"`
	Version      string          `json:"version,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	// Environment has the variables that the engine reads; nil: the variable is not set.
	Environment map[string]*string `json:"environment,omitempty"`
}

// listComputes loads the library for its list of compute backends. An engine that the library loads, such as
// ONNX Runtime, stays loaded.
func listComputes(s streams) computes {
	defer busy(s.progress, "looking for compute backends")()
	found := computes{Backends: []computeBackend{}}
	l, err := installed.Open()
	if err == nil {
		found.Library = &l.Path
		var list json.RawMessage
		if list, err = l.Backends(); err == nil {
			err = json.Unmarshal(list, &found.Backends)
		}
		err = errors.Join(err, l.Close())
	}
	if err != nil {
		text := message(err)
		found.Error = &text
	}
	return found
}

// print prints the list in the form of devices.
func (c computes) print(out io.Writer) error {
	fmt.Fprint(out, "\nCompute backends:\n")
	if c.Error != nil {
		fmt.Fprintf(out, "✗ %s\n", *c.Error)
	}
	for _, b := range c.Backends {
		mark := "✗"
		if b.Available {
			mark = "✓"
		}
		fmt.Fprintf(out, "%s %s\n    %s\n", mark, b.Name, b.state())
		for _, name := range b.variables() {
			fmt.Fprintf(out, "    %s=%q\n", name, *b.Environment[name])
		}
	}
	return nil
}

// state states what the backend is, or why it is not available.
func (b computeBackend) state() string {
	if !b.Available {
		return b.Reason
	}
	var c struct {
		Extra struct {
			Library      string         `json:"library"`
			Instructions string         `json:"instructions"`
			Threads      int            `json:"threads"`
			Operations   map[string]any `json:"operations"`
		} `json:"extra_capabilities"`
	}
	parts := []string{"version " + b.Version}
	if json.Unmarshal(b.Capabilities, &c) == nil {
		for _, part := range []string{c.Extra.Library, c.Extra.Instructions} {
			if part != "" {
				parts = append(parts, part)
			}
		}
		parts = append(parts, "threads: "+fmt.Sprint(c.Extra.Threads), "operators: "+fmt.Sprint(len(c.Extra.Operations)))
	}
	return strings.Join(parts, ", ")
}

// variables returns the names of the variables that are set, sorted.
func (b computeBackend) variables() []string {
	var set []string
	for _, name := range slices.Sorted(maps.Keys(b.Environment)) {
		if b.Environment[name] != nil {
			set = append(set, name)
		}
	}
	return set
}

// examineComputes reports the compute backends. An engine that a machine lacks is no problem. An engine that
// a variable of the environment names should work.
func (r *doctorReport) examineComputes() {
	if r.Compute.Error != nil {
		r.add("compute", statusWarning, "run `make build`, or install the library: models are not run and planned without it", "%s", *r.Compute.Error)
	}
	for _, b := range r.Compute.Backends {
		check, set := "compute "+b.Name, b.variables()
		switch {
		case b.Available:
			r.add(check, statusOK, "", "%s", b.state())
		case len(set) > 0:
			r.add(check, statusWarning, "correct or unset "+strings.Join(set, ", "), "not available: %s", b.Reason)
		default:
			r.add(check, statusOK, "", "not available: %s", b.Reason)
		}
	}
}
