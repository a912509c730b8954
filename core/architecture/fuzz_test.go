package architecture_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ferrum_mem/core/architecture"
	"ferrum_mem/core/device"
	"ferrum_mem/core/estimate"
	"ferrum_mem/core/ir"
	"ferrum_mem/tests/mutation"
)

// FuzzConfig checks that a configuration of others makes a typed error with its name, or a valid definition
// with the parameters that estimation counts.
func FuzzConfig(f *testing.F) {
	for _, text := range published(f) {
		f.Add(string(text))
	}
	f.Add(`{"model_type":"roberta","num_hidden_layers":1,"pad_token_id":511}`)
	f.Add(`{"model_type":"bert","num_hidden_layers":2,"hidden_size":48,"type_vocab_size":0,"num_key_value_heads":3,"layer_norm_eps":1e-300}`)
	f.Add(`{"model_type":"electra","num_hidden_layers":1,"embedding_size":7}`)
	f.Add(`{"model_type":"mpnet","num_hidden_layers":1,"relative_attention_num_buckets":33,"type_vocab_size":3}`)
	f.Add(`{"model_type":"distilbert","n_layers":1,"activation":"relu","initializer_range":0,"mlp_bias":false}`)
	f.Fuzz(mutation.Also(func(t *testing.T, text string) {
		d, err := architecture.OpenConfig("fuzzed", []byte(text), architecture.Options{})
		issues, told := architecture.ValidateConfig("fuzzed", []byte(text))
		if err != nil {
			if code := device.CodeOf(err); code != device.CodeInvalidFormat && code != device.CodeUnsupported && code != device.CodeOverflow {
				t.Fatalf("not a typed error: %v", err)
			}
			if len(err.Error()) > 2000 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			if told == nil && (len(issues) == 0 || stopping(issues) == 0) {
				t.Fatalf("no issue tells of %v", err)
			}
			return
		}
		if told != nil || stopping(issues) > 0 {
			t.Fatalf("a definition with issues: %v %v", told, issues)
		}
		m, err := estimate.ReadConfig("fuzzed", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want, err := m.Parameters()
		if err != nil {
			t.Fatal(err)
		}
		if has, err := d.Model.Count(); err != nil || has.Parameters != want {
			t.Fatalf("%d parameters of %d: %v", has.Parameters, want, err)
		}
		if found := d.Model.Validate(); stopping(found) > 0 {
			t.Fatalf("not valid: %v", found)
		}
	}))
}

// FuzzGGUF checks that a file of others makes a typed error with its name, or a valid definition whose
// parameters are all in the file.
func FuzzGGUF(f *testing.F) {
	seed, err := os.ReadFile("testdata/bert.gguf")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(mutation.Also(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "fuzzed.gguf")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := architecture.Open(path, architecture.Options{})
		if err != nil {
			switch device.CodeOf(err) {
			case device.CodeInvalidFormat, device.CodeUnsupported, device.CodeOverflow, device.CodeNotFound, device.CodeInvalidArgument:
			default:
				t.Fatalf("not a typed error: %v", err)
			}
			if !strings.Contains(err.Error(), "fuzzed.gguf") || len(err.Error()) > 2000 {
				t.Fatalf("an error without the file, or of %d bytes: %.2000v", len(err.Error()), err)
			}
			return
		}
		for _, p := range d.Model.Parameters {
			if p.Value == nil && p.Source == "" {
				t.Fatalf("%s is not in the file", p.Name)
			}
		}
		if found := d.Model.Validate(); stopping(found) > 0 {
			t.Fatalf("not valid: %v", found)
		}
		if _, err := d.Model.JSON(); err != nil {
			t.Fatal(err)
		}
	}))
}

// FuzzSentence checks that files of sentence-transformers make a typed error or a rule that is known.
func FuzzSentence(f *testing.F) {
	f.Add([]byte(modules + "\x00" + `{"pooling_mode_mean_tokens": true, "word_embedding_dimension": 3}` + "\x00" + `{"max_seq_length": 256}`))
	f.Add([]byte(`[{"path":"","type":"x.Transformer"},{"path":"a\u0000b","type":"x.Pooling"}]` + "\x00{}\x00{}"))
	f.Fuzz(mutation.Also(func(t *testing.T, data []byte) {
		parts := bytes.SplitN(data, []byte{0}, 3)
		for len(parts) < 3 {
			parts = append(parts, nil)
		}
		s, err := architecture.ReadSentence(sentenceFolder(t, string(parts[0]), string(parts[1]), string(parts[2])))
		switch code := device.CodeOf(err); {
		case err == nil && (s == nil || s.Pooling == architecture.PoolingMean || s.Pooling == architecture.PoolingCLS || s.Pooling == architecture.PoolingMax):
		case err != nil && s == nil && (code == device.CodeInvalidFormat || code == device.CodeUnsupported || code == device.CodeNotFound || code == device.CodeInvalidArgument):
		default:
			t.Fatalf("%+v, %v", s, err)
		}
	}))
}

// stopping counts the issues that stop a build.
func stopping(issues []ir.Issue) (count int) {
	for _, i := range issues {
		if i.Severity != ir.Warning {
			count++
		}
	}
	return count
}
