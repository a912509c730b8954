package backend

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/operator"
)

// Unbounded is the limit of a backend that only the memory bounds. Every reader of JSON keeps it
// exactly.
const Unbounded = 1<<53 - 1

// Capabilities are the properties of a backend. JSON has the fields in the order below, and the
// names in Extra in alphabetical order.
type Capabilities struct {
	DTypes  DTypes  `json:"supported_dtypes"`
	Devices Devices `json:"supported_devices"`
	// MaxTensorDims is the largest number of dimensions of a tensor.
	MaxTensorDims int `json:"max_tensor_dims"`
	// The flags of types state whether DTypes has F16, BF16 and I8.
	FP16 bool `json:"supports_fp16"`
	BF16 bool `json:"supports_bf16"`
	Int8 bool `json:"supports_int8"`
	// FlashAttention states that attention makes no matrix of all scores.
	FlashAttention bool `json:"supports_flash_attention"`
	// PagedAttention states that keys and values may lie in pages.
	PagedAttention      bool   `json:"supports_paged_attention"`
	TensorParallelism   bool   `json:"supports_tensor_parallelism"`
	PipelineParallelism bool   `json:"supports_pipeline_parallelism"`
	MaxBatchSize        uint64 `json:"max_batch_size"`
	MaxSequenceLength   uint64 `json:"max_sequence_length"`
	// AlignmentBytes is the alignment of memory that the backend reads fastest.
	AlignmentBytes uint64 `json:"memory_alignment"`
	CustomKernels  bool   `json:"supports_custom_kernels"`
	CUDAGraphs     bool   `json:"supports_cuda_graphs"`
	// Extra has further properties as values of JSON.
	Extra map[string]json.RawMessage `json:"extra_capabilities"`
}

// pagedAttention is the operator whose keys and values lie in pages.
const pagedAttention = "ferrum.paged_attention"

// capabilitiesOf returns the properties of a backend with an engine.
func capabilitiesOf(c compute.Capabilities, devices Devices) (Capabilities, error) {
	result := Capabilities{
		DTypes: slices.Clone(c.Types), Devices: devices, MaxTensorDims: operator.MaxRank,
		FlashAttention: c.HasTiledAttention, MaxBatchSize: Unbounded, MaxSequenceLength: Unbounded,
		AlignmentBytes: c.AlignmentBytes, Extra: map[string]json.RawMessage{},
		PagedAttention: len(c.Operations[pagedAttention]) > 0,
	}
	sorting.By(result.DTypes, cmp.Compare)
	result.FP16, result.BF16, result.Int8 = result.has(dtype.F16), result.has(dtype.BF16), result.has(dtype.I8)
	operations := map[string]DTypes{}
	for name, list := range c.Operations {
		operations[name] = list
	}
	extra := map[string]any{}
	for name, value := range c.Details {
		extra[name] = value
	}
	extra["engine"], extra["version"], extra["threads"], extra["operations"] = c.Name, c.Version, c.Threads, operations
	for name, value := range extra {
		text, err := json.Marshal(value)
		if err != nil {
			return result, device.Errorf(device.CodeSerialization, opCapabilities, "extra_capabilities.%s: %w", name, err)
		}
		result.Extra[name] = text
	}
	return result, nil
}

func (c Capabilities) has(t dtype.DType) bool { return slices.Contains(c.DTypes, t) }

// ParseCapabilities reads a record from JSON. A field that is missing is empty, except for the
// flags of types, which follow from supported_dtypes. Errors: CodeInvalidFormat for a text that is
// no such object or has an unknown field; CodeInvalidConfig for a flag that contradicts the types,
// and for a limit below 1.
func ParseCapabilities(text []byte) (Capabilities, error) {
	c := Capabilities{MaxTensorDims: operator.MaxRank, MaxBatchSize: Unbounded, MaxSequenceLength: Unbounded, AlignmentBytes: 1}
	if err := decode(text, &c); err != nil {
		return c, device.Errorf(device.CodeInvalidFormat, opCapabilities, "capabilities: %w", err)
	}
	var given struct {
		FP16 *bool `json:"supports_fp16"`
		BF16 *bool `json:"supports_bf16"`
		Int8 *bool `json:"supports_int8"`
	}
	_ = json.Unmarshal(text, &given) // decode has accepted the text
	for _, flag := range []struct {
		name  string
		given *bool
		field *bool
		of    dtype.DType
	}{
		{"supports_fp16", given.FP16, &c.FP16, dtype.F16},
		{"supports_bf16", given.BF16, &c.BF16, dtype.BF16},
		{"supports_int8", given.Int8, &c.Int8, dtype.I8},
	} {
		*flag.field = c.has(flag.of)
		if flag.given != nil && *flag.given != *flag.field {
			return c, device.Errorf(device.CodeInvalidConfig, opCapabilities, "%s is %t, and supported_dtypes states the opposite about %s", flag.name, *flag.given, flag.of)
		}
	}
	return c, c.validate()
}

func (c Capabilities) validate() error {
	wrong := func(format string, values ...any) error {
		return device.Errorf(device.CodeInvalidConfig, opCapabilities, format, values...)
	}
	switch {
	case c.MaxTensorDims < 1 || c.MaxTensorDims > operator.MaxRank:
		return wrong("max_tensor_dims is %d: want 1 to %d", c.MaxTensorDims, operator.MaxRank)
	case c.MaxBatchSize == 0:
		return wrong("max_batch_size is 0")
	case c.MaxSequenceLength == 0:
		return wrong("max_sequence_length is 0")
	case c.AlignmentBytes == 0 || c.AlignmentBytes&(c.AlignmentBytes-1) != 0:
		return wrong("memory_alignment is %d: want a power of two", c.AlignmentBytes)
	}
	return nil
}

// clone returns a copy that shares nothing.
func (c Capabilities) clone() Capabilities {
	c.DTypes, c.Devices, c.Extra = slices.Clone(c.DTypes), slices.Clone(c.Devices), maps.Clone(c.Extra)
	return c
}

// decode reads one JSON object without unknown fields.
func decode(text []byte, to any) error {
	reader := json.NewDecoder(bytes.NewReader(text))
	reader.DisallowUnknownFields()
	if err := reader.Decode(to); err != nil {
		return err
	}
	if reader.More() {
		return device.Errorf(device.CodeInvalidFormat, "backend.parse", "text follows after the object")
	}
	return nil
}
