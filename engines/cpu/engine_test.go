//go:build cgo && (amd64 || arm64) && linux

package cpu

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

func TestOpenPicksTheBestSet(t *testing.T) {
	t.Setenv(EnvInstructions, "")
	e, err := Open(Config{Threads: 1})
	require.NoError(t, err)
	defer e.Close()
	assert.Equal(t, Sets()[0], e.Instructions())
	assert.Equal(t, 1, e.Threads())
}

func TestTheEnvironmentForcesASet(t *testing.T) {
	for _, name := range Sets() {
		t.Setenv(EnvInstructions, name)
		e, err := Open(Config{Threads: 1})
		require.NoError(t, err)
		assert.Equal(t, name, e.Instructions())
		e.Close()
	}
}

func TestASetThatIsMissingIsNamed(t *testing.T) {
	missing := "neon"
	if runtime.GOARCH == "arm64" {
		missing = "avx2"
	}
	t.Setenv(EnvInstructions, missing)
	_, err := Open(Config{})
	assert.ErrorIs(t, err, device.CodeUnsupported)
	assert.ErrorContains(t, err, "does not execute "+missing)
	_, err = Open(Config{Instructions: "mmx"})
	assert.ErrorIs(t, err, device.CodeInvalidConfig)
	assert.ErrorContains(t, err, `"mmx"`)
	_, err = Open(Config{Instructions: Sets()[0], Threads: maxThreads + 1})
	assert.ErrorIs(t, err, device.CodeInvalidConfig)
}

func TestAnEngineHasUsefulThreads(t *testing.T) {
	e, err := Open(Config{})
	require.NoError(t, err)
	defer e.Close()
	assert.Positive(t, e.Threads())
	assert.LessOrEqual(t, e.Threads(), runtime.NumCPU())
}

func TestRejectedRequests(t *testing.T) {
	e, err := Open(Config{Threads: 1})
	require.NoError(t, err)
	good := MatMul{M: 2, N: 2, K: 32, Alpha: 1}
	for name, c := range map[string]struct {
		change func(*MatMul)
		code   device.Code
	}{
		"negative size":      {func(r *MatMul) { r.M = -1 }, device.CodeInvalidArgument},
		"type of a":          {func(r *MatMul) { r.AType = Type(dtype.I4) }, device.CodeUnsupported},
		"type of b":          {func(r *MatMul) { r.BType = Type(dtype.Bool) }, device.CodeUnsupported},
		"type of y":          {func(r *MatMul) { r.YType = Type(dtype.I8) }, device.CodeUnsupported},
		"type of add":        {func(r *MatMul) { r.Add, r.AddType = 64, Type(dtype.I4) }, device.CodeUnsupported},
		"blocks of integers": {func(r *MatMul) { r.AType, r.BType, r.YType = Type(dtype.I32), Type(Q8Zero), Type(dtype.I32) }, device.CodeUnsupported},
		"packed F64":         {func(r *MatMul) { r.AType, r.IsPacked = Type(dtype.F64), 1 }, device.CodeUnsupported},
		"half a block":       {func(r *MatMul) { r.BType, r.IsPacked, r.K = Type(Q8Zero), 1, 33 }, device.CodeInvalidArgument},
		"rank":               {func(r *MatMul) { r.BatchRank = 9 }, device.CodeInvalidArgument},
		"batch":              {func(r *MatMul) { r.BatchRank, r.Batch[0] = 1, -1 }, device.CodeInvalidArgument},
		"no workspace":       {func(*MatMul) {}, device.CodeBufferTooSmall},
	} {
		r := good
		c.change(&r)
		assert.ErrorIs(t, e.Run(&r, 64, 0), c.code, name)
	}
	assert.ErrorIs(t, e.Run(&good, 65, 1<<20), device.CodeInvalidArgument, "an address that is not aligned")
	_, err = e.PackedBytes(dtype.F32, 1<<40, 1<<40)
	assert.ErrorIs(t, err, device.CodeOverflow)
	assert.ErrorIs(t, e.Run(&Pack{N: 1, K: 1, Packed: 8}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Pack{N: 1, K: 1, BType: Type(dtype.I64)}, 0, 0), device.CodeUnsupported)
	e.Close()
	e.Close()
	assert.ErrorIs(t, e.Run(&good, 64, 1<<20), device.CodeInvalidState)
}

// Calls at the same time compute the same as calls one after the other.
func TestCallsAtTheSameTime(t *testing.T) {
	e, err := Open(Config{Threads: 3})
	require.NoError(t, err)
	defer e.Close()
	r := rand.New(rand.NewPCG(1, 2))
	m, n, k := int64(40), int64(200), int64(100)
	a := place(t, r, dtype.F32, false, m, k).fill(numbers(r, false))
	b := place(t, r, dtype.F32, false, k, n).fill(numbers(r, false))
	outputs := make([]*array, 4)
	var requests []*MatMul
	for i := range outputs {
		outputs[i] = place(t, rand.New(rand.NewPCG(5, 5)), dtype.F32, false, m, n)
		requests = append(requests, &MatMul{
			M: m, N: n, K: k, A: a.address(), ARow: a.strides[0], AColumn: 1, B: b.address(), BRow: b.strides[0], BColumn: 1,
			Y: outputs[i].address(), YRow: outputs[i].strides[0], Alpha: 1,
		})
	}
	bytes, err := e.Workspace(requests[0])
	require.NoError(t, err)
	run(t, e, requests[0])
	var wait sync.WaitGroup
	for i := 1; i < len(outputs); i++ {
		workspace := region(t, bytes)
		wait.Add(1)
		go func() {
			defer wait.Done()
			for range 50 {
				assert.NoError(t, e.Run(requests[i], addressIn(workspace), bytes))
			}
		}()
	}
	wait.Wait()
	for _, y := range outputs[1:] {
		require.Equal(t, outputs[0].memory, y.memory)
	}
}
