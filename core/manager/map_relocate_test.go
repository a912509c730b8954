package manager

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMappedBlocksStayWhereTheyAre(t *testing.T) {
	r, m, _ := backed(t)
	h, err := m.AllocTyped(Request{SizeBytes: 64, Relocatable: true})
	require.NoError(t, err)
	_, err = r.factory.Map(MapRequest{Memory: h, SizeBytes: 64})
	require.NoError(t, err)
	stats, err := m.Defragment()
	require.NoError(t, err)
	require.Equal(t, Skipped{Mapped: 1}, stats.Skipped)
	require.EqualValues(t, 1, stats.BlocksSkipped)
	require.NoError(t, r.factory.Unmap(h, 0))
	stats, err = m.Defragment()
	require.NoError(t, err)
	require.Zero(t, stats.BlocksSkipped)
}
