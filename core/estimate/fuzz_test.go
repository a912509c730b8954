package estimate

import (
	"os"
	"strings"
	"testing"

	"ferrum_mem/core/device"
)

// The fuzzers test the readers of files that others wrote. A reader returns either a typed
// error that names the file, or a result within the bounds of its input.

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
	f.Fuzz(func(t *testing.T, text string) {
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
	})
}

func FuzzSafetensorsHeader(f *testing.F) {
	f.Add(new(file).add("a", "F32", 2, 3).add("b", "I64", 4).bytes(f))
	f.Add(withHeader(`{"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}`, 1))
	f.Add(withHeader(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0))
	f.Add(withHeader(`{"__metadata__":{"a":{}}}`, 0))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, '{'})
	f.Fuzz(func(t *testing.T, text []byte) {
		tensors, err := readBytes("fuzzed", text)
		if err != nil {
			mustBeTyped(t, err)
			return
		}
		var sum uint64
		names := map[string]bool{}
		for _, tensor := range tensors {
			if tensor.Begin > tensor.End || tensor.End > uint64(len(text)) || names[tensor.Name] {
				t.Fatalf("out of bounds or there twice: %+v", tensor)
			}
			if bits := elementBits(tensor.DType); tensor.Elements*bits != 8*(tensor.End-tensor.Begin) {
				t.Fatalf("elements do not fill the bytes: %+v", tensor)
			}
			names[tensor.Name] = true
			sum += tensor.End - tensor.Begin
		}
		k := &Checkpoint{}
		if err := k.add(tensors); err != nil || k.FloatBytes+k.PackedBytes+k.BufferBytes != sum {
			t.Fatalf("%+v for %d bytes: %v", k, sum, err)
		}
		if sum > uint64(len(text)) {
			t.Fatalf("%d bytes of tensors in a file of %d", sum, len(text))
		}
	})
}

func FuzzSafetensorsIndex(f *testing.F) {
	f.Add(`{"metadata":{"total_size":1},"weight_map":{"a":"one.safetensors","b":"two.safetensors"}}`)
	f.Add(`{"weight_map":{"a":"../one.safetensors"}}`)
	f.Add(`{"weight_map":{"a":1,"a":2}}`)
	f.Fuzz(func(t *testing.T, text string) {
		in, err := readIndex("fuzzed", []byte(text))
		if err != nil {
			mustBeTyped(t, err)
			return
		}
		if len(in.files) == 0 || len(in.files) > len(in.fileOf) {
			t.Fatalf("%d files for %d tensors", len(in.files), len(in.fileOf))
		}
		for _, name := range in.files {
			if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
				t.Fatalf("a name that leads elsewhere: %q", name)
			}
		}
	})
}
