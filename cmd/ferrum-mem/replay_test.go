package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReplayFigures(t *testing.T) {
	r, o := result(t, exampleTrace)
	assert.Equal(t, exitDone, o.status)
	assert.Empty(t, o.err, "no progress where there is no terminal")
	assert.Equal(t, "azure_llm_code_2023.csv", r.Trace)
	assert.Equal(t, "contiguous", r.Mode)
	assert.Equal(t, "cpu:0", r.Device)
	assert.EqualValues(t, 8819, r.Requests)
	assert.EqualValues(t, 26861371392, r.PeakLiveBytes)
	assert.EqualValues(t, 28643557376, r.HighWaterBytes)
	assert.InDelta(t, 1.066, r.Fragmentation, 0.002)
	assert.Positive(t, r.PairNSMedian)
	assert.GreaterOrEqual(t, r.PairNSP99, r.PairNSMedian)
}

// The JSON contains every documented field with its name and type.
func TestReplayJSONFields(t *testing.T) {
	o := invoke(t, "replay", "--json", beginning(t), "--mode", "paged")
	require.Equal(t, exitDone, o.status, o.err)
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(o.out), &object))
	for _, field := range []string{"trace", "mode", "strategy", "device", "time_unit"} {
		assert.IsType(t, "", object[field], field)
	}
	for _, field := range []string{
		"requests", "allocations", "failed", "peak_live_bytes", "demand_peak_bytes", "high_water_bytes", "reserved_peak_bytes",
		"physical_peak_bytes", "fragmentation", "physical_over_live_area", "pair_ns_median", "pair_ns_p99",
		"clock_ns", "limit_bytes", "bytes_per_token", "jitter_ns", "seed", "duration",
	} {
		assert.IsType(t, 0.0, object[field], field)
	}
	assert.IsType(t, false, object["lifetime_hints"])
	for _, field := range []string{"failures", "failures_by_reason", "moments"} {
		assert.IsType(t, []any{}, object[field], field)
	}
	series, ok := object["series"].(map[string]any)
	require.True(t, ok)
	for _, field := range []string{"time", "live_bytes", "reserved_bytes", "physical_bytes", "failed"} {
		list, ok := series[field].([]any)
		assert.True(t, ok, field)
		assert.LessOrEqual(t, len(list), 2000)
		assert.Len(t, list, len(series["time"].([]any)))
	}
}

func TestReplayOptions(t *testing.T) {
	trace := beginning(t)
	r, _ := result(t, trace, "--mode=paged", "--bytes-per-token=4096", "--jitter=50ms", "--seed=7")
	assert.Equal(t, "paged", r.Mode)
	assert.EqualValues(t, 4096, r.BytesPerToken)
	assert.EqualValues(t, 50e6, r.JitterNS)
	assert.EqualValues(t, 7, r.Seed)
	again, _ := result(t, trace, "--mode=paged", "--bytes-per-token=4096", "--jitter=50ms", "--seed=7")
	other, _ := result(t, trace, "--mode=paged", "--bytes-per-token=4096", "--jitter=50ms", "--seed=8")
	hinted, _ := result(t, trace, "--mode=paged", "--strategy=fixed", "--lifetime-hints")
	assert.True(t, hinted.LifetimeHints)
	assert.False(t, r.LifetimeHints)
	assert.Equal(t, "fixed", hinted.Strategy)
	assert.Equal(t, r.Series, again.Series)
	assert.NotEqual(t, r.Series, other.Series)
}

// An exceeded limit gives the negative answer, and all results are printed.
func TestReplayLimit(t *testing.T) {
	path := writeFile(t, "small.csv", smallTrace)
	r, o := result(t, path, "--limit", "1MiB")
	assert.Equal(t, exitNo, o.status)
	assert.Empty(t, o.err)
	assert.EqualValues(t, 1, r.Failed)
	assert.EqualValues(t, 1<<20, r.LimitBytes)
	r, o = result(t, path, "--limit", "1.5MiB")
	assert.Equal(t, exitDone, o.status)
	assert.Zero(t, r.Failed)

	o = invoke(t, "replay", path, "--limit", "1MiB")
	assert.Equal(t, exitNo, o.status)
	assert.Contains(t, o.out, "1  the limit is reached")
}

// With a limit the pool has pages, unless the flags select whole segments.
func TestReplayPaging(t *testing.T) {
	r, o := result(t, exampleTrace, "--limit", "26GiB")
	assert.Equal(t, exitDone, o.status)
	assert.Zero(t, r.Failed)
	assert.EqualValues(t, 2<<20, r.PageBytes)
	assert.LessOrEqual(t, r.PhysicalOverLiveArea, 1.02)
	r, o = result(t, exampleTrace, "--limit", "26GiB", "--paging", "off")
	assert.Equal(t, exitNo, o.status)
	assert.NotZero(t, r.Failed)
	assert.Zero(t, r.PageBytes)
	o = invoke(t, "replay", exampleTrace, "--limit", "26GiB", "--paging", "off")
	assert.Contains(t, o.out, "no free run is long enough (fragmentation)")
	assert.Contains(t, o.out, "Pages                                   none, whole segments\n")
}

func TestReplayTable(t *testing.T) {
	o := invoke(t, "replay", exampleTrace)
	require.Equal(t, exitDone, o.status)
	for _, want := range []string{
		"Requests                                8819\n", "Peak live                               25.02 GiB\n",
		"Fragmentation (high water ÷ peak live)  1.066\n", "14m24.244s  25.02 GiB",
	} {
		assert.Contains(t, o.out, want)
	}
	assert.Empty(t, o.err)
	assert.NotContains(t, o.out, "Lifetime hints")
	o = invoke(t, "replay", beginning(t), "--lifetime-hints", "--jitter", "50ms", "--seed", "1")
	require.Equal(t, exitDone, o.status)
	assert.Contains(t, o.out, "Lifetime hints                          yes\n")
}

func TestReplayStandardInput(t *testing.T) {
	o := invokeWith(t, context.Background(), strings.NewReader(smallTrace), "replay", "-", "--json")
	require.Equal(t, exitDone, o.status, o.err)
	assert.Contains(t, o.out, `"trace": "standard input"`)
	assert.Contains(t, o.out, `"mode": "lifetimes"`)
}

// The command stops waiting for a read that never ends when the context ends.
func TestReplayInterruptedWhileReading(t *testing.T) {
	in, feed := io.Pipe()
	defer feed.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = feed.Write([]byte("id,lower,"))
		cancel()
	}()
	o := invokeWith(t, ctx, in, "replay", "-")
	assert.Equal(t, exitInterrupted, o.status)
	assert.Contains(t, o.err, "stopped while reading standard input")
}

// Each kind of bad usage or input has exit status 2, a message of its own that names the
// argument and its value, and no standard output.
func TestReplayRejectsBadInput(t *testing.T) {
	cleanEnvironment(t)
	small := writeFile(t, "small.csv", smallTrace)
	requests := writeFile(t, "requests.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,10,10\n")
	file := func(text string) string { return writeFile(t, "bad.csv", text) }
	seen := map[string]bool{}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{}, "accepts 1 arg(s), received 0"},
		{[]string{small, requests}, "accepts 1 arg(s), received 2"},
		{[]string{small, "--frobnicate"}, "unknown flag: --frobnicate"},
		{[]string{"nowhere.csv"}, "open nowhere.csv: no such file"},
		{[]string{t.TempDir()}, "is a directory"},
		{[]string{file("")}, "bad.csv: the file is empty"},
		{[]string{file("id,lower,upper\n1,2,3\n")}, "bad.csv: line 1: the header \"id,lower,upper\" lacks the column size"},
		{[]string{file("id,lower,upper,size\na,1,2,-3\n")}, "bad.csv: line 2: size is -3: it must not be negative"},
		{[]string{file("id,lower,upper,size\na,1,2,3\nb,1")}, "bad.csv: line 3: 2 fields"},
		{[]string{requests, "--mode", "virtual"}, `--mode "virtual" is not one of`},
		{[]string{requests, "--mode", "lifetimes"}, "mode lifetimes needs a trace of lifetimes"},
		{[]string{small, "--mode", "paged"}, "mode paged needs a trace of requests"},
		{[]string{small, "--bytes-per-token", "5"}, "bytes per token is 5"},
		{[]string{requests, "--bytes-per-token", "0"}, "--bytes-per-token 0"},
		{[]string{requests, "--bytes-per-token", "-5"}, `--bytes-per-token "-5" is not a whole number`},
		{[]string{requests, "--bytes-per-token", "99999999999"}, "bytes per token is 99999999999"},
		{[]string{requests, "--jitter", "-5ms"}, "--jitter -5ms must not be negative"},
		{[]string{requests, "--jitter", "soon"}, `--jitter "soon" is not a duration`},
		{[]string{requests, "--jitter", "48h"}, "jitter is 172800000000000 ns"},
		{[]string{small, "--jitter", "5ms"}, "jitter is 5000000 ns"},
		{[]string{small, "--seed", "x"}, `--seed "x" is not a whole number`},
		{[]string{small, "--limit", ""}, `--limit size ""`},
		{[]string{small, "--limit", "24GuB"}, `--limit size "24GuB"`},
		{[]string{small, "--limit", "0"}, `--limit "0"`},
		{[]string{small, "--limit", "1KiB"}, "max_size_bytes 1024"},
		{[]string{small, "--limit", "17179869184GiB"}, "does not fit 64 bits"},
		{[]string{small, "--limit", "65TiB"}, "limit of 65.00 TiB"},
		{[]string{small, "--paging", "maybe"}, `--paging "maybe" is not one of auto, on, off`},
		{[]string{small, "--limit", "1MiB", "--paging", "on"}, "less than a page of 2 MiB"},
		{[]string{small, "--device", "gpu zero"}, `device id "gpu zero"`},
		{[]string{small, "--device", "tpu:0"}, `no backend "tpu"`},
		{[]string{small, "--device", "cpu:7"}, "device cpu:7: this process has 1 host device"},
		{[]string{small, "--strategy", "worst_fit"}, `strategy "worst_fit" is not known`},
		{[]string{small, "--strategy", "fixed"}, "strategy fixed has blocks of one size"},
		{[]string{small, "--format", "xml"}, `--format "xml"`},
		{[]string{small, "--format", "azure"}, "lacks the column TIMESTAMP"},
		{[]string{small, "--report", "nowhere/r.html"}, "nowhere: no such file"},
		{[]string{small, "--report", small}, "this is the input file"},
		{[]string{small, "--report", t.TempDir()}, "this exists and is not a file"},
		{[]string{small, "--report", "/dev/null"}, "--report /dev/null: this exists and is not a file"},
		{[]string{small, "--report", small + "/r.html"}, "the path before the last / is not a folder"},
	} {
		o := invoke(t, append([]string{"replay"}, c.args...)...)
		name := strings.Join(c.args, " ")
		assert.Equal(t, exitUsage, o.status, name+": "+o.err)
		assert.Contains(t, o.err, c.want, name)
		assert.Empty(t, o.out, name)
		assert.False(t, seen[o.err], "two mistakes have the message %q", o.err)
		assert.NotContains(t, o.err, "FERRUM_ERROR", "statuses are for programs")
		seen[o.err] = true
	}
}

func TestReportIsWrittenAtomically(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "r.html")
	o := invoke(t, "replay", beginning(t), "--report", path)
	require.Equal(t, exitDone, o.status, o.err)
	assert.Contains(t, o.out, "Report: "+path)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(string(text), "</html>\n"))
	assert.NotRegexp(t, `(src|href)="[^d]|url\(|@import|https?://`, string(text), "no outside resource")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Len(t, entries, 1)

	// The command follows a link and replaces its target.
	link := filepath.Join(folder, "link.html")
	require.NoError(t, os.Symlink("r.html", link))
	o = invoke(t, "replay", writeFile(t, "small.csv", smallTrace), "--report", link)
	require.Equal(t, exitDone, o.status, o.err)
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(text), "Replay of small.csv")
	kind, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, kind.Mode()&os.ModeSymlink)
}

// If writing the report fails, the existing report stays.
func TestFailedReportKeepsTheOldOne(t *testing.T) {
	path := writeFile(t, "r.html", "the former one")
	for _, c := range []struct {
		name  string
		write func(w io.Writer) error
		ctx   func() context.Context
	}{
		{"error", func(w io.Writer) error {
			_, _ = w.Write(make([]byte, 1<<20))
			return io.ErrShortWrite
		}, context.Background},
		{"interrupted", func(io.Writer) error { return nil }, func() context.Context {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return ctx
		}},
	} {
		require.Error(t, writeAtomically(c.ctx(), path, c.write), c.name)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, "the former one", string(text), c.name)
		entries, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		assert.Len(t, entries, 1, c.name)
	}
}

// Names from input files cannot become markup or script.
func TestReportEscapesNames(t *testing.T) {
	name := `<img src=x onerror=alert(1)>"'&<!--<script>.csv`
	path := writeFile(t, name, smallTrace)
	report := filepath.Join(t.TempDir(), "r.html")
	o := invoke(t, "replay", path, "--report", report)
	require.Equal(t, exitDone, o.status, o.err)
	text, err := os.ReadFile(report)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "<img")
	assert.NotContains(t, string(text), "<!--")
	assert.Equal(t, 2, strings.Count(string(text), "<script"))
}
