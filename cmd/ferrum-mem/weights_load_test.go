package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
)

// loadingInto runs weights load with --json.
func loadingInto(t *testing.T, args ...string) []loadedSource {
	t.Helper()
	o := invoke(t, append([]string{"weights", "load", "--json"}, args...)...)
	require.Equal(t, exitDone, o.status, o.err)
	assert.Empty(t, o.err)
	var r loadReport
	decoder := json.NewDecoder(strings.NewReader(o.out))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&r))
	return r.Sources
}

// sizeOf returns the size of a tensor that is loaded without gaps.
func sizeOf(t *testing.T, kind string, shape []uint64) uint64 {
	t.Helper()
	elements := uint64(1)
	for _, side := range shape {
		elements *= side
	}
	if kind == "q8_0" {
		return elements / 32 * 34
	}
	of, err := dtype.Parse(kind)
	require.NoError(t, err)
	size, err := of.Size(elements)
	require.NoError(t, err)
	return size
}

// The command stops the library at the end, which is an error if a block, a pool or a device is left.
func TestLoadsEveryFormat(t *testing.T) {
	cleanEnvironment(t)
	for name, file := range expectedFiles(t) {
		var want, cast uint64
		for tensor, of := range file.Tensors {
			if tensor == "model.head.weight" {
				continue // it is tied to another tensor
			}
			want += sizeOf(t, of.Type, of.Shape)
			switch of.Type {
			case "f16", "f32", "f64", "bf16", "q8_0":
				cast += sizeOf(t, "bf16", of.Shape)
			default:
				cast += sizeOf(t, of.Type, of.Shape)
			}
		}
		r := loadingInto(t, weightFiles+name)[0]
		assert.Equal(t, want, r.SizeBytes, name)
		assert.GreaterOrEqual(t, r.AllocatedBytes, r.SizeBytes, name)
		assert.Equal(t, []any{weightFiles + name, "cpu:0", len(file.Tensors)}, []any{r.Path, r.Device, r.TensorCount})
		assert.Positive(t, r.Seconds)
		assert.InEpsilon(t, float64(r.SizeBytes)/r.Seconds, r.BytesPerSecond, 1e-9)
		assert.Equal(t, cast, loadingInto(t, weightFiles+name, "--dtype", "bf16", "--threads", "3")[0].SizeBytes, name)
	}
}

func TestLoadsChosenTensors(t *testing.T) {
	cleanEnvironment(t)
	t.Setenv("FERRUM_HOST_DEVICES", "2")
	folder := checkpoint(t)
	r := loadingInto(t, folder, folder+"/2.safetensors", "--exclude", "a", "--device", "cpu:1")
	require.Len(t, r, 2)
	assert.Equal(t, []uint64{7, 4}, []uint64{r[0].SizeBytes, r[1].SizeBytes})
	assert.Equal(t, "cpu:1", r[1].Device)
	o := invoke(t, "weights", "load", folder, "--filter", "[bc]")
	assert.Equal(t, exitDone, o.status)
	assert.Regexp(t, `^`+folder+`: 2 tensors, 7 B into cpu:0 in \d+\.\d{3} s, \d+(\.\d\d)? ([KMG]i)?B/s\n$`, o.out)
	assert.Zero(t, loadingInto(t, folder, "--exclude", "*")[0].SizeBytes, "an empty selection is not an error")
}

// A model that does not fit is an error of the device. The message has the sizes.
func TestLoadAboveTheMemory(t *testing.T) {
	cleanEnvironment(t)
	t.Setenv("FERRUM_HOST_MEMORY", "64MiB!")
	o := invoke(t, "weights", "load", hugeFile(t, "U8", 1<<36))
	assert.Equal(t, exitMachine, o.status, o.err)
	assert.Contains(t, o.err, "cpu:0")
	assert.Contains(t, o.err, "64 GiB")
	assert.NotContains(t, o.err, "live", "no memory is left")
	assert.Empty(t, o.out)
}
