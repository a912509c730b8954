package backend

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/similar"
)

const (
	// MaxPlans is the largest Options.Plans.
	MaxPlans = 4096
	// MaxNameBytes is the longest name of a backend or an instruction set, in bytes.
	MaxNameBytes = 63
)

// Options are the settings of a backend that are given as JSON. An option that is missing has its
// default.
type Options struct {
	// InstructionSet names the instruction set of the engine, such as "avx2"; "": the engine
	// chooses.
	InstructionSet string `json:"instruction_set"`
	// Plans is how many combinations of shapes an operation keeps planned, 1 to MaxPlans. The
	// oldest one that no run has found again is replaced.
	Plans int `json:"plans"`
	// Prepacking lets ONNX Runtime keep matrices a second time, in the layout that it reads fastest. It is for
	// that type only.
	Prepacking bool `json:"prepacking"`
	// TF32 lets ONNX Runtime round operands of products of f32 to 10 bits of the mantissa on a CUDA device. It is for
	// that type only.
	TF32 bool `json:"tf32"`
}

// DefaultOptions returns the default options: the engine chooses, and 64 plans.
func DefaultOptions() Options { return Options{Plans: 64} }

func (o Options) validate() error {
	if o.Plans < 1 || o.Plans > MaxPlans {
		return wrongField("backend_options.plans", "%d is not from 1 to %d", o.Plans, MaxPlans)
	}
	if len(o.InstructionSet) > MaxNameBytes {
		return wrongField("backend_options.instruction_set", "it has %v, at most %d are allowed", device.Size(len(o.InstructionSet)), MaxNameBytes)
	}
	return nil
}

// ParseOptions reads options from a JSON object, such as {"instruction_set": "avx2"}. An empty
// text has none. Errors: CodeInvalidFormat for a text that is no JSON object; CodeInvalidConfig for
// an unknown name, which names the nearest, and for a value of another kind or out of range.
func ParseOptions(text []byte) (Options, error) {
	o := DefaultOptions()
	if len(bytes.TrimSpace(text)) == 0 {
		return o, nil
	}
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &given); err != nil || given == nil {
		return o, device.Errorf(device.CodeInvalidFormat, opConfig, "backend_options are no JSON object: %s", shortened(string(text)))
	}
	places := map[string]any{"instruction_set": &o.InstructionSet, "plans": &o.Plans, "prepacking": &o.Prepacking, "tf32": &o.TF32}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		place, isKnown := places[name]
		if !isKnown {
			return o, wrongField("backend_options", "option %s is not known; the nearest is %q",
				shortened(name), similar.Names(name, slices.Sorted(maps.Keys(places)), 1)[0])
		}
		if err := json.Unmarshal(given[name], place); err != nil {
			return o, wrongField("backend_options."+name, "%s has another kind", shortened(string(given[name])))
		}
	}
	return o, o.validate()
}

// UnmarshalJSON is ParseOptions.
func (o *Options) UnmarshalJSON(text []byte) (err error) {
	*o, err = ParseOptions(text)
	return err
}
