package estimate

import (
	"encoding/json"
	"fmt"

	"ferrum_mem/core/device"
)

// Report is an estimate for programs: from the C ABI and from ferrum-mem fit --json.
// docs/estimate.md documents its fields.
type Report struct {
	Model     string  `json:"model"`
	ModelType *string `json:"model_type"`
	Source    string  `json:"source"`

	Parameters   uint64 `json:"parameters"`
	WeightsBytes uint64 `json:"weights_bytes"`
	BufferBytes  uint64 `json:"buffer_bytes"`
	KVCacheBytes uint64 `json:"kv_cache_bytes"`
	// KVCacheLowerBytes and KVCacheFullBytes are the results of other rules for layers
	// with a window: only the tokens inside the window, and the whole context.
	KVCacheLowerBytes uint64 `json:"kv_cache_lower_bytes"`
	KVCacheFullBytes  uint64 `json:"kv_cache_full_bytes"`
	StateBytes        uint64 `json:"state_bytes"`
	ActivationBytes   uint64 `json:"activation_bytes"`
	OverheadBytes     uint64 `json:"overhead_bytes"`
	TotalBytes        uint64 `json:"total_bytes"`

	Context          uint64 `json:"context"`
	Batch            uint64 `json:"batch"`
	TensorParallel   uint64 `json:"tensor_parallel"`
	PrefillTokens    uint64 `json:"prefill_tokens"`
	WeightDType      string `json:"weight_dtype"`
	KVDType          string `json:"kv_dtype"`
	OverheadPermille uint64 `json:"overhead_permille"`
	BlockTokens      uint64 `json:"block_tokens"`
	// ModelContext is the context of the model with the scaling of its positions, and
	// TrainedContext the context before that, if they are known.
	ModelContext   *uint64 `json:"model_context"`
	TrainedContext *uint64 `json:"trained_context"`
	// BeyondModelContext: Context is longer than ModelContext.
	BeyondModelContext bool     `json:"beyond_model_context"`
	Notes              []string `json:"notes"`
}

// Answer is the part of a report about free memory.
type Answer struct {
	Fits         bool   `json:"fits"`
	FreeBytes    uint64 `json:"free_bytes"`
	LeftBytes    uint64 `json:"left_bytes"`
	MissingBytes uint64 `json:"missing_bytes"`
	// MaxContext and MaxBatch are null if nothing limits them.
	MaxContext          *uint64   `json:"max_context"`
	MaxContextLimitedBy LimitedBy `json:"max_context_limited_by"`
	// MaxContextBeyondModel: more than the context of the model would fit.
	MaxContextBeyondModel bool      `json:"max_context_beyond_model"`
	MaxBatch              *uint64   `json:"max_batch"`
	MaxBatchLimitedBy     LimitedBy `json:"max_batch_limited_by"`
}

// FitReport is a report with its result.
type FitReport struct {
	Report
	Answer
}

// DefaultContext returns the context of a plan if none is given: that of the model, or
// 0 if it is not known. Without a model it is 1, because no number depends on it.
func (x *Subject) DefaultContext() uint64 {
	if x.Model == nil {
		return 1
	}
	return x.Model.Positions
}

// Report describes a plan for a serving.
func (x *Subject) Report(s Serving) (Report, error) {
	plan, err := x.Plan(s)
	if err != nil {
		return Report{}, err
	}
	return x.describe(s, plan), nil
}

// FitReport describes a plan and how it fits into freeBytes.
func (x *Subject) FitReport(s Serving, freeBytes uint64) (FitReport, error) {
	v, err := x.Fit(s, freeBytes)
	if err != nil {
		return FitReport{}, err
	}
	a := Answer{
		Fits: v.Fits, FreeBytes: v.FreeBytes, LeftBytes: v.LeftBytes, MissingBytes: v.MissingBytes,
		MaxContext: v.MaxContext.known(), MaxContextLimitedBy: v.MaxContext.LimitedBy,
		MaxBatch: v.MaxBatch.known(), MaxBatchLimitedBy: v.MaxBatch.LimitedBy,
	}
	r := x.describe(s, v.Plan)
	if r.ModelContext != nil {
		a.MaxContextBeyondModel = a.MaxContext == nil || *a.MaxContext > *r.ModelContext
	}
	return FitReport{Report: r, Answer: a}, nil
}

func (m Most) known() *uint64 {
	if m.LimitedBy == ByNothing {
		return nil
	}
	return &m.Value
}

func (x *Subject) describe(s Serving, p Plan) Report {
	if s.BlockTokens == 0 {
		s.BlockTokens = DefaultBlockTokens
	}
	r := Report{
		Model: x.Name, Parameters: p.Parameters,
		WeightsBytes: p.WeightsBytes, BufferBytes: p.BufferBytes, KVCacheBytes: p.KVCacheBytes,
		KVCacheLowerBytes: p.KVCacheLeastBytes, KVCacheFullBytes: p.KVCacheMostBytes, StateBytes: p.StateBytes,
		ActivationBytes: p.ActivationBytes, OverheadBytes: p.OverheadBytes, TotalBytes: p.TotalBytes,
		Context: s.Context, Batch: s.Batch, TensorParallel: max(1, s.TensorParallel), PrefillTokens: s.PrefillTokens,
		WeightDType: x.weightName(s), KVDType: "none", OverheadPermille: s.OverheadPermille,
		BlockTokens: s.BlockTokens, Source: "config", Notes: append([]string{}, x.Notes...),
	}
	switch {
	case x.Checkpoint != nil && x.Checkpoint.GGUF:
		r.Source = "gguf"
	case x.Model == nil:
		r.Source = "safetensors"
	case x.Checkpoint != nil:
		r.Source = "config and safetensors"
	}
	m := x.Model
	if m == nil {
		return r
	}
	r.ModelType = &m.Type
	if m.Positions > 0 {
		r.ModelContext = &m.Positions
	}
	if m.Stretch.From > 0 {
		r.TrainedContext = &m.Stretch.From
	}
	if !m.Encoder && m.AttentionLayers > 0 {
		r.KVDType = m.cacheType(s).Name
	}
	if r.ModelContext != nil && s.Context > m.Positions {
		r.BeyondModelContext = true
		r.Notes = append(r.Notes, fmt.Sprintf("the context of %d tokens is beyond the %d that the model was made for%s", s.Context, m.Positions, m.Stretch))
	}
	return r
}

// weightName returns the storage of the weights of the plan.
func (x *Subject) weightName(s Serving) string {
	switch {
	case s.WeightDType.Bits > 0:
		return s.WeightDType.Name
	case x.Checkpoint != nil:
		return "as in the files"
	case x.Model.Weights.Quantised != nil:
		return x.Model.Weights.Quantised.Method
	}
	return x.Model.Weights.Plain.Name
}

// Request is a serving as the C ABI requests it: types by name, "" for the zero type of
// a Serving, and a context of 0 for the default.
type Request struct {
	Serving
	KVDTypeName     string
	WeightDTypeName string
	// FreeBytes is the free memory for the answer; 0: no answer.
	FreeBytes uint64
}

// check rejects values that are invalid for every model.
func (r *Request) check() error {
	if r.TensorParallel == 0 {
		return device.Errorf(device.CodeInvalidArgument, opPlan, "request->tensor_parallel is 0: at least 1 device is needed")
	}
	if r.BlockTokens == 0 {
		return device.Errorf(device.CodeInvalidArgument, opPlan, "request->block_tokens is 0: a block has at least 1 token")
	}
	return nil
}

// FileJSON returns the JSON for a path. Its errors include those of Open.
func FileJSON(path string, r Request) ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	x, err := Open(path)
	if err != nil {
		return nil, err
	}
	return x.JSON(r)
}

// ConfigJSON returns the JSON for the text of a configuration alone.
func ConfigJSON(text []byte, r Request) ([]byte, error) {
	if len(text) > MaxConfigBytes {
		return nil, device.Errorf(device.CodeInvalidSize, opPlan, "config_bytes %d is more than %d", len(text), MaxConfigBytes)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	x, err := OpenConfig(ConfigName, text)
	if err != nil {
		return nil, err
	}
	return x.JSON(r)
}

// JSON returns the report of a request as one object, with the answer if FreeBytes is
// given. It returns CodeInvalidArgument for an unknown type, and for a context of 0
// without a default. Other errors: those of Plan.
func (x *Subject) JSON(r Request) ([]byte, error) {
	var err error
	for _, t := range []struct {
		name string
		into *DType
	}{{r.KVDTypeName, &r.KVDType}, {r.WeightDTypeName, &r.WeightDType}} {
		if t.name == "" {
			continue
		}
		if *t.into, err = ParseDType(t.name); err != nil {
			return nil, err
		}
	}
	if r.Context == 0 {
		if r.Context = x.DefaultContext(); r.Context == 0 {
			return nil, device.Errorf(device.CodeInvalidArgument, opPlan, "context 0: %s does not state the model's own context", x.Name)
		}
	}
	var report any
	if r.FreeBytes == 0 {
		report, err = x.Report(r.Serving)
	} else {
		report, err = x.FitReport(r.Serving, r.FreeBytes)
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(report)
	if err != nil {
		return nil, device.Errorf(device.CodeSerialization, opPlan, "%w", err)
	}
	return text, nil
}
