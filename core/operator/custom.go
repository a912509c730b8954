package operator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ferrum_mem/core/device"
)

// Custom is an operator of the program: a layer type. All methods may be called by any number of threads at
// the same time.
type Custom interface {
	// Defaults has the fields of the configuration of a use that states none.
	Defaults() map[string]json.RawMessage
	// Infer returns the outputs for the inputs of a use of the operator. config is the configuration of the
	// use, a JSON object. The result has a place for each element of wanted.
	Infer(config []byte, inputs []Value, wanted []bool) ([]Value, error)
	// Parameters returns the parameters of a use, as a JSON list with the fields of the parameters of a
	// definition (ir.ParseParameters); nil: the operator states none.
	Parameters(config []byte) ([]byte, error)
	// Initialize writes the elements of a parameter of a use, contiguous, in memory of the host.
	Initialize(config []byte, parameter string, of Value, to device.Addr) error
}

// Vocabulary has the operators of the program.
type Vocabulary interface {
	// Find returns an operator; nil: there is none.
	Find(domain, name string) *Schema
	// Names returns the full names of the operators in alphabetical order.
	Names() []string
}

// NewCustom returns the form of an operator of the program with a number of outputs, at least 1. It takes
// inputs of all types.
func NewCustom(domain, name string, outputs int, c Custom) *Schema {
	s := &Schema{Domain: domain, Name: name, Since: 1, Custom: c}
	s.Inputs = []Parameter{{Name: "input", IsOptional: true, IsVariadic: true}}
	for at := range outputs {
		s.Outputs = append(s.Outputs, Parameter{Name: fmt.Sprintf("output[%d]", at)})
	}
	return s
}

// FindIn is Find for the operators of the domains ONNX and Ferrum, and those of a program; nil: it has none.
// Errors: those of Find; CodeNotFound for an operator that the program does not have, with the nearest.
func FindIn(v Vocabulary, domain, name string, opset int) (*Schema, error) {
	if domain == ONNX || domain == "ai.onnx" || domain == Ferrum || v == nil {
		return Find(domain, name, opset)
	}
	found := v.Find(domain, name)
	names := v.Names()
	switch {
	case found != nil && opset > 1:
		return nil, device.Errorf(device.CodeUnsupported, opFind, "%s: opset %d is not known: an operator of the program has the opset 1", found.FullName(), opset)
	case found != nil:
		return found, nil
	case len(names) == 0:
		return Find(domain, name, opset)
	}
	full := FullName(domain, name)
	return nil, device.Errorf(device.CodeNotFound, opFind, "%s is not an operator: the nearest of the program is %q", shortened(full), nearest(full, names))
}

// CheckCustomName returns why an operator of the program cannot have a full name. Errors:
// CodeInvalidArgument.
func CheckCustomName(full string) error {
	const most = 127
	wrong := func(format string, values ...any) error {
		return device.Errorf(device.CodeInvalidArgument, "operator.check_name", "the type %s %s", shortened(full), fmt.Sprintf(format, values...))
	}
	isAllowed := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
	}
	domain, name := SplitName(full)
	switch {
	case full == "":
		return wrong("is empty: want a domain and a name, such as \"mine.scale\"")
	case len(full) > most:
		return wrong("has %v: at most %v are possible", device.Size(len(full)), device.Size(most))
	case strings.IndexFunc(full, func(c rune) bool { return !isAllowed(c) }) >= 0:
		return wrong("has a character other than letters, digits, '_', '-' and '.'")
	case domain == ONNX || name == "":
		return wrong("has no domain or no name: want both, such as \"mine.scale\"")
	case domain == Ferrum || domain == "ai.onnx":
		return wrong("is in the domain %q, whose operators are those of the library: want a domain of the program", domain)
	}
	return nil
}

// prepareCustom joins attributes with the defaults.
func (s *Schema) prepareCustom(attributes []byte) (*Operator, error) {
	config := maps.Clone(s.Custom.Defaults())
	if config == nil {
		config = map[string]json.RawMessage{}
	}
	if len(attributes) > 0 {
		given, err := s.ParseConfig(attributes)
		if err != nil {
			return nil, err
		}
		maps.Copy(config, given)
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, s.refuse("the attributes are not JSON: %v", err)
	}
	return &Operator{Schema: s, config: text}, nil
}

// ParseConfig reads a JSON object whose fields have any form. Errors: CodeInvalidArgument.
func (s *Schema) ParseConfig(text []byte) (map[string]json.RawMessage, error) {
	if len(text) > maxAttributeBytes {
		return nil, s.refuse("the attributes have %v: at most %v are read", device.Size(len(text)), device.Size(maxAttributeBytes))
	}
	var fields map[string]json.RawMessage
	err := json.Unmarshal(text, &fields)
	switch {
	case err != nil && !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) && json.Valid(text), err == nil && fields == nil:
		return nil, s.refuse("the attributes are not a JSON object")
	case err != nil:
		return nil, s.refuse("the attributes are not JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return fields, nil
}

// Config returns the configuration of a use of an operator of the program, a JSON object.
func (o *Operator) Config() []byte { return o.config }

// inferCustom is Infer for an operator of the program. It checks what the operator returns.
func (o *Operator) inferCustom(inputs []Value, wanted []bool) (*Inferred, error) {
	c := &call{Operator: o, inputs: inputs, wanted: wanted}
	switch {
	case len(inputs) == 0:
		return nil, c.wrong("it has no input: a layer of the program needs at least one")
	case len(inputs) > maxVariadic:
		return nil, c.wrong("%d inputs are given: at most %d are possible", len(inputs), maxVariadic)
	case len(wanted) > len(o.Outputs):
		return nil, c.wrong("%d outputs are wanted: the operator has %d", len(wanted), len(o.Outputs))
	}
	for at := range inputs {
		if code, why := inputs[at].check(); code != device.CodeOK && !inputs[at].IsAbsent {
			return nil, c.fail(code, "%s is not possible: %s", c.describe(at), why)
		}
	}
	if wanted == nil {
		wanted = slices.Repeat([]bool{true}, len(o.Outputs))
	}
	found, err := o.Custom.Infer(o.config, inputs, wanted)
	if err != nil {
		return nil, err
	}
	if len(found) != len(wanted) {
		return nil, c.fail(device.CodeInternal, "it has inferred %d outputs: %d are wanted", len(found), len(wanted))
	}
	for at := range found {
		out := &found[at]
		switch {
		case !wanted[at]:
			*out = Value{IsAbsent: true}
			continue
		case out.IsAbsent:
			continue
		case !out.Type.IsKnown():
			return nil, c.wrong("its output %d has the data type %d, which is not known", at, int(out.Type))
		}
		if code, why := out.check(); code != device.CodeOK {
			return nil, c.fail(code, "its output %d %v of %s is not possible: %s", at, out, c.describeInputs(), why)
		}
		out.Known, out.Shape = nil, slices.Clone(out.Shape)
	}
	return &Inferred{Outputs: found}, nil
}
