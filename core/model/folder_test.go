package model_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/model"
	"ferrum_mem/core/operator/reference"
	"ferrum_mem/core/weights"
)

// expected has the inputs and outputs of a small model, which a program of NumPy in float64 computed.
type expected struct {
	IDs       [][]int64     `json:"input_ids"`
	Mask      [][]int64     `json:"attention_mask"`
	Types     [][]int64     `json:"token_type_ids"`
	Positions [][]int64     `json:"position_ids"`
	Hidden    [][][]float64 `json:"last_hidden_state"`
}

// inputs returns the inputs that the oracle had.
func (e expected) inputs() map[string]*reference.Tensor {
	given := map[string]*reference.Tensor{}
	for name, rows := range map[string][][]int64{"input_ids": e.IDs, "attention_mask": e.Mask, "token_type_ids": e.Types, "position_ids": e.Positions} {
		if rows != nil {
			given[name] = table(rows)
		}
	}
	return given
}

func smallModels(t testing.TB) map[string]expected {
	t.Helper()
	text, err := os.ReadFile("../architecture/testdata/small.json")
	require.NoError(t, err)
	var told map[string]expected
	require.NoError(t, json.Unmarshal(text, &told))
	require.NotEmpty(t, told)
	return told
}

func TestSmallModelsFromFolders(t *testing.T) {
	r := newRig(t)
	for name, want := range smallModels(t) {
		q := model.Request{Path: filepath.Join("../architecture/testdata", name), Backend: r.backend, Pool: r.pool, Options: model.DefaultOptions()}
		x, err := new(model.Builder).Build(context.Background(), q)
		require.NoError(t, err, name)
		got := r.run(x, want.inputs())
		kind, near := dtype.F32, 1e-5
		if name == "roberta" { // its weights are of 16 bits
			kind, near = dtype.F16, 2e-2
		}
		tokens := len(want.IDs[0])
		hidden, err := reference.FromBytes(kind, []uint64{2, uint64(tokens), 12}, got["last_hidden_state"])
		require.NoError(t, err)
		for row, vectors := range want.Hidden {
			for token, elements := range vectors {
				if want.Mask[row][token] == 1 {
					assert.InDeltaSlice(t, elements, hidden.Floats[(row*tokens+token)*12:][:12], near, "%s, row %d, token %d", name, row, token)
				}
			}
		}
		require.NoError(t, x.Close(false))
	}
}

// TestExportedDefinitionsBuildTheSameModel exports a definition, reads it back, and builds it from the
// weights.
func TestExportedDefinitionsBuildTheSameModel(t *testing.T) {
	r := newRig(t)
	b := new(model.Builder)
	folder := "../architecture/testdata/distilbert"
	want := smallModels(t)["distilbert"]
	require.NotNil(t, want.IDs)
	q := model.Request{Path: folder, Backend: r.backend, Pool: r.pool, Options: model.DefaultOptions()}
	x, err := b.Build(context.Background(), q)
	require.NoError(t, err)
	first := r.run(x, want.inputs())
	require.NoError(t, x.Close(false))
	exported, err := b.Export(folder)
	require.NoError(t, err)
	text, err := exported.JSON()
	require.NoError(t, err)
	q.Definition, err = ir.Parse(text)
	require.NoError(t, err)
	q.Path = ""
	q.Weights, err = weights.Open(folder, weights.Options{})
	require.NoError(t, err)
	x, err = b.Build(context.Background(), q)
	require.NoError(t, err)
	require.NoError(t, q.Weights.Close(), "a built model needs no file")
	assert.Equal(t, first, r.run(x, want.inputs()))
	require.NoError(t, x.Close(false))
	issues, err := b.Validate(folder)
	require.NoError(t, err)
	for _, issue := range issues {
		assert.Equal(t, ir.Warning, issue.Severity, "%v", issue)
	}
}

// TestMergedParametersHaveTheElementsOfTheirParts builds a model without weights, at a level that joins
// parameters and at one that does not.
func TestMergedParametersHaveTheElementsOfTheirParts(t *testing.T) {
	r := newRig(t)
	b := new(model.Builder)
	definition, err := b.Export("../architecture/testdata/distilbert")
	require.NoError(t, err)
	want := smallModels(t)["distilbert"]
	var results []map[string][]byte
	for _, level := range []uint8{0, 1, 2} {
		m := definition.Clone()
		for i := range m.Parameters {
			if p := &m.Parameters[i]; !p.IsConstant() {
				p.Source, p.Initialization = "", ir.Initialization{Strategy: ir.StrategyUniform, Min: -0.5, Max: 0.5}
			}
		}
		q := model.Request{Definition: m, Backend: r.backend, Pool: r.pool, Options: model.DefaultOptions()}
		q.Options.OptimizationLevel = level
		q.Options.AdditionalOptions["seed"] = []byte("9")
		x, err := b.Build(context.Background(), q)
		require.NoError(t, err)
		isMerged := false
		changed, err := x.Definition()
		require.NoError(t, err)
		for _, p := range changed.Parameters {
			isMerged = isMerged || len(p.Parts) > 0
		}
		assert.Equal(t, level == 2, isMerged)
		results = append(results, r.run(x, want.inputs()))
		require.NoError(t, x.Close(false))
	}
	for _, got := range results[1:] {
		a, err := reference.FromBytes(dtype.F32, []uint64{2, 5, 12}, results[0]["last_hidden_state"])
		require.NoError(t, err)
		z, err := reference.FromBytes(dtype.F32, []uint64{2, 5, 12}, got["last_hidden_state"])
		require.NoError(t, err)
		for i, mask := range append(append([]int64{}, want.Mask[0]...), want.Mask[1]...) {
			if mask == 1 {
				assert.InDeltaSlice(t, a.Floats[12*i:12*i+12], z.Floats[12*i:12*i+12], 1e-4)
			}
		}
	}
}
