package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/discover"
	"ferrum_mem/core/library"
	"ferrum_mem/drivers/installed"
)

func TestSubcommands(t *testing.T) {
	o := invoke(t, "--help")
	assert.Equal(t, exitDone, o.status)
	commands := regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(o.out, -1)
	var verbs []string
	for _, c := range commands {
		verbs = append(verbs, c[1])
	}
	assert.Equal(t, []string{"completion", "devices", "doctor", "fit", "graph", "help", "manual", "plan", "replay", "run", "version", "weights"}, verbs, "only commands that exist are listed")
	assert.Empty(t, o.err)

	for _, args := range [][]string{{}, {"frobnicate"}, {"devices", "extra"}, {"version", "--frob"}, {"doctor", "x"}, {"--frob"}} {
		o := invoke(t, args...)
		assert.Equal(t, exitUsage, o.status, args)
		assert.Empty(t, o.out)
		assert.Contains(t, o.err, "--help' for usage")
		if len(args) > 0 {
			assert.Contains(t, o.err, strings.TrimLeft(args[len(args)-1], "-"), "names what was typed")
		}
	}
}

func TestVersion(t *testing.T) {
	header, err := os.ReadFile("../../include/ferrum_mem/base.h")
	require.NoError(t, err)
	var parts []string
	for _, part := range []string{"MAJOR", "MINOR", "PATCH"} {
		found := regexp.MustCompile(`#define FERRUM_VERSION_` + part + ` (\d+)`).FindSubmatch(header)
		require.NotNil(t, found)
		parts = append(parts, string(found[1]))
	}
	want := strings.Join(parts, ".")
	assert.Equal(t, want, library.Version)
	assert.Contains(t, invoke(t, "version").out, "ferrum-mem "+want+" ")
	assert.Equal(t, "ferrum-mem "+want+"\n", invoke(t, "--version").out)
	var v versionReport
	require.NoError(t, json.Unmarshal([]byte(invoke(t, "version", "--json").out), &v))
	assert.Equal(t, want, v.Version)
}

func TestDevices(t *testing.T) {
	cleanEnvironment(t)
	t.Setenv("FERRUM_HOST_DEVICES", "2")
	t.Setenv("FERRUM_HOST_MEMORY", "64MiB")
	o := invoke(t, "devices")
	require.Equal(t, exitDone, o.status, o.err)
	lines := strings.Split(o.out, "\n")
	require.Equal(t, "✓ CPU", lines[0])
	assert.Regexp(t, `^    cpu:0  .+: 32\.00 MiB \(32\.00 MiB free\)$`, lines[1])
	assert.Regexp(t, `^    cpu:1  .+: 32\.00 MiB \(32\.00 MiB free\)$`, lines[2])
	assert.Regexp(t, `(?m)^✗ Metal\n    Metal is not supported on linux$`, o.out)
	assert.Regexp(t, `\n\nRecommended backend: CPU\n\nCompute backends:\n`, o.out, "it is the only one that this build can open")

	o = invoke(t, "devices", "--json")
	var found backends
	require.NoError(t, json.Unmarshal([]byte(o.out), &found))
	var names []string
	for _, b := range found.Backends {
		names = append(names, b.Backend)
		assert.Equal(t, b.Available, b.Error == nil, b.Backend)
		assert.Equal(t, b.Available, b.Reason == nil, b.Backend)
		assert.Equal(t, b.Available, len(b.Devices) > 0, b.Backend)
	}
	require.Equal(t, discover.Names(), names)
	// The library is not loaded into the process of the tests; tests/report has the other case.
	t.Setenv(installed.Variable, "/nowhere/libnone.so")
	var without struct {
		Compute computes `json:"compute"`
	}
	require.NoError(t, json.Unmarshal([]byte(invoke(t, "devices", "--json").out), &without))
	require.NotNil(t, without.Compute.Error)
	assert.Contains(t, *without.Compute.Error, "/nowhere/libnone.so")
	assert.Nil(t, without.Compute.Library)
	assert.Empty(t, without.Compute.Backends)
	assert.Contains(t, invoke(t, "devices").out, "\n✗ "+*without.Compute.Error+"\n")
	cpu := found.Backends[0]
	assert.Equal(t, "cpu", cpu.Backend)
	assert.True(t, cpu.Available)
	assert.Nil(t, cpu.Error)
	require.Len(t, cpu.Devices, 2)
	assert.Equal(t, "cpu:1", cpu.Devices[1].ID)
	assert.EqualValues(t, 32<<20, cpu.Devices[1].TotalBytes)

	t.Setenv("FERRUM_HOST_DEVICES", "none")
	o = invoke(t, "devices")
	assert.Equal(t, exitUsage, o.status)
	assert.Contains(t, o.err, `FERRUM_HOST_DEVICES="none"`)
	assert.Empty(t, o.out)
}

// A second device of the environment can be used for a replay, whatever its size.
func TestReplayOnSecondDevice(t *testing.T) {
	cleanEnvironment(t)
	t.Setenv("FERRUM_HOST_DEVICES", "2")
	t.Setenv("FERRUM_HOST_MEMORY", "64MiB")
	r, _ := result(t, exampleTrace, "--device", "cpu:1")
	assert.Equal(t, "cpu:1", r.Device)
	assert.EqualValues(t, 26861371392, r.PeakLiveBytes)
}

func TestDoctor(t *testing.T) {
	cleanEnvironment(t)
	t.Setenv("FERRUM_HOST_MEMORY", "64MiB")
	t.Setenv("FERRUM_MISSPELT", "x")
	o := invoke(t, "doctor", "--json")
	require.Equal(t, exitDone, o.status, o.out)
	var r doctorReport
	require.NoError(t, json.Unmarshal([]byte(o.out), &r))
	assert.True(t, r.OK)
	assert.Equal(t, library.Version, r.Version)
	assert.Equal(t, map[string]string{"FERRUM_HOST_MEMORY": "64MiB", "FERRUM_MISSPELT": "x"}, r.Environment)
	assert.NotZero(t, r.Limits.MemTotalBytes)
	byCheck := map[string]finding{}
	for _, f := range r.Findings {
		byCheck[f.Check] = f
		assert.Equal(t, f.Status == statusOK, f.Advice == "", "advice exactly where something is wrong: %+v", f)
	}
	for _, check := range []string{"version", "backend cpu", "device cpu:0", "memory", "cgroup", "memlock", "map count", "huge pages", "overcommit"} {
		assert.Contains(t, byCheck, check)
	}
	assert.Equal(t, statusOK, byCheck["device cpu:0"].Status)
	assert.Equal(t, statusOK, byCheck["FERRUM_HOST_MEMORY"].Status)
	assert.Equal(t, statusWarning, byCheck["FERRUM_MISSPELT"].Status)
	require.NotNil(t, r.Compute.Error, "the library is not loaded into the process of the tests")
	assert.Equal(t, statusWarning, byCheck["compute"].Status)
	assert.Equal(t, *r.Compute.Error, byCheck["compute"].Found)

	o = invoke(t, "doctor")
	assert.Equal(t, exitDone, o.status)
	assert.Regexp(t, `(?m)^ok +device cpu:0 +.*a block was allocated and freed$`, o.out)
	assert.Regexp(t, `(?m)^WARN +FERRUM_MISSPELT +"x"$`, o.out)

	for name, value := range map[string]string{"FERRUM_HOST_MEMORY": "lots", "FERRUM_HOST_DEVICES": "0", "FERRUM_LOG": "loud", "FERRUM_DEBUG": "zones"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			o := invoke(t, "doctor")
			assert.Equal(t, exitNo, o.status)
			assert.Contains(t, o.out, "FAIL  library")
			assert.Contains(t, o.out, name+`="`+value+`"`)
			assert.Contains(t, o.out, "1 problem,")
			assert.Empty(t, o.err)
		})
	}
}

// doctor reports what happens to signal handlers, and names those of a program.
func TestDoctorNamesSignalHandlers(t *testing.T) {
	cleanEnvironment(t)
	t.Setenv("FERRUM_HOST_MEMORY", "64MiB")
	file := t.TempDir() + "/snapshot.json"
	text, err := json.Marshal(map[string]any{"signal_handlers": []library.Handler{
		{Signal: 10, Name: "SIGUSR1", Symbol: "early", Repaired: true},
		{Signal: 27, Name: "SIGPROF", Symbol: "tick", File: "libprofiler.so", Repaired: true, Late: true},
		{Signal: 34, Address: 0x1234},
	}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	o := invoke(t, "doctor", "--snapshot", file)
	assert.Equal(t, exitDone, o.status)
	assert.Regexp(t, `(?m)^ok +signals +handlers without SA_ONSTACK get the flag`, o.out)
	assert.Regexp(t, `(?m)^ok +signals +.*flag added by ferrum_init: SIGUSR1: early$`, o.out)
	assert.Regexp(t, `(?m)^WARN +signals +.*after ferrum_init, flag added later: SIGPROF: tick of libprofiler.so$`, o.out)
	assert.Regexp(t, `(?m)^WARN +signals +.*left as it is: signal 34: 0x1234$`, o.out)

	t.Setenv(library.EnvSignalHandlers, "leave")
	assert.Regexp(t, `(?m)^WARN +signals +handlers without SA_ONSTACK are left as they are$`, invoke(t, "doctor").out)

	require.NoError(t, os.WriteFile(file, []byte(`{"version": "0.1.0"}`), 0o600))
	for _, name := range []string{file, file + ".none"} {
		o = invoke(t, "doctor", "--snapshot", name)
		assert.Equal(t, exitUsage, o.status)
		assert.Contains(t, o.err, name)
	}
}

// doctor knows exactly the variables of the page that lists them.
func TestDoctorKnowsTheDocumentedVariables(t *testing.T) {
	text, err := os.ReadFile("../../docs/environment.md")
	require.NoError(t, err)
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(FERRUM_[A-Z_]+)` ").FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, row[1])
	}
	assert.NotEmpty(t, documented)
	assert.ElementsMatch(t, documented, known)
}

type brokenWriter struct{ err error }

func (b brokenWriter) Write([]byte) (int, error) { return 0, b.err }

// Output that cannot be written is an error of the machine.
func TestFailedOutputIsAnError(t *testing.T) {
	trace := beginning(t)
	for _, args := range [][]string{{"version"}, {"devices"}, {"doctor"}, {"replay", trace}, {"replay", trace, "--json"}, {"--help"}} {
		var errs bytes.Buffer
		status := run(t.Context(), args, streams{in: strings.NewReader(""), out: brokenWriter{errors.New("the disk is full")}, err: &errs})
		assert.Equal(t, exitMachine, status, args)
		assert.Contains(t, errs.String(), "the disk is full")
	}
}
