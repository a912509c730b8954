package architecture_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/architecture"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator/reference"
)

// The oracle is testdata/oracle.py, a program of NumPy in float64 that knows nothing of operators and
// definitions. testdata/small_models.py wrote the small models. Both wrote the JSON files with outputs.

// expected has the inputs of a run and the elements of its outputs.
type expected struct {
	IDs       [][]int64     `json:"input_ids"`
	Mask      [][]int64     `json:"attention_mask"`
	Types     [][]int64     `json:"token_type_ids"`
	Positions [][]int64     `json:"position_ids"`
	Hidden    [][][]float64 `json:"last_hidden_state"`
	Pooled    [][]float64   `json:"pooler_output"`
}

func (e expected) inputs() map[string]*reference.Tensor {
	given := map[string]*reference.Tensor{}
	for name, rows := range map[string][][]int64{"input_ids": e.IDs, "attention_mask": e.Mask, "token_type_ids": e.Types, "position_ids": e.Positions} {
		if rows != nil {
			given[name] = table(rows)
		}
	}
	return given
}

func readTestdata(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into))
}

func define(t *testing.T, path string) *architecture.Definition {
	t.Helper()
	d, err := architecture.Open(path, architecture.Options{})
	require.NoError(t, err)
	return d
}

func TestSmallModelsComputeWhatTheOracleComputes(t *testing.T) {
	var told map[string]expected
	readTestdata(t, "small.json", &told)
	require.Len(t, told, 7)
	kinds := map[string]dtype.DType{"roberta": dtype.F16}
	for name, want := range told {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name)
			d := define(t, path)
			values := load(t, path, d.Model).run(t, want.inputs())
			hidden := values["last_hidden_state"]
			assert.Equal(t, kinds[name], hidden.Type)
			tokens := len(want.IDs[0])
			require.Equal(t, []uint64{2, uint64(tokens), 12}, hidden.Shape)
			for row, vectors := range want.Hidden {
				for token, elements := range vectors {
					// What is computed for tokens without a meaning has none.
					if want.Mask[row][token] == 1 {
						assert.InDeltaSlice(t, elements, hidden.Floats[(row*tokens+token)*12:][:12], 1e-8, "row %d, token %d", row, token)
					}
				}
			}
			outputs := []string{"last_hidden_state"}
			if want.Pooled != nil {
				outputs = append(outputs, "pooler_output")
				for row, elements := range want.Pooled {
					assert.InDeltaSlice(t, elements, values["pooler_output"].Floats[row*12:][:12], 1e-8)
				}
			}
			assert.Equal(t, outputs, d.Model.Graph.Outputs)
		})
	}
}

func TestMiniLMComputesWhatTheOracleComputes(t *testing.T) {
	folder := miniLM(t)
	var want struct {
		expected
		Sentences []string      `json:"sentences"`
		Cosines   []float64     `json:"cosines"`
		First     [][][]float64 `json:"first_elements"`
		Sums      [][]float64   `json:"sums"`
		Lengths   [][]float64   `json:"lengths"`
		Pooled    [][]float64   `json:"pooled"`
	}
	readTestdata(t, "minilm.json", &want)
	d := define(t, folder)
	assert.Empty(t, d.Issues)
	values := load(t, folder, d.Model).run(t, want.inputs())
	hidden := values["last_hidden_state"]
	rows, tokens, width := len(want.IDs), len(want.IDs[0]), 384
	require.Equal(t, []uint64{uint64(rows), uint64(tokens), uint64(width)}, hidden.Shape)
	const near = 1e-9
	vectors := make([][]float64, rows)
	for row := range rows {
		vectors[row] = make([]float64, width)
		for token := range tokens {
			vector := hidden.Floats[(row*tokens+token)*width:][:width]
			assert.InDeltaSlice(t, want.First[row][token], vector[:4], near)
			sum := 0.0
			for i, x := range vector {
				sum += x
				vectors[row][i] += float64(want.Mask[row][token]) * x
			}
			assert.InDelta(t, want.Sums[row][token], sum, near)
			assert.InDelta(t, want.Lengths[row][token], math.Sqrt(dot(vector, vector)), near)
		}
		assert.InDeltaSlice(t, want.Pooled[row], values["pooler_output"].Floats[row*width:][:4], near)
	}
	// These are the similarities that were published with the model.
	published := []float64{0.6945773, 0.9429151, 0.2568761}
	require.Equal(t, "That is a happy person", want.Sentences[0])
	for i := range published {
		a, b := vectors[0], vectors[i+1]
		cosine := dot(a, b) / math.Sqrt(dot(a, a)*dot(b, b))
		assert.InDelta(t, want.Cosines[i], cosine, near)
		assert.InDelta(t, published[i], cosine, 2e-6)
	}
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
