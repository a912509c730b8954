package estimate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func TestReports(t *testing.T) {
	x := subject(t, "gemma-3-1b")
	r, err := x.FitReport(Serving{Context: 40000, Batch: 2, KVDType: Int8, PrefillTokens: 512}, 8<<30)
	require.NoError(t, err)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	for _, name := range strings.Fields("fits parameters weights_bytes kv_cache_bytes activation_bytes free_bytes max_context max_batch total_bytes notes") {
		assert.Contains(t, fields, name)
	}
	assert.Equal(t, "gemma3_text", fields["model_type"])
	assert.Equal(t, "int8", fields["kv_dtype"])
	assert.Equal(t, "bf16", fields["weight_dtype"])
	assert.Equal(t, "config", fields["source"])
	assert.Equal(t, true, fields["fits"])
	assert.Equal(t, []any{"the context of 40000 tokens is beyond the 32768 that the model was made for"}, fields["notes"])
	assert.Equal(t, true, fields["beyond_model_context"])
	assert.Equal(t, true, fields["max_context_beyond_model"])
	assert.Equal(t, nil, fields["trained_context"])
	assert.EqualValues(t, 16, fields["block_tokens"])
	far, err := subject(t, "gpt-oss-20b").FitReport(Serving{Context: 131073, Batch: 1, PrefillTokens: 1}, 14<<30)
	require.NoError(t, err)
	assert.Equal(t, []string{"the context of 131073 tokens is beyond the 131072 that the model was made for (4096 before its positions were scaled by yarn)"}, far.Notes)
	assert.EqualValues(t, 4096, *far.TrainedContext)
	assert.False(t, far.MaxContextBeyondModel, "there is no room for it")
	e, err := subject(t, "all-minilm-l6-v2").FitReport(Serving{Context: 512, Batch: 1}, 1<<50)
	require.NoError(t, err)
	assert.Equal(t, "none", e.KVDType)
	assert.Equal(t, ByModel, e.MaxContextLimitedBy)
	assert.EqualValues(t, 512, *e.MaxContext)
}

func TestRequests(t *testing.T) {
	x := subject(t, "llama-3.1-8b")
	ask := func(r Request) map[string]any {
		text, err := x.JSON(r)
		require.NoError(t, err)
		var fields map[string]any
		require.NoError(t, json.Unmarshal(text, &fields))
		return fields
	}
	fields := ask(Request{Serving: Serving{Batch: 1}, KVDTypeName: "int8", WeightDTypeName: "torch.float16"})
	assert.EqualValues(t, 131072, fields["context"], "the context is that of the model")
	assert.Equal(t, "int8", fields["kv_dtype"])
	assert.Equal(t, "f16", fields["weight_dtype"])
	assert.NotContains(t, fields, "fits", "nothing was asked")
	assert.Equal(t, false, ask(Request{Serving: Serving{Batch: 1}, FreeBytes: 1})["fits"])
	for says, r := range map[string]Request{
		`dtype "f7" is not one of`: {Serving: Serving{Batch: 1}, KVDTypeName: "f7"},
		`dtype "x" is not one of`:  {Serving: Serving{Batch: 1}, WeightDTypeName: "x"},
		"batch 0 is not within":    {},
	} {
		_, err := x.JSON(r)
		assert.Equal(t, device.CodeInvalidArgument, device.CodeOf(err))
		assert.ErrorContains(t, err, says)
	}
	x, err := OpenConfig("c", configText(t, map[string]any{"max_position_embeddings": absent{}}))
	require.NoError(t, err)
	_, err = x.JSON(Request{Serving: Serving{Batch: 1}})
	assert.ErrorContains(t, err, "context 0: c does not state")
}
