package architecture_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/architecture"
	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
)

func TestMiniLMMakesOneVectorOfASentence(t *testing.T) {
	s, err := architecture.ReadSentence(miniLM(t))
	require.NoError(t, err)
	assert.Equal(t, &architecture.Sentence{Pooling: architecture.PoolingMean, IsNormalized: true, MaxTokens: 256}, s)
	made := define(t, miniLM(t))
	assert.Equal(t, s, made.Sentence)
	assert.JSONEq(t, `{"pooling": "mean", "is_normalized": true, "max_tokens": 256}`, string(made.Model.Metadata.Additional[architecture.MetadataSentence]))
}

// A definition has the rule, and a bound for the tokens of a text. What is wrong with it is a warning.
func TestDefinitionsHaveTheirSentence(t *testing.T) {
	assert.Nil(t, define(t, "testdata/bert").Sentence)
	assert.Equal(t, &architecture.Sentence{Pooling: architecture.PoolingMean, MaxTokens: 16}, define(t, "testdata/bert.gguf").Sentence)
	for _, c := range []struct {
		pooling, length string
		tokens          uint64
		path            string
		says            string
	}{
		{`{"pooling_mode_cls_token": true}`, `{"max_seq_length": 9}`, 9, "", ""},
		{`{"pooling_mode_cls_token": true}`, `{"max_seq_length": 17}`, 16, "sentence_bert_config.json.max_seq_length", "is 17, and the model has 16 positions"},
		{`{"pooling_mode_lasttoken": true}`, "", 0, "modules.json", "is not known here"},
	} {
		folder := sentenceFolder(t, modules, c.pooling, c.length)
		for _, name := range []string{"config.json", "model.safetensors"} {
			data, err := os.ReadFile(filepath.Join("testdata/bert", name))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), data, 0o600))
		}
		d := define(t, folder)
		if c.tokens != 0 {
			require.NotNil(t, d.Sentence)
			assert.Equal(t, c.tokens, d.Sentence.MaxTokens)
		} else {
			assert.Nil(t, d.Sentence)
		}
		last := d.Issues[len(d.Issues)-1]
		if c.path == "" {
			assert.Len(t, d.Issues, 1, "the head of the small model")
			continue
		}
		assert.Equal(t, c.path, last.ConfigPath)
		assert.Contains(t, last.Description, c.says)
		assert.Equal(t, ir.Warning, last.Severity)
		assert.Equal(t, d.Sentence, define(t, filepath.Join(folder, "model.safetensors")).Sentence)
	}
}

func TestSentencesOfOtherModels(t *testing.T) {
	s, err := architecture.ReadSentence("testdata/bert")
	require.NoError(t, err)
	assert.Nil(t, s, "the folder does not say how")
	s, err = architecture.ReadSentence("testdata/bert.gguf")
	require.NoError(t, err)
	assert.Equal(t, &architecture.Sentence{Pooling: architecture.PoolingMean}, s)
	s, err = architecture.ReadSentence("../estimate/testdata/gguf/gpt-oss.gguf")
	require.NoError(t, err)
	assert.Nil(t, s)
}

const modules = `[{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
	{"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]`

// sentenceFolder writes the files of sentence-transformers.
func sentenceFolder(t *testing.T, modules, pooling, length string) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "1_Pooling"), 0o700))
	for name, text := range map[string]string{"modules.json": modules, "1_Pooling/config.json": pooling, "sentence_bert_config.json": length} {
		if text != "" {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
		}
	}
	return folder
}

func TestRulesOfPooling(t *testing.T) {
	for text, want := range map[string]architecture.Pooling{
		`{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}`: architecture.PoolingCLS,
		`{"pooling_mode_max_tokens": true, "pooling_mode_lasttoken": false}`:  architecture.PoolingMax,
		`{"pooling_mode_mean_tokens": true, "word_embedding_dimension": 384}`: architecture.PoolingMean,
	} {
		s, err := architecture.ReadSentence(sentenceFolder(t, modules, text, `{"max_seq_length": null}`))
		require.NoError(t, err)
		assert.Equal(t, &architecture.Sentence{Pooling: want}, s)
	}
}

func TestSentencesThatAreNotKnown(t *testing.T) {
	const mean = `{"pooling_mode_mean_tokens": true}`
	for _, c := range []struct {
		modules, pooling, length string
		code                     device.Code
		says                     string
	}{
		{modules, `{"pooling_mode_weightedmean_tokens": true}`, "", device.CodeUnsupported, `"pooling_mode_weightedmean_tokens" is not known here`},
		{modules, `{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true}`, "", device.CodeUnsupported, "more than one rule of pooling: cls and mean"},
		{modules, `{"pooling_mode_mean_tokens": 1}`, "", device.CodeInvalidFormat, "neither true nor false"},
		{modules, `{}`, "", device.CodeInvalidFormat, "has no rule of pooling"},
		{modules, `[`, "", device.CodeInvalidFormat, "config.json: "},
		{modules, "", "", device.CodeNotFound, "1_Pooling"},
		{modules, mean, `{"max_seq_length": -1}`, device.CodeInvalidFormat, "sentence_bert_config.json"},
		{`[{"path":"","type":"x.Transformer"}]`, mean, "", device.CodeUnsupported, "no module of the type Pooling"},
		{`[{"path":"","type":"x.Transformer"},{"path":"../x","type":"x.Pooling"}]`, mean, "", device.CodeInvalidFormat, `"../x" is not in the folder`},
		{`[{"path":"","type":"x.Transformer"},{"path":"/","type":"x.Pooling"}]`, mean, "", device.CodeNotFound, "config.json"},
		{`[{"path":"","type":"x.Transformer"},{"path":"1_Pooling","type":"x.Pooling"},{"path":"2","type":"x.Dense"}]`, mean, "", device.CodeUnsupported, `[2].type: "x.Dense" is not known`},
		{`{}`, mean, "", device.CodeInvalidFormat, "modules.json"},
		{`[` + string(make([]byte, 70_000)) + `]`, mean, "", device.CodeInvalidFormat, "more than"},
	} {
		_, err := architecture.ReadSentence(sentenceFolder(t, c.modules, c.pooling, c.length))
		assert.Equal(t, c.code, device.CodeOf(err), "%v", err)
		assert.ErrorContains(t, err, c.says)
	}
}
