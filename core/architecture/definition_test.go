package architecture_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/architecture"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/estimate"
	"ferrum_mem/core/ir"
)

// count returns the number of parameters of a definition.
func count(t *testing.T, m *ir.Model) uint64 {
	t.Helper()
	sums, err := m.Count()
	require.NoError(t, err)
	return sums.Parameters
}

// published returns the published configurations of package estimate by their names.
func published(t testing.TB) map[string][]byte {
	files, err := filepath.Glob("../estimate/testdata/configs/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	texts := map[string][]byte{}
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		texts[strings.TrimSuffix(filepath.Base(path), ".json")] = text
	}
	return texts
}

// Each published configuration has as many parameters as estimation counts, or is refused by name.
func TestPublishedConfigurations(t *testing.T) {
	var made []string
	for name, text := range published(t) {
		m, err := estimate.ReadConfig(name, text)
		require.NoError(t, err)
		d, err := architecture.OpenConfig(name, text, architecture.Options{})
		if err == nil {
			made = append(made, name)
			want, err := m.Parameters()
			require.NoError(t, err)
			assert.Equal(t, want, count(t, d.Model), name)
			assert.Equal(t, m.Type, d.Model.Metadata.ModelType)
			assert.Empty(t, d.Issues, name)
			continue
		}
		assert.Equal(t, device.CodeUnsupported, device.CodeOf(err), name)
		assert.ErrorContains(t, err, name+": model_type: ")
		if m.Encoder {
			assert.ErrorContains(t, err, "the definition of the encoder "+m.Type+" is not built yet")
		} else {
			assert.ErrorContains(t, err, m.Type+" is a decoder: definitions of decoders are not built yet")
		}
		issues, err := architecture.ValidateConfig(name, text)
		require.NoError(t, err)
		require.Len(t, issues, 1)
		assert.Equal(t, ir.Critical, issues[0].Severity)
		assert.Contains(t, issues[0].SuggestedFix, "bert, camembert, distilbert, electra, mpnet, roberta, xlm-roberta")
	}
	assert.ElementsMatch(t, []string{
		"all-minilm-l6-v2", "bert-base-uncased", "bert-large-uncased", "roberta-base", "xlm-roberta-base", "camembert-base", "distilbert-base-uncased", "electra-base", "electra-small",
		"all-mpnet-base-v2",
	}, made)
}

func TestMiniLMHasAllItsTensors(t *testing.T) {
	d := define(t, miniLM(t))
	assert.EqualValues(t, 22713216, count(t, d.Model))
	x, err := estimate.Open(miniLM(t))
	require.NoError(t, err)
	assert.Equal(t, x.Checkpoint.FloatElements, count(t, d.Model))
	sources := map[string]bool{}
	for _, p := range d.Model.Parameters {
		assert.Equal(t, p.Value == nil, p.Source != "", p.Name)
		if p.Source != "" {
			assert.False(t, sources[p.Source], "%s is the source of two parameters", p.Source)
			sources[p.Source] = true
			assert.Equal(t, dtype.F32, p.DType)
			assert.True(t, p.Trainable)
		}
	}
	assert.Len(t, sources, 103, "all tensors but the buffer of positions")
	assert.NotContains(t, sources, "embeddings.position_ids")
	width := uint64(1536)
	assert.Equal(t, ir.Dimensions{
		VocabSize: 30522, HiddenSize: 384, NumLayers: 6, NumHeads: 12, IntermediateSize: &width, MaxSequenceLength: 512,
	}, d.Model.Architecture.Dimensions)
	assert.Equal(t, ir.FamilyTransformer, d.Model.Metadata.Family)
	assert.Equal(t, "model", d.Model.Metadata.Name)
	assert.JSONEq(t, `1e-12`, string(d.Model.Architecture.Config["layer_norm_eps"]))
}

// Each definition passes the validation of its package, and is the same after a trip through JSON.
func TestDefinitionsAreValid(t *testing.T) {
	for _, path := range []string{"bert", "roberta", "distilbert", "camembert", "electra", "mpnet", "bert.gguf"} {
		d := define(t, filepath.Join("testdata", path))
		assert.Empty(t, d.Model.Validate(), path)
		text, err := d.Model.JSON()
		require.NoError(t, err)
		again, err := ir.Parse(text)
		require.NoError(t, err)
		back, err := again.JSON()
		require.NoError(t, err)
		assert.Equal(t, string(text), string(back))
		shapes, err := d.Model.Infer(map[string]uint64{"batch": 3, "sequence": 7})
		require.NoError(t, err)
		assert.NotNil(t, shapes)
	}
}

// The names of the file, and the settings of the family, reach the definition.
func TestNamesAndSettings(t *testing.T) {
	bert := define(t, "testdata/bert").Model
	found := map[string]ir.Parameter{}
	for _, p := range bert.Parameters {
		found[p.Name] = p
	}
	assert.Equal(t, "bert.encoder.layer.1.attention.output.LayerNorm.gamma", found["encoder.layer.1.attention.output.LayerNorm.weight"].Source)
	assert.Equal(t, "bert.embeddings.LayerNorm.beta", found["embeddings.LayerNorm.bias"].Source)
	assert.Equal(t, "bert.pooler.dense.weight", found["pooler.dense.weight"].Source)
	assert.Equal(t, ir.Initialization{Strategy: ir.StrategyNormal, Std: 0.02}, found["encoder.layer.0.intermediate.dense.weight"].Initialization)
	assert.Equal(t, ir.Initialization{Strategy: ir.StrategyZeros}, found["encoder.layer.0.intermediate.dense.bias"].Initialization)
	assert.Equal(t, ir.Initialization{Strategy: ir.StrategyOnes}, found["embeddings.LayerNorm.weight"].Initialization)
	assert.Equal(t, []string{"input_ids", "attention_mask", "token_type_ids", "position_ids"}, bert.Graph.Inputs)
	for _, n := range bert.Graph.Nodes {
		if n.ID == "attention_mask" {
			assert.JSONEq(t, `["batch","sequence"]`, string(n.Metadata[ir.MetadataDims]))
			assert.JSONEq(t, `"ones"`, string(n.Metadata[ir.MetadataDefault]))
		}
	}

	roberta := define(t, "testdata/roberta").Model
	assert.EqualValues(t, 14, roberta.Architecture.Dimensions.MaxSequenceLength, "two rows of 16 are not used")
	assert.JSONEq(t, `2`, string(roberta.Architecture.Config["first_position"]))

	distil := define(t, "testdata/distilbert").Model
	assert.Equal(t, []string{"input_ids", "attention_mask", "position_ids"}, distil.Graph.Inputs)

	gguf := define(t, "testdata/bert.gguf").Model
	assert.Equal(t, "Small", gguf.Metadata.Name)
	assert.Equal(t, "mit", *gguf.Metadata.License)
	for _, p := range gguf.Parameters {
		if p.Name == "encoder.layer.1.output.LayerNorm.bias" {
			assert.Equal(t, "blk.1.layer_output_norm.bias", p.Source)
		}
		if p.Value == nil {
			assert.Equal(t, dtype.F32, p.DType, "the file has two types")
		}
	}
}

func TestOptions(t *testing.T) {
	half, integer := dtype.BF16, dtype.I32
	d, err := architecture.Open("testdata/bert", architecture.Options{Name: "mine", DType: &half})
	require.NoError(t, err)
	assert.Equal(t, "mine", d.Model.Metadata.Name)
	assert.Equal(t, dtype.BF16, d.Model.Parameters[0].DType)
	_, err = architecture.Open("testdata/bert", architecture.Options{DType: &integer})
	assert.Equal(t, device.CodeInvalidArgument, device.CodeOf(err))
	assert.ErrorContains(t, err, "i32 is not one of f32, f16, bf16, f64")

	for stated, want := range map[string]dtype.DType{"float16": dtype.F16, "bfloat16": dtype.BF16, "float32": dtype.F32} {
		d, err := architecture.OpenConfig("x", small(t, map[string]any{"torch_dtype": stated}), architecture.Options{})
		require.NoError(t, err)
		assert.Equal(t, want, d.Model.Parameters[0].DType)
		assert.Empty(t, d.Model.Parameters[0].Source, "there are no weights")
	}
}

// small returns the configuration of the small model of BERT with other fields.
func small(t *testing.T, fields map[string]any) []byte {
	t.Helper()
	var all map[string]any
	readTestdata(t, "bert/config.json", &all)
	for key, value := range fields {
		all[key] = value
	}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	return text
}

func TestWrongSettings(t *testing.T) {
	for _, c := range []struct {
		fields map[string]any
		code   device.Code
		path   string
		says   string
	}{
		{map[string]any{"num_attention_heads": 5}, device.CodeInvalidFormat, "num_attention_heads", "5 does not divide the hidden size of 12"},
		{map[string]any{"hidden_size": nil, "model_type": "llama"}, device.CodeInvalidFormat, "hidden_size", "is missing"},
		{map[string]any{"hidden_size": "12"}, device.CodeInvalidFormat, "hidden_size", "not a whole number"},
		{map[string]any{"model_type": "brt"}, device.CodeUnsupported, "model_type", "the nearest known are bert"},
		{map[string]any{"model_type": nil}, device.CodeInvalidFormat, "model_type", "is missing"},
		{map[string]any{"hidden_act": "quick_gelu"}, device.CodeUnsupported, "hidden_act", `"quick_gelu" has no operator`},
		{map[string]any{"hidden_act": 3}, device.CodeInvalidFormat, "hidden_act", "not a text"},
		{map[string]any{"position_embedding_type": "relative_key"}, device.CodeUnsupported, "position_embedding_type", "only absolute ones"},
		{map[string]any{"is_decoder": true}, device.CodeUnsupported, "is_decoder", "is not built yet"},
		{map[string]any{"add_cross_attention": true}, device.CodeUnsupported, "add_cross_attention", "is not built"},
		{map[string]any{"layer_norm_eps": 0}, device.CodeInvalidFormat, "layer_norm_eps", "divide by 0"},
		{map[string]any{"layer_norm_eps": -1}, device.CodeInvalidFormat, "layer_norm_eps", "not within 0 to 1"},
		{map[string]any{"initializer_range": "x"}, device.CodeInvalidFormat, "initializer_range", "not a number"},
		{map[string]any{"num_hidden_layers": 1025}, device.CodeInvalidFormat, "num_hidden_layers", "at most 1024"},
		{map[string]any{"model_type": "roberta", "pad_token_id": 15}, device.CodeInvalidFormat, "max_position_embeddings", "the first 16 are not used"},
		{map[string]any{"num_key_value_heads": 2}, device.CodeInvalidFormat, "num_key_value_heads", "2 does not divide the 3 attention heads"},
		{map[string]any{"hidden_size": 1 << 39, "num_attention_heads": 1 << 20, "head_dim": 1 << 30}, device.CodeOverflow, "head_dim", "elements are more than"},
		{map[string]any{"quantization_config": map[string]any{"quant_method": "gptq", "bits": 4, "group_size": 128}}, device.CodeUnsupported, "quantization_config", "gptq"},
	} {
		text := small(t, c.fields)
		_, err := architecture.OpenConfig("config.json", text, architecture.Options{})
		require.Error(t, err, c.path)
		assert.Equal(t, c.code, device.CodeOf(err), "%v", err)
		assert.ErrorContains(t, err, "config.json: "+c.path+": ")
		assert.ErrorContains(t, err, c.says)
		issues, err := architecture.ValidateConfig("config.json", text)
		require.NoError(t, err)
		require.NotEmpty(t, issues)
		assert.Equal(t, c.path, issues[0].ConfigPath)
		assert.GreaterOrEqual(t, issues[0].Severity, ir.Error)
		assert.Contains(t, issues[0].Description, c.says)
		assert.NotEmpty(t, issues[0].SuggestedFix)
	}
}

// Warnings let a definition be made.
func TestDoubtfulSettings(t *testing.T) {
	text := small(t, map[string]any{"pad_token_id": 30, "head_dim": 8})
	d, err := architecture.OpenConfig("config.json", text, architecture.Options{})
	require.NoError(t, err)
	require.Len(t, d.Issues, 2)
	assert.Equal(t, []string{"pad_token_id", "num_attention_heads"}, []string{d.Issues[0].ConfigPath, d.Issues[1].ConfigPath})
	assert.EqualValues(t, 8, *d.Model.Architecture.Dimensions.HeadDim)
	m, err := estimate.ReadConfig("config.json", text)
	require.NoError(t, err)
	want, err := m.Parameters()
	require.NoError(t, err)
	assert.Equal(t, want, count(t, d.Model))
}

// A missing width has the default of the family, which may not be what the author meant.
func TestMissingSettings(t *testing.T) {
	issues, err := architecture.ValidateConfig("config.json", []byte(`{"model_type":"distilbert","dim":48,"n_heads":4,"hidden_dim":96,"max_position_embeddings":8}`))
	require.NoError(t, err)
	require.Len(t, issues, 2)
	for i, path := range []string{"n_layers", "vocab_size"} {
		assert.Equal(t, ir.Issue{
			Severity: ir.Warning, Category: "configuration", Description: "is missing: the default of distilbert is taken", ConfigPath: path,
			SuggestedFix: "state the value that was published with the model",
		}, issues[i])
	}
}

// Several settings that cannot be built are told at once.
func TestAllIssuesAreTold(t *testing.T) {
	issues, err := architecture.ValidateConfig("config.json", small(t, map[string]any{"hidden_act": "mish", "is_decoder": true, "layer_norm_eps": 0}))
	require.NoError(t, err)
	var paths []string
	for _, i := range issues {
		paths = append(paths, i.ConfigPath)
	}
	assert.Equal(t, []string{"hidden_act", "is_decoder", "layer_norm_eps"}, paths)
}
