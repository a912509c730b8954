package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gapLifetimes fit into 8 bytes, which live at one time. The greedy placement needs 9.
const gapLifetimes = "id,lower,upper,size\na,0,1,3\nb,2,6,4\nc,1,2,3\nd,0,2,2\ne,1,3,3\n"

// planned runs plan with --json.
func planned(t *testing.T, args ...string) (planReport, outcome) {
	t.Helper()
	o := invoke(t, append([]string{"plan", "--json"}, args...)...)
	var r planReport
	decoder := json.NewDecoder(strings.NewReader(o.out))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&r), o.err)
	return r, o
}

// checkPlanned checks a plan by comparing all pairs of buffers.
func checkPlanned(t *testing.T, r planReport) {
	t.Helper()
	var top uint64
	for i, a := range r.Buffers {
		top = max(top, a.OffsetBytes+a.SizeBytes)
		for _, b := range r.Buffers[:i] {
			apart := a.Upper <= b.Lower || b.Upper <= a.Lower || a.OffsetBytes+a.SizeBytes <= b.OffsetBytes || b.OffsetBytes+b.SizeBytes <= a.OffsetBytes
			assert.True(t, apart, "%+v and %+v", a, b)
		}
	}
	assert.LessOrEqual(t, top, r.ArenaBytes)
}

func TestPlan(t *testing.T) {
	path := writeFile(t, "small.csv", smallTrace)
	r, o := planned(t, path)
	assert.Equal(t, exitDone, o.status)
	assert.Empty(t, o.err)
	checkPlanned(t, r)
	assert.EqualValues(t, 1_200_000, r.ArenaBytes)
	assert.EqualValues(t, 1_200_000, r.PeakBytes)
	assert.True(t, r.Fits)
	assert.True(t, r.Optimal)
	assert.Zero(t, r.LimitBytes)
	assert.Equal(t, path, r.Name)
	assert.Equal(t, []string{"a", "b", "full"}, []string{r.Buffers[0].ID, r.Buffers[1].ID, r.Buffers[2].ID})

	r, o = planned(t, path, "--limit", "1MiB")
	assert.Equal(t, exitNo, o.status, "the answer is no, and the JSON is complete")
	assert.False(t, r.Fits)
	assert.EqualValues(t, 1<<20, r.LimitBytes)
	_, o = planned(t, path, "--limit", "1200000")
	assert.Equal(t, exitDone, o.status)
}

// The JSON has the documented fields.
func TestPlanJSONFields(t *testing.T) {
	o := invoke(t, "plan", writeFile(t, "small.csv", smallTrace), "--json")
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(o.out), &object))
	for _, field := range []string{"arena_bytes", "peak_bytes", "lower_bound_bytes", "greedy_bytes", "limit_bytes", "steps", "duration_ns"} {
		assert.IsType(t, 0.0, object[field], field)
	}
	assert.IsType(t, true, object["fits"])
	assert.IsType(t, true, object["optimal"])
	buffer := object["buffers"].([]any)[0].(map[string]any)
	for _, field := range []string{"lower", "upper", "size_bytes", "alignment_bytes", "offset_bytes"} {
		assert.IsType(t, 0.0, buffer[field], field)
	}
	assert.Equal(t, "a", buffer["id"])
}

func TestPlanSearches(t *testing.T) {
	path := writeFile(t, "gap.csv", gapLifetimes)
	greedy, _ := planned(t, path, "--time", "0")
	checkPlanned(t, greedy)
	assert.Zero(t, greedy.Steps)
	assert.Equal(t, greedy.GreedyBytes, greedy.ArenaBytes)
	require.Greater(t, greedy.ArenaBytes, greedy.PeakBytes)
	r, _ := planned(t, path)
	checkPlanned(t, r)
	assert.Equal(t, r.PeakBytes, r.ArenaBytes)
	assert.Equal(t, greedy.ArenaBytes, r.GreedyBytes)
}

// The header may have another order and further columns; the input may be the standard
// input.
func TestPlanReadsColumnsByName(t *testing.T) {
	text := "size,color, upper ,id,lower\n8,red,3,\"x,1\",1\n4,blue,9,y,2\n"
	o := invokeWith(t, context.Background(), strings.NewReader(text), "plan", "-", "--json", "--alignment", "64")
	require.Equal(t, exitDone, o.status, o.err)
	var r planReport
	require.NoError(t, json.Unmarshal([]byte(o.out), &r))
	assert.Equal(t, "standard input", r.Name)
	assert.Equal(t, plannedBuffer{ID: "x,1", Lower: 1, Upper: 3, SizeBytes: 8, AlignmentBytes: 64, OffsetBytes: 64}, r.Buffers[0])
	assert.Zero(t, r.Buffers[1].OffsetBytes)
	assert.EqualValues(t, 128, r.ArenaBytes)
}

func TestPlanTable(t *testing.T) {
	path := writeFile(t, "small.csv", smallTrace)
	o := invoke(t, "plan", path)
	require.Equal(t, exitDone, o.status)
	assert.Regexp(t, `(?m)^Arena +1\.14 MiB \(1200000 bytes\)$`, o.out)
	assert.Contains(t, o.out, "\nNo smaller arena is possible.\n")
	assert.Contains(t, o.out, "\nMost bytes live at time 3, in 3 buffers:\n")
	assert.Regexp(t, `(?m)^ *390\.62 KiB +0 +0 +9 +a$`, o.out)

	o = invoke(t, "plan", path, "--limit", "1MiB")
	assert.Equal(t, exitNo, o.status)
	assert.Contains(t, o.out, "The buffers do not fit: no arena is smaller than 1.14 MiB (1200000 bytes).")
	o = invoke(t, "plan", writeFile(t, "gap.csv", gapLifetimes), "--limit", "8", "--time", "0")
	assert.Equal(t, exitNo, o.status)
	assert.Contains(t, o.out, "No arena within the limit was found.")

	var many strings.Builder
	many.WriteString("id,lower,upper,size\n")
	for i := range 30 {
		fmt.Fprintf(&many, "\"b\x1b[%d\",0,9,%d\n", i, 100+i)
	}
	o = invoke(t, "plan", writeFile(t, "many.csv", many.String()))
	assert.Contains(t, o.out, "… and 20 smaller; --json lists all")
	assert.NotContains(t, o.out, "\x1b", "a name cannot write to the terminal")
}

func TestPlanPicture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.html")
	r, o := planned(t, writeFile(t, "a <b>.csv", smallTrace), "--picture", path)
	require.Equal(t, exitDone, o.status, o.err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	page := string(text)
	assert.True(t, strings.HasSuffix(page, "</html>\n"))
	assert.NotRegexp(t, `(src|href)="[^d]|url\(|@import|https?://`, page, "no outside resource")
	assert.NotContains(t, page, "<b>")
	assert.Len(t, regexp.MustCompile(`M\d+ \d+h\d+v\d+h-\d+z`).FindAllString(page, -1), len(r.Buffers), "a rectangle for each buffer")
	_, carried, ok := strings.Cut(page, `<script type="application/json" id="plan">`)
	require.True(t, ok)
	carried, _, _ = strings.Cut(carried, "</script>")
	var same planReport
	require.NoError(t, json.Unmarshal([]byte(carried), &same))
	assert.Equal(t, r, same, "the page contains what --json prints")

	o = invoke(t, "plan", writeFile(t, "b.csv", smallTrace), "--picture", path)
	assert.Contains(t, o.out, "\nPicture: "+path+"\n")
}

func TestPlanRejectsBadInput(t *testing.T) {
	small := writeFile(t, "small.csv", smallTrace)
	requests := writeFile(t, "requests.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,10,10\n")
	var huge, many strings.Builder
	huge.WriteString("id,lower,upper,size\n")
	many.WriteString("id,lower,upper,size\n")
	for i := range 1<<12 + 1 {
		fmt.Fprintf(&huge, "%d,0,9,%d\n", i, uint64(1)<<48)
	}
	for i := range 1<<16 + 1 {
		fmt.Fprintf(&many, "%d,0,9,1\n", i)
	}
	seen := map[string]bool{}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "accepts 1 arg(s)"},
		{[]string{"nowhere.csv"}, "open nowhere.csv: no such file"},
		{[]string{requests}, "lacks the column id"},
		{[]string{small, "--limit", "much"}, `--limit size "much"`},
		{[]string{small, "--limit", "0"}, `--limit "0": want a size above 0`},
		{[]string{small, "--time", "long"}, `--time "long" is not a duration`},
		{[]string{small, "--time", "-1s"}, "--time -1s must not be negative"},
		{[]string{small, "--alignment", "3"}, `--alignment "3": want a power of two`},
		{[]string{small, "--alignment", "0"}, `--alignment "0": want a power of two`},
		{[]string{small, "--alignment", "2TiB"}, `--alignment "2TiB": want a power of two of at most`},
		{[]string{small, "--alignment", "x"}, `--alignment size "x"`},
		{[]string{small, "--picture", small}, "this is the input file"},
		{[]string{small, "--picture", t.TempDir()}, "this exists and is not a file"},
		{[]string{small, "--picture", "/no/such/folder/p.html"}, "/no/such/folder"},
		{[]string{writeFile(t, "huge.csv", huge.String())}, "the buffers that live at time 0 have more than 1048576 TiB together"},
		{[]string{writeFile(t, "many.csv", many.String())}, "there are 65537 buffers: want at most 65536"},
	} {
		o := invoke(t, append([]string{"plan"}, c.args...)...)
		name := strings.Join(c.args, " ")
		assert.Equal(t, exitUsage, o.status, name+": "+o.err)
		assert.Contains(t, o.err, c.want, name)
		assert.Empty(t, o.out, name)
		assert.False(t, seen[o.err], "two mistakes have the message %q", o.err)
		seen[o.err] = true
	}
}

// endlessLifetimes cut a rectangle into 1000 buffers: no search puts it together again
// within the time of a test.
func endlessLifetimes() string {
	random := rand.New(rand.NewPCG(11, 12))
	type buffer struct{ lower, upper, size int }
	buffers := []buffer{{0, 5000, 1 << 40}}
	for len(buffers) < 1000 {
		i := random.IntN(len(buffers))
		first, rest := &buffers[i], buffers[i]
		if random.IntN(2) == 0 && first.upper-first.lower > 1 {
			first.upper = first.lower + 1 + random.IntN(first.upper-first.lower-1)
			rest.lower = first.upper
		} else {
			first.size = 1 + random.IntN(first.size-1)
			rest.size -= first.size
		}
		buffers = append(buffers, rest)
	}
	var b strings.Builder
	b.WriteString("id,lower,upper,size\n")
	for i, r := range buffers {
		fmt.Fprintf(&b, "%d,%d,%d,%d\n", i, r.lower, r.upper, r.size)
	}
	return b.String()
}

// The terminal shows the best arena so far. An interrupt ends the search; it leaves no
// picture.
func TestProcessPlanInterrupted(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "p.html")
	cmd, shown, out := onTerminal(t, "plan", writeFile(t, "endless.csv", endlessLifetimes()), "--time", "1h", "--picture", picture)
	require.NoError(t, cmd.Start())
	require.NoError(t, shown.side.Close())
	shown.until(t, " at least … ")
	assert.Regexp(t, `placing 1000 buffers: [0-9.]+ [KMG]iB so far, [0-9.]+ [KMG]iB at least … `, shown.text.String())
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	text := shown.rest()
	_ = cmd.Wait()
	assert.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode())
	assert.Contains(t, text, "endless.csv: stopped before the buffers were placed")
	assert.Empty(t, out.String())
	assert.NoFileExists(t, picture)
}

// The time ends the search, and the best plan so far is printed.
func TestProcessPlanTime(t *testing.T) {
	cmd := command(t, "plan", writeFile(t, "endless.csv", endlessLifetimes()), "--time", "300ms", "--json")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), errs.String())
	assert.Empty(t, errs.String(), "no progress where there is no terminal")
	var r planReport
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	checkPlanned(t, r)
	assert.GreaterOrEqual(t, r.DurationNS, int64(300e6))
	assert.False(t, r.Optimal)
}
