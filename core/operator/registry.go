package operator

import (
	"fmt"
	"slices"

	"ferrum_mem/core/device"
)

const opFind = "operator.find"

const (
	// OldestOpset is the oldest opset of ONNX with the operators' present rules of broadcasting.
	OldestOpset = 7
	// DefaultOpset is the opset of ONNX whose forms Find returns for opset 0.
	DefaultOpset = 25
	// NewestOpset is the newest opset of ONNX that Find knows. The forms of our data types did not
	// change after DefaultOpset.
	NewestOpset = 28
	// FerrumOpset is the only opset of the domain Ferrum.
	FerrumOpset = 1
)

// entry is an operator: the opsets that changed its form, oldest first, and a function that returns
// the form at one of them. Opsets are omitted if they changed only the text, or only types that
// core/dtype does not have.
type entry struct {
	name     string
	versions []int
	form     func(version int) Schema
}

// entriesOf returns the operators of a domain in alphabetical order. The caller does not change them.
func entriesOf(domain string) []entry {
	switch domain {
	case ONNX:
		return onnxEntries
	case Ferrum:
		return ferrumEntries
	}
	return nil
}

var ferrumEntries = []entry{
	{"layer_norm_residual", []int{1}, layerNormResidual},
	{"linear", []int{1}, linear},
	{"paged_attention", []int{1}, pagedAttention},
	{"quantized_linear", []int{1}, quantizedLinear},
	{"rms_norm_residual", []int{1}, rmsNormResidual},
	{"self_attention", []int{1}, selfAttention},
	{"silu_mul", []int{1}, siluMul},
}

var arithmetic = []int{7, 13, 14}

var onnxEntries = []entry{
	{"Add", arithmetic, binary},
	{"ArgMax", []int{1, 11, 12, 13}, argMax},
	{"Attention", []int{23, 24, 25}, attention},
	{"Cast", []int{6, 9, 13, 19, 21, 23, 24, 25, 28}, cast},
	{"Concat", []int{4, 11, 13}, concat},
	{"Div", arithmetic, binary},
	{"Erf", []int{9, 13}, errorFunction},
	{"Expand", []int{8, 13}, expand},
	{"Gather", []int{1, 11, 13}, gather},
	{"Gelu", []int{20}, gelu},
	{"Gemm", []int{7, 9, 11, 13}, gemm},
	{"LayerNormalization", []int{17}, layerNormalization},
	{"MatMul", []int{1, 9, 13}, matMul},
	{"Mul", arithmetic, binary},
	{"Pow", []int{7, 12, 13, 15}, power},
	{"RMSNormalization", []int{23}, rmsNormalization},
	{"ReduceMax", []int{1, 11, 12, 13, 18, 20}, reduceMax},
	{"ReduceMean", []int{1, 11, 13, 18}, reduceMean},
	{"ReduceSum", []int{1, 11, 13}, reduceSum},
	{"Relu", []int{6, 13, 14}, rectifier},
	{"Reshape", []int{5, 13, 14, 19, 21, 23, 24, 25}, reshape},
	{"RotaryEmbedding", []int{23}, rotary},
	{"Slice", []int{1, 10, 11, 13}, slice},
	{"Softmax", []int{1, 11, 13}, softmax},
	{"Split", []int{2, 11, 13, 18}, split},
	{"Sqrt", []int{6, 13}, squareRoot},
	{"Squeeze", []int{1, 11, 13, 21, 23, 24, 25}, squeeze},
	{"Sub", arithmetic, binary},
	{"Swish", []int{24}, swish},
	{"Tanh", []int{6, 13}, tangent},
	{"TopK", []int{1, 10, 11, 24}, topK},
	{"Transpose", []int{1, 13, 21, 23, 24, 25}, transpose},
	{"Unsqueeze", []int{1, 11, 13, 21, 23, 24, 25}, unsqueeze},
	{"Where", []int{9, 16}, where},
}

// Names returns the operators of a domain in alphabetical order. The result is empty for an unknown
// domain.
func Names(domain string) []string {
	var names []string
	for _, e := range entriesOf(domain) {
		names = append(names, e.name)
	}
	return names
}

// Find returns the form of an operator at an opset of its domain; opset 0 is the default. Errors:
// CodeNotFound for an unknown domain or name (the message has the most similar one), and for an
// operator that is newer than the opset; CodeUnsupported for an opset outside OldestOpset to
// NewestOpset.
func Find(domain, name string, opset int) (*Schema, error) {
	if domain == "ai.onnx" {
		domain = ONNX
	}
	oldest, initial, newest := OldestOpset, DefaultOpset, NewestOpset
	switch domain {
	case ONNX:
	case Ferrum:
		oldest, initial, newest = FerrumOpset, FerrumOpset, FerrumOpset
	default:
		return nil, device.Errorf(device.CodeNotFound, opFind, "%s: the domain %q is not known: the domains are \"\" (ONNX) and %q", name, domain, Ferrum)
	}
	if opset == 0 {
		opset = initial
	}
	if opset < oldest || opset > newest {
		return nil, device.Errorf(device.CodeUnsupported, opFind, "%s: opset %d of %s is not known: expected %d to %d", name, opset, domainName(domain), oldest, newest)
	}
	for _, e := range entriesOf(domain) {
		if e.name == name {
			return e.at(domain, opset)
		}
	}
	return nil, unknown(domain, name)
}

// at returns the newest form that an opset has.
func (e entry) at(domain string, opset int) (*Schema, error) {
	version := 0
	for _, v := range e.versions {
		if v <= opset {
			version = v
		}
	}
	if version == 0 {
		return nil, device.Errorf(device.CodeNotFound, opFind, "%s is not in opset %d of %s: opset %d introduced it", e.name, opset, domainName(domain), e.versions[0])
	}
	s := e.form(version)
	s.Domain, s.Name, s.Since = domain, e.name, version
	return &s, nil
}

// unknown creates the error for a name that the domain does not have. It names the domain that has
// the name, or the nearest names.
func unknown(domain, name string) error {
	for _, other := range []string{ONNX, Ferrum} {
		if slices.Contains(Names(other), name) {
			return device.Errorf(device.CodeNotFound, opFind, "%s is not an operator of %s: it is one of %s", name, domainName(domain), domainName(other))
		}
	}
	return device.Errorf(device.CodeNotFound, opFind, "%s is not an operator of %s: the nearest is %s", shortened(name), domainName(domain), nearest(name, Names(domain)))
}

// domainName names a domain in messages.
func domainName(domain string) string {
	if domain == ONNX {
		return "ONNX"
	}
	return fmt.Sprintf("the domain %q", domain)
}
