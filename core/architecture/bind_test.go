package architecture_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/architecture"
	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
)

// entry is a tensor in the header of a safetensors file.
type entry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// changed returns a folder with a small model whose tensors are changed. The elements of a tensor with a
// new size are zeros.
func changed(t *testing.T, model string, change func(map[string]entry)) string {
	t.Helper()
	folder := t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", model, "config.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "config.json"), text, 0o600))
	file, err := os.ReadFile(filepath.Join("testdata", model, "model.safetensors"))
	require.NoError(t, err)
	end := 8 + binary.LittleEndian.Uint64(file)
	var tensors map[string]entry
	require.NoError(t, json.Unmarshal(file[8:end], &tensors))
	change(tensors)
	size := 0
	for name, e := range tensors {
		bytes := map[string]int{"F16": 2, "BF16": 2, "F32": 4, "I32": 4, "I64": 8}[e.DType]
		for _, length := range e.Shape {
			bytes *= length
		}
		e.Offsets = [2]int{size, size + bytes}
		tensors[name] = e
		size += bytes
	}
	header, err := json.Marshal(tensors)
	require.NoError(t, err)
	out := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "model.safetensors"), append(out, make([]byte, size)...), 0o600))
	return folder
}

func TestWrongWeights(t *testing.T) {
	const query = "bert.encoder.layer.0.attention.self.query.weight"
	for _, c := range []struct {
		name   string
		change func(map[string]entry)
		code   device.Code
		path   string
		says   string
	}{
		{"missing", func(all map[string]entry) { delete(all, query) }, device.CodeInvalidFormat, query, "is not there: a tensor of the shape [12, 12] is needed; the most similar of 40 is"},
		{"misshaped", func(all map[string]entry) { all[query] = entry{DType: "F32", Shape: []int{12, 11}} }, device.CodeInvalidFormat, query,
			"has the shape [12, 11], and the configuration implies [12, 12]"},
		{"flat", func(all map[string]entry) { all[query] = entry{DType: "F32", Shape: []int{144}} }, device.CodeInvalidFormat, query, "has the shape [144]"},
		{"integers", func(all map[string]entry) { all[query] = entry{DType: "I32", Shape: []int{12, 12}} }, device.CodeUnsupported, query,
			"has elements of the type I32, not floating-point numbers"},
		{"half a pooler", func(all map[string]entry) { delete(all, "bert.pooler.dense.bias") }, device.CodeInvalidFormat, "bert.pooler.dense.bias", "is not there"},
		{"half a norm", func(all map[string]entry) { delete(all, "bert.embeddings.LayerNorm.gamma") }, device.CodeInvalidFormat,
			"bert.embeddings.LayerNorm.weight", "the most similar of 40 is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := changed(t, "bert", c.change)
			_, err := architecture.Open(folder, architecture.Options{})
			require.Error(t, err)
			assert.Equal(t, c.code, device.CodeOf(err))
			assert.ErrorContains(t, err, folder)
			assert.ErrorContains(t, err, c.path)
			assert.ErrorContains(t, err, c.says)
			issues, err := architecture.Validate(folder)
			require.NoError(t, err)
			assert.Equal(t, "weights."+c.path, issues[0].ConfigPath)
			assert.Equal(t, ir.Error, issues[0].Severity)
			assert.NotEmpty(t, issues[0].SuggestedFix)
		})
	}
}

// Tensors of a head are told and not loaded. A buffer is neither.
func TestTensorsOfAHead(t *testing.T) {
	d := define(t, "testdata/bert")
	require.Len(t, d.Issues, 1)
	assert.Equal(t, ir.Issue{
		Severity: ir.Warning, Category: "weights", Description: "no part of the model uses the tensor: it is not loaded",
		ConfigPath: "weights.cls.predictions.bias",
	}, d.Issues[0])
}

// A long list of issues is cut, and the rest is counted.
func TestManyWrongTensors(t *testing.T) {
	folder := changed(t, "bert", func(all map[string]entry) {
		for name, e := range all {
			e.Shape = append(e.Shape, 2)
			all[name] = e
		}
		for i := range 40 {
			all[fmt.Sprint("more.", i)] = entry{DType: "F32", Shape: []int{1}}
		}
	})
	issues, err := architecture.Validate(folder)
	require.NoError(t, err)
	require.Len(t, issues, 17+17)
	assert.Equal(t, "there are 23 more tensors that do not fit", issues[16].Description)
	assert.Equal(t, "there are 25 more tensors that no part of the model uses", issues[33].Description)
	assert.Equal(t, ir.Warning, issues[33].Severity)
}

func TestWeightsWithoutAPooler(t *testing.T) {
	folder := changed(t, "bert", func(all map[string]entry) {
		delete(all, "bert.pooler.dense.weight")
		delete(all, "bert.pooler.dense.bias")
	})
	d := define(t, folder)
	assert.Equal(t, []string{"last_hidden_state"}, d.Model.Graph.Outputs)
	require.Len(t, d.Issues, 2)
	assert.Equal(t, "weights.bert.pooler.dense.weight", d.Issues[0].ConfigPath)
	assert.Contains(t, d.Issues[0].Description, "the model has no output pooler_output")
	for _, p := range d.Model.Parameters {
		assert.NotContains(t, p.Name, "pooler")
	}
}

// renamed gives the encoder of the small model another prefix.
func renamed(all map[string]entry, prefix string) {
	for name, e := range all {
		if rest, is := name[min(5, len(name)):], len(name) > 5 && name[:5] == "bert."; is {
			all[prefix+rest] = e
		}
	}
}

func TestPrefixes(t *testing.T) {
	remove := func(all map[string]entry) {
		for name := range all {
			if len(name) > 5 && name[:5] == "bert." {
				delete(all, name)
			}
		}
	}
	for _, prefix := range []string{"", "0.auto_model.", "model.bert."} {
		folder := changed(t, "bert", func(all map[string]entry) {
			kept := map[string]entry{}
			for name, e := range all {
				kept[name] = e
			}
			remove(all)
			renamed(kept, prefix)
			remove(kept)
			for name, e := range kept {
				all[name] = e
			}
		})
		d := define(t, folder)
		assert.Equal(t, prefix+"embeddings.word_embeddings.weight", d.Model.Parameters[0].Source)
	}
	folder := changed(t, "bert", func(all map[string]entry) { renamed(all, "question.") })
	_, err := architecture.Open(folder, architecture.Options{})
	assert.Equal(t, device.CodeInvalidFormat, device.CodeOf(err))
	assert.ErrorContains(t, err, "2 tensors end with embeddings.word_embeddings.weight")
	assert.ErrorContains(t, err, "it is not known which encoder is meant")
}

func TestTypesOfWeights(t *testing.T) {
	as := func(kind string) func(map[string]entry) {
		return func(all map[string]entry) {
			for name, e := range all {
				if e.DType == "F32" {
					all[name] = entry{DType: kind, Shape: e.Shape}
				}
			}
		}
	}
	assert.Equal(t, "bf16", define(t, changed(t, "bert", as("BF16"))).Model.Parameters[0].DType.String())
	mixed := changed(t, "bert", func(all map[string]entry) {
		all["bert.pooler.dense.bias"] = entry{DType: "F16", Shape: []int{12}}
	})
	assert.Equal(t, "f32", define(t, mixed).Model.Parameters[0].DType.String())
}

func TestFoldersWithoutParts(t *testing.T) {
	empty := t.TempDir()
	_, err := architecture.Open(empty, architecture.Options{})
	assert.Equal(t, device.CodeNotFound, device.CodeOf(err))
	_, err = architecture.Open(filepath.Join(empty, "none"), architecture.Options{})
	assert.Equal(t, device.CodeNotFound, device.CodeOf(err))

	text, err := os.ReadFile("testdata/bert/config.json")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(empty, "config.json"), text, 0o600))
	for _, path := range []string{empty, filepath.Join(empty, "config.json"), "testdata/bert/config.json"} {
		d := define(t, path)
		assert.Empty(t, d.Model.Parameters[0].Source, path)
		assert.Contains(t, d.Model.Graph.Outputs, "pooler_output")
	}
	assert.NotEmpty(t, define(t, "testdata/bert/model.safetensors").Model.Parameters[0].Source)

	alone := t.TempDir()
	file, err := os.ReadFile("testdata/bert/model.safetensors")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(alone, "model.safetensors"), file, 0o600))
	_, err = architecture.Open(alone, architecture.Options{})
	assert.Equal(t, device.CodeNotFound, device.CodeOf(err))
	assert.ErrorContains(t, err, "there is no config.json beside the weights")

	_, err = architecture.Open("../estimate/testdata/gguf/unknown.gguf", architecture.Options{})
	assert.Equal(t, device.CodeUnsupported, device.CodeOf(err))
	assert.ErrorContains(t, err, `the architecture "somethingelse" is not known; the nearest is`)
	_, err = architecture.Open("../estimate/testdata/gguf/gpt-oss.gguf", architecture.Options{})
	assert.Equal(t, device.CodeUnsupported, device.CodeOf(err))
	assert.ErrorContains(t, err, "gpt_oss is a decoder")
}
