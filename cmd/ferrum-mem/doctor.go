package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ferrum_mem/core/device"
	"ferrum_mem/core/discover"
	"ferrum_mem/core/library"
	"ferrum_mem/core/pool"
	"ferrum_mem/drivers"
	"ferrum_mem/drivers/host"
)

// status is the severity of a finding.
type status string

const (
	statusOK      status = "ok"
	statusWarning status = "warning"
	// statusProblem means that something does not work.
	statusProblem status = "problem"
)

// finding is the result of one check of doctor.
type finding struct {
	Check  string `json:"check"`
	Status status `json:"status"`
	// Found is the state. Advice states how to improve it, or is "" if the state is
	// good.
	Found  string `json:"found"`
	Advice string `json:"advice"`
}

type doctorReport struct {
	OK          bool              `json:"ok"`
	Version     string            `json:"version"`
	Findings    []finding         `json:"findings"`
	Limits      host.Limits       `json:"limits"`
	Environment map[string]string `json:"environment"`
	// Backends is null if the library does not start.
	Backends json.RawMessage `json:"backends"`
	Compute  computes        `json:"compute"`
}

func newDoctor(s streams) *cobra.Command {
	var asJSON bool
	var snapshot string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine: backends, devices, compute backends, limits, environment",
		Long: "Check this machine: which backends, devices and compute backends work, which system limits affect\n" +
			"them, and which environment variables are read. With --snapshot it also lists the signal handlers of a\n" +
			"program that can overwrite memory of the library. Exits 1 if something does not work.",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			handlers, err := readHandlers(cmd, snapshot)
			if err != nil {
				return err
			}
			r := examine(s, handlers)
			if asJSON {
				err = printJSON(s, r)
			} else {
				err = printDoctor(s.out, r)
			}
			if err == nil && !r.OK {
				return errNo
			}
			return err
		},
	}
	addJSONFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&snapshot, "snapshot", "", "a `FILE` with the output of ferrum_snapshot_json of a program")
	return cmd
}

// examine makes all checks.
func examine(s streams, handlers []library.Handler) doctorReport {
	defer busy(s.progress, "checking this machine")()
	r := doctorReport{Version: library.Version, Limits: host.ReadLimits(), Environment: environment()}
	r.Findings = append(r.Findings, finding{Check: "version", Status: statusOK, Found: library.Version})
	r.examineLibrary(s)
	r.Compute = listComputes(s)
	r.examineComputes()
	r.Findings = append(r.Findings, limitFindings(r.Limits)...)
	r.examineHandlers(handlers)
	r.Findings = append(r.Findings, environmentFindings(r.Environment)...)
	r.OK = !slices.ContainsFunc(r.Findings, func(f finding) bool { return f.Status == statusProblem })
	return r
}

func (r *doctorReport) add(check string, st status, advice, format string, args ...any) {
	r.Findings = append(r.Findings, finding{Check: check, Status: st, Found: fmt.Sprintf(format, args...), Advice: advice})
}

// examineLibrary starts the library as a program would, and uses every device.
func (r *doctorReport) examineLibrary(s streams) {
	l := newLibrary(s)
	if err := l.Init(nil); err != nil {
		r.add("library", statusProblem, "correct or unset the variable that the message names", "does not start: %s", message(err))
		return
	}
	defer func() {
		if err := l.Shutdown(false); err != nil {
			r.add("library", statusProblem, "report this with the message", "does not stop: %s", message(err))
		}
	}()
	text, err := l.BackendsJSON()
	var found backends
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil {
		r.add("library", statusProblem, "report this with the message", "does not list its backends: %s", message(err))
		return
	}
	r.Backends = text
	for _, b := range found.Backends {
		if !b.Available {
			st, advice := absent(b.Backend, *b.Reason)
			r.add("backend "+b.Backend, st, advice, "not available: %s", *b.Error)
			continue
		}
		if !b.Usable {
			r.add("backend "+b.Backend, statusWarning, "this version can only list them", "found, devices: %d, but this build has no driver that opens them", len(b.Devices))
			continue
		}
		r.add("backend "+b.Backend, statusOK, "", "available, devices: %d", len(b.Devices))
		for _, d := range b.Devices {
			if err := tryDevice(l, d.ID); err != nil {
				r.add("device "+d.ID, statusProblem, "correct what the message names", "%s: does not work: %s", d.Name, message(err))
				continue
			}
			r.add("device "+d.ID, statusOK, "", "%s, %s; a block was allocated and freed", d.Name, totalText(d.TotalBytes))
		}
	}
}

// absent returns the severity of a missing backend. Nothing works without the host.
// Hardware that a machine does not have is no problem. A driver that exists and does not
// work is one.
func absent(backend, reason string) (status, string) {
	const see = "correct what the message names"
	if backend == host.Backend {
		return statusProblem, see
	}
	switch device.Absence(reason) {
	case device.AbsenceLibraryNotFound, device.AbsenceNoDevice, device.AbsenceSystem, device.AbsenceSwitchedOff:
		return statusOK, ""
	}
	return statusWarning, see
}

// tryDevice allocates and frees a block.
func tryDevice(l *library.Library, id string) (err error) {
	handle, err := l.DeviceOpen(id)
	if err != nil {
		return err
	}
	dev, err := l.Device("doctor", handle)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := dev.Close(true); err == nil {
			err = closeErr
		}
	}()
	const size = 1 << 20
	p, err := l.PoolCreate(handle, &pool.Config{Name: "doctor", InitialSizeBytes: size})
	if err != nil {
		return err
	}
	addr, err := l.PoolAlloc(p, size, 0)
	if err != nil {
		return err
	}
	if err := l.PoolFree(p, addr, 0); err != nil {
		return err
	}
	return dev.Synchronize(device.Forever)
}

// The limits that matter for large pools. doctor warns below these values.
const (
	// wantedMaps is the default of the kernel. A pool of 2 MiB pages needs a mapping for
	// each run of pages.
	wantedMaps = 65530
	// wantedMemlock is enough to pin the staging memory of one transfer.
	wantedMemlock = 64 << 20
)

func limitFindings(l host.Limits) []finding {
	var r doctorReport
	switch {
	case l.MemTotalBytes == 0:
		r.add("memory", statusWarning, "set "+host.EnvMemory, "the memory of this machine cannot be read")
	case l.MemAvailableBytes < l.MemTotalBytes/20:
		r.add("memory", statusWarning, "end programs that use the memory, or lower "+host.EnvMemory,
			"only %s of %s is available", formatBytes(l.MemAvailableBytes), formatBytes(l.MemTotalBytes))
	default:
		r.add("memory", statusOK, "", "%s of %s available", formatBytes(l.MemAvailableBytes), formatBytes(l.MemTotalBytes))
	}
	switch {
	case l.CgroupVersion == 0:
		r.add("cgroup", statusOK, "", "no control group with a memory limit")
	case l.CgroupLimitBytes == 0 || l.CgroupLimitBytes >= l.MemTotalBytes && l.MemTotalBytes != 0:
		r.add("cgroup", statusOK, "", "version %d, does not limit the memory", l.CgroupVersion)
	default:
		r.add("cgroup", statusOK, "", "version %d, limits the memory to %s", l.CgroupVersion, formatBytes(l.CgroupLimitBytes))
	}
	switch {
	case l.MemlockLimitBytes == math.MaxUint64:
		r.add("memlock", statusOK, "", "unlimited")
	case l.MemlockLimitBytes < wantedMemlock:
		r.add("memlock", statusWarning, "raise it (ulimit -l) for programs that pin host memory", "%s can be locked", formatBytes(l.MemlockLimitBytes))
	default:
		r.add("memlock", statusOK, "", "%s can be locked", formatBytes(l.MemlockLimitBytes))
	}
	if l.MaxMapCount != 0 && l.MaxMapCount < wantedMaps {
		r.add("map count", statusWarning, fmt.Sprintf("raise it: sysctl vm.max_map_count=%d", wantedMaps), "%d mappings a process", l.MaxMapCount)
	} else {
		r.add("map count", statusOK, "", "%s mappings a process", orUnknown(l.MaxMapCount))
	}
	switch l.TransparentHugePages {
	case "always", "madvise":
		r.add("huge pages", statusOK, "", "%s", l.TransparentHugePages)
	case "never":
		r.add("huge pages", statusWarning, "set /sys/kernel/mm/transparent_hugepage/enabled to madvise: the first access to new memory is then several times faster", "never")
	default:
		r.add("huge pages", statusWarning, "disabled: the first access to a large block is slower", "not supported by this kernel")
	}
	if l.OvercommitPolicy == "strict" {
		r.add("overcommit", statusWarning, "sysctl vm.overcommit_memory=0, or expect large reservations to fail", "strict")
	} else {
		r.add("overcommit", statusOK, "", "%s", orDash(l.OvercommitPolicy))
	}
	return r.Findings
}

func orUnknown(n uint64) string {
	if n == 0 {
		return "unknown"
	}
	return fmt.Sprint(n)
}

// known are the variables that a part of the project reads; see docs/environment.md.
var known = append(drivers.Environment(),
	discover.EnvProbe, discover.EnvProbeHelper, discover.EnvProbeTimeout, library.EnvSignalHandlers,
	"FERRUM_LOG", "FERRUM_DEBUG", "FERRUM_MEM_LIBRARY", "FERRUM_MEM_LIB_DIR", "FERRUM_MEM_COMMAND", "FERRUM_TRACES_DIR",
	"FERRUM_TEST_DEVICE", "FERRUM_GPU_RESULTS", "FERRUM_GPU_SECONDS", "FERRUM_CPU_INSTRUCTIONS", "FERRUM_ORT_LIBRARY",
)

// environment returns the FERRUM_ variables that are set.
func environment() map[string]string {
	set := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "FERRUM_") {
			set[name] = value
		}
	}
	return set
}

func environmentFindings(set map[string]string) []finding {
	var r doctorReport
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if slices.Contains(known, name) {
			r.add(name, statusOK, "", "%q", set[name])
		} else {
			r.add(name, statusWarning, "nothing reads this variable; is it misspelt? docs/environment.md has the list", "%q", set[name])
		}
	}
	if len(names) == 0 {
		r.add("environment", statusOK, "", "no FERRUM_ variable is set")
	}
	return r.Findings
}

func printDoctor(out io.Writer, r doctorReport) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	warnings, problems := 0, 0
	for _, f := range r.Findings {
		mark := "ok"
		switch f.Status {
		case statusWarning:
			mark = "WARN"
			warnings++
		case statusProblem:
			mark = "FAIL"
			problems++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", mark, f.Check, f.Found)
		if f.Advice != "" {
			fmt.Fprintf(table, "\t\t-> %s\n", f.Advice)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s, %s\n", device.Count(problems, "problem"), device.Count(warnings, "warning"))
	return err
}
