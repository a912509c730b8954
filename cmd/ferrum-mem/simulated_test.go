//go:build linux

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// simulatedCards makes the command find a vendor library with two cards, of 80 GiB and 40
// GiB. On each card all memory but 1 GiB is free. The cards can be queried, and no driver
// can open them.
func simulatedCards(t *testing.T, behaviour string) {
	t.Helper()
	cleanEnvironment(t)
	folder := t.TempDir()
	output, err := exec.Command("cc", "-std=gnu11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-fvisibility=hidden",
		"-o", filepath.Join(folder, "libcuda.so.1"), "../../tests/simulated/cuda.c").CombinedOutput()
	require.NoError(t, err, "%s", output)
	t.Setenv("LD_LIBRARY_PATH", folder)
	t.Setenv("SIMULATED", behaviour)
	t.Setenv("FERRUM_HOST_MEMORY", "8GiB!")
}

func TestDevicesOfAVendor(t *testing.T) {
	simulatedCards(t, "normal")
	o := invoke(t, "devices")
	require.Equal(t, exitDone, o.status, o.err)
	assert.Contains(t, o.out, "✓ CUDA\n"+
		"    cuda:0  Simulated GPU A: 80.00 GiB (79.00 GiB free) (compute 9.0)\n"+
		"    cuda:1  Simulated GPU B: 40.00 GiB (39.00 GiB free) (compute 9.0) (unified memory)\n✗ ROCm")

	o = invoke(t, "devices", "--json")
	require.Equal(t, exitDone, o.status, o.err)
	var answer struct {
		Backends []map[string]any `json:"backends"`
	}
	require.NoError(t, json.Unmarshal([]byte(o.out), &answer))
	cuda := answer.Backends[1]
	assert.Equal(t, []any{"cuda", "CUDA", true, true, nil, nil, "libcuda.so.1", "12.4"}, []any{
		cuda["backend"], cuda["name"], cuda["available"], cuda["usable"], cuda["error"], cuda["reason"], cuda["library"], cuda["version"],
	})
	cards, ok := cuda["devices"].([]any)
	require.True(t, ok)
	require.Len(t, cards, 2)
	second, ok := cards[1].(map[string]any)
	require.True(t, ok)
	assert.Equal(t, []any{"cuda:1", 1.0, "Simulated GPU B", 40.0 * (1 << 30), 39.0 * (1 << 30), "9.0", true}, []any{
		second["id"], second["index"], second["name"], second["total_bytes"], second["free_bytes"], second["compute_capability"],
		second["unified_memory"],
	})
}

func TestDevicesOfADriverThatCrashes(t *testing.T) {
	simulatedCards(t, "abort")
	o := invoke(t, "devices")
	require.Equal(t, exitDone, o.status, o.err)
	assert.Regexp(t, `(?m)^✗ CUDA\n    .*crashed.*signal 6`, o.out)
	o = invoke(t, "devices", "--json")
	require.Equal(t, exitDone, o.status, o.err)
	assert.Regexp(t, `"reason": ?"crashed"`, o.out)
}

// fit decides for each card by the card's own values. One card with enough memory is
// enough.
func TestFitOnCardsOfAVendor(t *testing.T) {
	simulatedCards(t, "normal")
	// 16 GB of weights, and 8 GiB of keys and values for 65,536 tokens.
	r, o := fitting(t, llama, "--context", "65536")
	assert.Equal(t, exitDone, o.status)
	require.Len(t, r.Devices, 3)
	for i, want := range []struct {
		id   string
		free uint64
		fits bool
	}{{"cpu:0", 8 << 30, false}, {"cuda:0", 79 << 30, true}, {"cuda:1", 39 << 30, true}} {
		assert.Equal(t, want.id, r.Devices[i].Device)
		assert.Equal(t, want.fits, r.Devices[i].Fits, want.id)
		if i > 0 {
			assert.Equal(t, want.free, r.Devices[i].FreeBytes, want.id)
		}
	}
	assert.True(t, r.Fits)

	_, o = fitting(t, llama, "--context", "400000", "--device", "cuda:0")
	assert.Equal(t, exitDone, o.status)
	r, o = fitting(t, llama, "--context", "400000", "--device", "cuda:1")
	assert.Equal(t, exitNo, o.status)
	assert.EqualValues(t, 39<<30, r.FreeBytes)
	assert.Equal(t, r.TotalBytes-39<<30, r.MissingBytes)
	o = invoke(t, "fit", llama, "--context", "65536", "--device", "cuda:2")
	assert.Equal(t, exitMachine, o.status)
	assert.Contains(t, o.err, "cuda:2")
}
