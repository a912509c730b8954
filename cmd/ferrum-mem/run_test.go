package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/architecture"
	"ferrum_mem/core/dtype"
	"ferrum_mem/drivers/installed"
)

// The tests with the library are in Python, because the library is not loaded into this process.

// Without the library, run and plan of a model state where it was searched, and a file of
// lifetimes is planned.
func TestModelsNeedTheLibrary(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "libnone.so")
	t.Setenv(installed.Variable, nowhere)
	for _, args := range [][]string{{"run", example, "--ids", "1,2"}, {"plan", example, "--batch", "1", "--sequence", "2"}} {
		o := invoke(t, args...)
		assert.Equal(t, exitMachine, o.status)
		assert.Empty(t, o.out)
		assert.Contains(t, o.err, nowhere)
		assert.Contains(t, o.err, installed.Variable)
	}
	require.NoError(t, os.WriteFile(nowhere, []byte("no library"), 0o600))
	assert.Equal(t, exitMachine, invoke(t, "run", example, "--ids", "1").status)
	assert.Equal(t, exitDone, invoke(t, "plan", writeFile(t, "small.csv", smallTrace)).status)
}

func TestPlanRefusesFlagsOfTheOtherInput(t *testing.T) {
	csv := writeFile(t, "small.csv", smallTrace)
	for _, args := range [][]string{
		{csv, "--batch", "1"}, {csv, "--sequence", "1"}, {csv, "--dim", "batch=1"}, {csv, "--device", "cpu:0"},
		{example, "--time", "1s"}, {example, "--alignment", "64"}, {example, "--batch", "1", "--dim", "batch=2"},
	} {
		o := invoke(t, append([]string{"plan"}, args...)...)
		assert.Equal(t, exitUsage, o.status, args)
		assert.Contains(t, o.err, args[1], "names the flag")
	}
}

func TestRunNeedsIDsAndOutputsOfTheModel(t *testing.T) {
	o := invoke(t, "run", example)
	assert.Equal(t, exitUsage, o.status)
	assert.Contains(t, o.err, "--ids is required")
	for _, c := range []struct{ args, says string }{
		{"--output nothing", `the model has no such output, only probabilities`},
		{"--output probabilities --output probabilities", "given twice"},
		{"--pool model", "states no rule"},
		{"--pool mean", "last_hidden_state"},
	} {
		o := invoke(t, append([]string{"run", example, "--ids", "1"}, strings.Fields(c.args)...)...)
		assert.Equal(t, exitUsage, o.status)
		assert.Contains(t, o.err, c.says)
	}
	o = invoke(t, "run", example, "--ids", "1,2;3")
	assert.Equal(t, exitUsage, o.status, "rows of different lengths need a mask")
	assert.Contains(t, o.err, "all rows must have the same length")
}

func TestRowsOfIDs(t *testing.T) {
	b, err := parseIDs(" 1, 2,3 ;4")
	require.NoError(t, err)
	assert.Equal(t, idRows{rows: [][]int64{{1, 2, 3}, {4}}, length: 3}, *b)
	for _, wrong := range []string{"", ";", "1;", "1,,2", "x", "-1", "1.5", "9223372036854775808"} {
		_, err := parseIDs(wrong)
		assert.Error(t, err, wrong)
	}
}

func TestPoolingRules(t *testing.T) {
	tokens := []float64{1, -2, 3, 4, 2, -5}
	assert.Equal(t, []float64{2, -1}, poolTokens(tokens, 2, architecture.PoolingMean))
	assert.Equal(t, []float64{3, 4}, poolTokens(tokens, 2, architecture.PoolingMax))
	assert.Equal(t, []float64{1, -2}, poolTokens(tokens, 2, architecture.PoolingCLS))
	assert.Equal(t, []float64{1, -2, 3, 4, 2, -5}, tokens, "the input stays")
}

// Values that are not finite are null, and f32 has the shortest decimals of 32 bits.
func TestNumbersAreJSON(t *testing.T) {
	text, err := numbers{[]float64{float64(float32(0.1)), math.Inf(-1), math.NaN(), 1e30}, 32}.MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, "[0.1,null,null,1e+30]", string(text))
	n, err := valuesOf(installed.Tensor{DType: uint32(dtype.I32), Shape: []int64{2}, Elements: []byte{1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}})
	require.NoError(t, err)
	assert.Equal(t, []float64{1, -1}, n.values)
}
