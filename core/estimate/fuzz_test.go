package estimate

import (
	"os"
	"strings"
	"testing"

	"ferrum_mem/core/device"
	"ferrum_mem/tests/mutation"
)

// The fuzzers test what is made of files that others wrote: a typed error that names the file, or
// a result within the bounds of its input. The headers of weights are fuzzed in core/weights/header.

func mustBeTyped(t *testing.T, err error) {
	code := device.CodeOf(err)
	if (code != device.CodeInvalidFormat && code != device.CodeOverflow) || !strings.Contains(err.Error(), "fuzzed: ") {
		t.Fatalf("not a typed error that names the file: %v", err)
	}
	if len(err.Error()) > 2000 {
		t.Fatalf("an error of %d bytes", len(err.Error()))
	}
}

func FuzzConfig(f *testing.F) {
	for _, p := range published {
		text, err := os.ReadFile(configPath(p.file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(`{"model_type":"gemma3","text_config":{"hidden_size":1e9,"num_hidden_layers":-1}}`)
	f.Add(`{"a":[[[[{"b":null}]]]],"a":1}`)
	f.Fuzz(mutation.Also(func(t *testing.T, text string) {
		x, err := OpenConfig("fuzzed", []byte(text))
		if err != nil {
			mustBeTyped(t, err)
			return
		}
		m := x.Model
		if m.SlidingLayers > m.AttentionLayers || m.MLP.DenseLayers+m.MLP.ExpertLayers > m.Layers || m.AttentionLayers > m.Layers || m.Attention.KVHeads > m.Attention.Heads ||
			m.Layers > maxLayers || m.MLP.Experts > maxLayers || m.Hidden > maxNumber {
			t.Fatalf("out of bounds: %+v", m)
		}
		s := Serving{Context: 1, Batch: 1, TensorParallel: 2}
		v, err := x.Fit(s, 1<<40)
		if err != nil {
			if device.CodeOf(err) != device.CodeOverflow && m.divides(2) == "" {
				t.Fatalf("a model that was read cannot be planned: %v", err)
			}
			return
		}
		s.Context, s.Batch = max(1, min(m.Positions, 8)), 3
		more, err := x.Plan(s)
		if err == nil && more.TotalBytes < v.TotalBytes {
			t.Fatalf("%d bytes for more, %d for less", more.TotalBytes, v.TotalBytes)
		}
	}))
}
