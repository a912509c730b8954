package architecture_test

import (
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

// stopping counts the issues that stop a build.
func stopping(issues []ir.Issue) (count int) {
	for _, i := range issues {
		if i.Severity != ir.Warning {
			count++
		}
	}
	return count
}
