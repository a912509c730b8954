package weights_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights"
)

// dropped writes a file to the disk and removes it from the page cache. It returns false if the
// file system keeps it in the cache.
func dropped(t *testing.T, path string) bool {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, file.Sync())
	require.NoError(t, unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED))
	return weights.Resident(t, path) == 0
}

// evicted bounds the bytes that the system may have evicted from the page cache by itself since a preload.
const evicted = 64 << 10

func TestPreloadAndItsUndoing(t *testing.T) {
	m := newModel(t, 6<<20, 300, 5<<20)
	if !dropped(t, m.path) {
		t.Skip("this file system keeps its files in the page cache")
	}
	s := m.open(t)
	background := context.Background()
	before := weights.Resident(t, m.path) // the header
	last := uint64(0)
	p, err := s.Preload(background, m.order[:1], func(done, all uint64) {
		assert.Greater(t, done, last)
		assert.EqualValues(t, 6<<20, all)
		last = done
	})
	require.NoError(t, err)
	assert.EqualValues(t, 6<<20, last)
	assert.GreaterOrEqual(t, weights.Resident(t, m.path), 6<<20-evicted)
	assert.Positive(t, p.Bytes)
	again, err := s.Preload(background, m.order[:1], nil)
	require.NoError(t, err)
	assert.Zero(t, again.Bytes, "all bytes are in the page cache")
	again.Undo()
	assert.GreaterOrEqual(t, weights.Resident(t, m.path), 6<<20-evicted, "the second set read no page, so it releases none")
	p.Undo()
	assert.LessOrEqual(t, weights.Resident(t, m.path), before+2<<20)

	whole, err := s.Preload(background, nil, nil)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, weights.Resident(t, m.path), 11<<20-evicted)
	set, err := s.Load(background, all(t, s), weights.LoadOptions{Memory: weights.InPool(newPool(t, newHost(t)), "")})
	require.NoError(t, err)
	m.assertLoaded(t, set)
	require.NoError(t, set.Free())
	assert.GreaterOrEqual(t, weights.Resident(t, m.path), 11<<20-evicted, "a load keeps the pages that were in the cache")
	whole.Undo()

	_, err = s.Preload(background, []string{"nothing"}, nil)
	require.ErrorIs(t, err, device.CodeNotFound)
	ctx, cancel := context.WithCancel(background)
	_, err = s.Preload(ctx, nil, func(done, _ uint64) {
		if done >= 4<<20 {
			cancel()
		}
	})
	require.ErrorIs(t, err, device.CodeCancelled)
}
