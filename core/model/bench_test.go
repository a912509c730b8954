package model_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/model"
	"ferrum_mem/core/tensor"
)

func BenchmarkBuildMiniLM(b *testing.B) {
	folder := miniLM(b)
	r := newRigOf(b, 1<<30, 1)
	made := new(model.Builder)
	for b.Loop() {
		x, err := made.Build(context.Background(), model.Request{Path: folder, Backend: r.backend, Pool: r.pool, Options: model.DefaultOptions()})
		require.NoError(b, err)
		b.StopTimer()
		took := x.Report().Took
		b.ReportMetric(took.ValidationSeconds*1e3, "validation-ms")
		b.ReportMetric(took.WeightLoadingSeconds*1e3, "loading-ms")
		b.ReportMetric(took.ModelInitSeconds*1e3, "init-ms")
		b.ReportMetric(took.OptimizationSeconds*1e3, "optimization-ms")
		b.ReportMetric(took.OverheadSeconds*1e3, "overhead-ms")
		require.NoError(b, x.Close(false))
		b.StartTimer()
	}
}

func BenchmarkRunMiniLM(b *testing.B) {
	folder := miniLM(b)
	r := newRigOf(b, 1<<30, 1)
	x, err := new(model.Builder).Build(context.Background(), model.Request{Path: folder, Backend: r.backend, Pool: r.pool, Options: model.DefaultOptions()})
	require.NoError(b, err)
	ids := r.ids(1, 16)
	inputs, outputs := map[string]*tensor.Tensor{"input_ids": ids}, map[string]*tensor.Tensor{"last_hidden_state": nil}
	for b.Loop() {
		require.NoError(b, x.Run(context.Background(), inputs, outputs, model.RunOptions{}))
	}
	b.StopTimer()
	r.closeAll(inputs)
	r.closeAll(outputs)
	require.NoError(b, x.Close(false))
}
