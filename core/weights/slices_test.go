package weights_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/weights"
)

// matrix is a tensor of 16-bit numbers. The value of each element is its index.
func matrix(rows, columns int) []byte {
	var data []byte
	for n := range rows * columns {
		data = binary.LittleEndian.AppendUint16(data, uint16(n))
	}
	return data
}

// sharded writes a checkpoint of two files: q of 64x32 in one, o of 32x64 in the other.
func sharded(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	weightMap := map[string]string{}
	for number, of := range []struct {
		name          string
		rows, columns int
	}{{"q", 64, 32}, {"o", 32, 64}} {
		data := matrix(of.rows, of.columns)
		text, err := json.Marshal(map[string]any{of.name: map[string]any{
			"dtype": "I16", "shape": []int{of.rows, of.columns}, "data_offsets": []int{0, len(data)},
		}})
		require.NoError(t, err)
		name := fmt.Sprintf("model-%05d-of-00002.safetensors", number+1)
		file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), append(file, data...), 0o600))
		weightMap[of.name] = name
	}
	text, err := json.Marshal(map[string]any{"weight_map": weightMap})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "model.safetensors.index.json"), text, 0o600))
	return folder
}

// Each rank of tensor parallelism reads its rows of one matrix and its columns of the other, and no
// other byte.
func TestARankReadsOnlyItsPart(t *testing.T) {
	const ranks = 4
	folder := sharded(t)
	p := newPool(t, newHost(t))
	q, o := matrix(64, 32), matrix(32, 64)
	for rank := range uint64(ranks) {
		s, err := weights.Open(folder, weights.Options{})
		require.NoError(t, err)
		read := weights.CountBytes(s)
		rows := [2]uint64{rank * 64 / ranks, (rank + 1) * 64 / ranks}
		set, err := s.Load(context.Background(), []weights.Spec{
			{Name: "q", Transformations: []weights.Transformation{{Kind: weights.Slice, Dim0: 0, Start: &rows[0], End: &rows[1]}}},
			{Name: "o", Transformations: []weights.Transformation{{Kind: weights.Slice, Dim0: -1, Start: &rows[0], End: &rows[1]}}},
		}, weights.LoadOptions{Memory: weights.InPool(p, "")})
		require.NoError(t, err)
		assert.Equal(t, []uint64{16, 32}, set.Tensors[0].Shape)
		assert.Equal(t, []uint64{32, 16}, set.Tensors[1].Shape)
		assert.Equal(t, q[rows[0]*64:rows[1]*64], bytesOf(set.Tensors[0]))
		var columns bytes.Buffer
		for row := range uint64(32) {
			columns.Write(o[row*128+rows[0]*2 : row*128+rows[1]*2])
		}
		assert.Equal(t, columns.Bytes(), bytesOf(set.Tensors[1]))
		assert.EqualValues(t, (len(q)+len(o))/ranks, read(), "bytes that rank %d read", rank)
		require.NoError(t, set.Free())
		require.NoError(t, s.Close())
	}
}

// Several transformations are compared with the same steps on a matrix in memory.
func TestSeveralTransformations(t *testing.T) {
	folder := sharded(t)
	p := newPool(t, newHost(t))
	s, err := weights.Open(folder, weights.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	from, to := uint64(3), uint64(11)
	set, err := s.Load(context.Background(), []weights.Spec{{Name: "q", Transformations: []weights.Transformation{
		{Kind: weights.Transpose, Dim0: 0, Dim1: 1}, {Kind: weights.Slice, Dim0: 1, Start: &from, End: &to},
		{Kind: weights.Reshape, Shape: []uint64{4, 8, 8}},
	}}}, weights.LoadOptions{Memory: weights.InPool(p, "")})
	require.NoError(t, err)
	var want []byte
	for column := range 32 {
		for row := 3; row < 11; row++ {
			want = binary.LittleEndian.AppendUint16(want, uint16(row*32+column))
		}
	}
	assert.Equal(t, []uint64{4, 8, 8}, set.Tensors[0].Shape)
	assert.Equal(t, want, bytesOf(set.Tensors[0]))
	require.NoError(t, set.Free())
}
