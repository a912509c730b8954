package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/replay"
)

// twoModels uses the beginning of the example trace twice, the second time with a delay.
func twoModels(t *testing.T, delay string) []string {
	path := beginning(t)
	return []string{"replay", "--model", "a=" + path, "--model", "b=" + path + "@" + delay}
}

func TestReplayModels(t *testing.T) {
	cleanEnvironment(t)
	o := invoke(t, append(twoModels(t, "20s"), "--limit", "8GiB", "--json")...)
	require.Equal(t, exitNo, o.status, o.err)
	assert.Empty(t, o.err)
	var r replay.ModelsResult
	decoder := json.NewDecoder(strings.NewReader(o.out))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&r))
	assert.Equal(t, "cpu:0", r.Device)
	assert.Equal(t, 600, r.Requests)
	assert.EqualValues(t, 20e9, r.Models[1].DelayNS)
	require.Len(t, r.Runs, 2)
	static, elastic := r.Run(replay.PolicyStatic), r.Run(replay.PolicyElastic)
	assert.EqualValues(t, 4<<30, static.Models[0].ShareBytes)
	assert.Greater(t, static.Failed, elastic.Failed)
	assert.Equal(t, static.Failed, r.Comparison.FailedStatic)
	assert.Zero(t, static.MovedPages)
	assert.LessOrEqual(t, elastic.ReservedPeakBytes, r.LimitBytes)
	assert.Positive(t, elastic.PairNSMedian)

	one := invoke(t, append(twoModels(t, "20s"), "--limit", "64GiB", "--policy", "elastic", "--json")...)
	require.Equal(t, exitDone, one.status, one.err)
	var roomy replay.ModelsResult
	require.NoError(t, json.Unmarshal([]byte(one.out), &roomy))
	assert.Len(t, roomy.Runs, 1)
	assert.Nil(t, roomy.Comparison)
	assert.Equal(t, roomy.DemandPeakPagesBytes, roomy.Runs[0].PhysicalPeakBytes)
}

// The JSON of several models also contains the documented fields of a single replay.
func TestReplayModelsJSONFields(t *testing.T) {
	cleanEnvironment(t)
	o := invoke(t, append(twoModels(t, "20s"), "--limit", "8GiB", "--wait", "2s", "--json")...)
	require.Contains(t, []int{exitDone, exitNo}, o.status, o.err)
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(o.out), &object))
	for _, field := range []string{"limit_bytes", "page_bytes", "requests", "demand_peak_bytes", "wait_ns", "duration", "jitter_ns", "seed"} {
		assert.IsType(t, 0.0, object[field], field)
	}
	for _, entry := range object["runs"].([]any) {
		run := entry.(map[string]any)
		parts := append(run["models"].([]any), run)
		for _, part := range parts {
			for _, field := range []string{
				"requests", "allocations", "failed", "waits", "wait_ns_median", "wait_ns_p99", "peak_live_bytes", "physical_peak_bytes",
				"physical_mean_bytes", "physical_over_live_area", "moved_pages", "pair_ns_median", "pair_ns_p99",
			} {
				assert.IsType(t, 0.0, part.(map[string]any)[field], field)
			}
		}
		assert.Positive(t, run["waits"])
		assert.IsType(t, 0.0, run["reserved_peak_bytes"])
	}
}

func TestReplayModelsTableAndReport(t *testing.T) {
	cleanEnvironment(t)
	path := filepath.Join(t.TempDir(), "models.html")
	o := invoke(t, append(twoModels(t, "20s"), "--limit", "8GiB", "--share", "a=5GiB", "--share", "b=3GiB", "--report", path)...)
	require.Equal(t, exitNo, o.status, o.err)
	for _, want := range []string{"600 requests of 2 models", "static", "elastic", "5.00 GiB", "3.00 GiB", "Pages from other models",
		"Of 600 requests the static split did not serve", "Report: " + path} {
		assert.Contains(t, o.out, want)
	}
	assert.NotContains(t, o.out, "Wait,")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	page := string(text)
	assert.True(t, strings.HasSuffix(page, "</html>\n"))
	assert.NotRegexp(t, `(src|href)="[^d]|url\(|@import|https?://`, page, "no outside resource")
	for _, want := range []string{`data-chart="memory-static"`, `data-chart="memory-elastic"`, `class="model-1" d="M0,`,
		`data-policy="static" data-model="b" data-field="failed"`, "a 5.00 GiB, b 3.00 GiB"} {
		assert.Contains(t, page, want)
	}
	// The page contains the same object that --json prints.
	_, carried, ok := strings.Cut(page, `<script type="application/json" id="replay">`)
	require.True(t, ok)
	carried, _, _ = strings.Cut(carried, "</script>")
	var r replay.ModelsResult
	require.NoError(t, json.Unmarshal([]byte(carried), &r))
	assert.Equal(t, 600, r.Requests)
}

func TestReplayFindLimit(t *testing.T) {
	cleanEnvironment(t)
	args := append(twoModels(t, "20s"), "--find-limit")
	o := invoke(t, append(args, "--json")...)
	require.Equal(t, exitDone, o.status, o.err)
	var r replay.LimitsResult
	require.NoError(t, json.Unmarshal([]byte(o.out), &r))
	assert.Equal(t, r.Models[0].LimitBytes, r.Models[1].LimitBytes)
	assert.Less(t, r.ElasticOverStatic, 1.0)
	assert.LessOrEqual(t, r.ElasticOverPeak, 1.02)
	o = invoke(t, args...)
	require.Equal(t, exitDone, o.status, o.err)
	assert.Contains(t, o.out, "Elastic ÷ static")
}

func TestReplayModelsRejectsBadInput(t *testing.T) {
	cleanEnvironment(t)
	requests := writeFile(t, "requests.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,10,10\n")
	small := writeFile(t, "small.csv", smallTrace)
	model, limit := "--model=a="+requests, "--limit=1GiB"
	seen := map[string]bool{}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{requests, "--policy", "static"}, "--policy is for several models"},
		{[]string{requests, "--wait", "1s"}, "--wait is for several models"},
		{[]string{requests, "--find-limit"}, "--find-limit is for several models"},
		{[]string{model}, "--model needs --limit"},
		{[]string{model, limit, requests}, "and --model cannot be used together"},
		{[]string{model, limit, "--strategy", "tlsf"}, "--strategy is for a pool of one trace"},
		{[]string{model, limit, "--lifetime-hints"}, "--lifetime-hints is for a pool of one trace"},
		{[]string{model, limit, "--find-limit"}, "--limit and --find-limit cannot be used together"},
		{[]string{model, "--report", "r.html", "--find-limit"}, "--report and --find-limit cannot be used together"},
		{[]string{model, limit, "--policy", "fair"}, `--policy "fair" is not one of`},
		{[]string{model, limit, "--wait", "-1s"}, "--wait -1s must not be negative"},
		{[]string{model, limit, "--wait", "48h"}, "wait is 172800000000000 ns"},
		{[]string{model, limit, "--page", "0"}, `--page "0"`},
		{[]string{model, limit, "--page", "3MiB"}, "page size 3145728 is not a power of two"},
		{[]string{model, limit, "--page", "4KiB"}, "page_bytes 4096"},
		{[]string{"--model", requests, limit}, "is not ID=TRACE[@DELAY]"},
		{[]string{"--model", "a=" + requests + "@soon", limit}, `"soon" is not a duration`},
		{[]string{"--model", "a=" + requests + "@-5s", limit}, "a delay that is not negative"},
		{[]string{"--model", "a=nowhere.csv@5s", limit}, "open nowhere.csv: no such file"},
		{[]string{"--model", "a=-", "--model", "b=-", limit}, "the standard input can be read only once"},
		{[]string{model, model, limit}, `model "a" is listed twice`},
		{[]string{"--model", "a=" + small, limit}, "has lifetimes"},
		{[]string{model, limit, "--share", "b=1GiB"}, `--share "b=1GiB" is not ID=SIZE with the id of a model`},
		{[]string{model, limit, "--share", "a=much"}, `--share "a=much": size "much"`},
		{[]string{model, limit, "--share", "a=0"}, `--share "a=0": want a size above 0`},
		{[]string{model, limit, "--share", "a=2GiB"}, `model "a": with its share of 2.00 GiB`},
		{[]string{model, limit, "--guarantee", "a=2GiB"}, `model "a": with its guarantee of 2.00 GiB`},
		{[]string{model, limit, "--mode", "paged", "--bytes-per-token", "4096"}, "not a multiple of the page size of 2.00 MiB"},
		{[]string{model, limit, "--report", requests}, "this is the input file"},
	} {
		o := invoke(t, append([]string{"replay"}, c.args...)...)
		name := strings.Join(c.args, " ")
		assert.Equal(t, exitUsage, o.status, name+": "+o.err)
		assert.Contains(t, o.err, c.want, name)
		assert.Empty(t, o.out, name)
		assert.False(t, seen[o.err], "two mistakes have the message %q", o.err)
		seen[o.err] = true
	}
}

func TestReplayModelsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := invokeWith(t, ctx, strings.NewReader(""), append(twoModels(t, "20s"), "--limit", "8GiB")...)
	assert.Equal(t, exitInterrupted, o.status)
	assert.Empty(t, o.out)
}

// A file whose name ends like a delay is treated as a file.
func TestSplitDelay(t *testing.T) {
	path := writeFile(t, "odd@5s", smallTrace)
	for _, c := range []struct {
		text, path, delay string
	}{{path, path, "0s"}, {path + "@7s", path, "7s"}, {"x.csv@1h30m", "x.csv", "1h30m0s"}, {"x.csv", "x.csv", "0s"}} {
		got, delay, err := splitDelay(c.text)
		require.NoError(t, err)
		assert.Equal(t, c.path, got)
		assert.Equal(t, c.delay, delay.String())
	}
}
