package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/replay"
	"ferrum_mem/drivers/probe"
)

// TestMain lets the test program act as the command: for tests that need a separate
// process, and for processes that the command starts.
func TestMain(m *testing.M) {
	if os.Getenv("FERRUM_TEST_AS_COMMAND") == "1" || probe.Asked(os.Args[1:]) {
		main()
	}
	os.Exit(m.Run())
}

type outcome struct {
	status   int
	out, err string
}

// invoke runs the command in this process.
func invoke(t *testing.T, args ...string) outcome {
	return invokeWith(t, context.Background(), strings.NewReader(""), args...)
}

func invokeWith(t *testing.T, ctx context.Context, in io.Reader, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	status := run(ctx, args, streams{in: in, out: &out, err: &errs})
	return outcome{status, out.String(), errs.String()}
}

// result runs a replay with --json.
func result(t *testing.T, args ...string) (replay.Result, outcome) {
	t.Helper()
	o := invoke(t, append([]string{"replay", "--json"}, args...)...)
	var r replay.Result
	decoder := json.NewDecoder(strings.NewReader(o.out))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&r), o.err)
	return r, o
}

const exampleTrace = "../../examples/traces/azure_llm_code_2023.csv"

// beginning returns the path of the first requests of the example trace.
func beginning(t *testing.T) string {
	text, err := os.ReadFile(exampleTrace)
	require.NoError(t, err)
	lines := strings.SplitAfterN(string(text), "\n", 302)
	return writeFile(t, "beginning.csv", strings.Join(lines[:301], ""))
}

func writeFile(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const smallTrace = "id,lower,upper,size\na,0,9,400000\nb,1,5,400000\nfull,3,4,400000\n"

// cleanEnvironment hides the FERRUM_ variables of the environment of the tests.
func cleanEnvironment(t *testing.T) {
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "FERRUM_") {
			require.NoError(t, os.Unsetenv(name))
			t.Cleanup(func() { os.Setenv(name, value) })
		}
	}
}
