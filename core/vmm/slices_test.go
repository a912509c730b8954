package vmm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device/devicetest"
)

// manyPages returns a rig with space for that many pages.
func manyPages(t *testing.T, pages uint64) *rig {
	return newRig(t, devicetest.Config{TotalBytes: 2 * pages * page}, func(c *Config) { c.CapacityBytes = pages * page })
}

// TestACloseByForceEndsPagesInSlices counts the pages that are ended while the lock is
// held.
func TestACloseByForceEndsPagesInSlices(t *testing.T) {
	const pages = 5*slicePages + 7
	r := manyPages(t, pages)
	_, err := r.pool.Alloc(0, (pages-100)*page)
	require.NoError(t, err)
	for at := uint64(pages - 100); at < pages; at++ {
		_, err := r.pool.Alloc(at*page, page)
		require.NoError(t, err)
	}
	most, sum := uint64(0), uint64(0)
	r.pool.space.left = func(pages uint64) { most, sum = max(most, pages), sum+pages }
	require.NoError(t, r.pool.Close(true))
	require.LessOrEqual(t, most, uint64(slicePages))
	require.EqualValues(t, pages, sum)
}

func TestParkedRunsAreClaimedInSlices(t *testing.T) {
	const pages = 2*slicePages + 10
	r := manyPages(t, 2*pages)
	for at := range uint64(pages) {
		_, err := r.pool.Alloc(2*at*page, page)
		require.NoError(t, err)
	}
	for at := range uint64(pages) {
		require.NoError(t, r.pool.Free(2*at*page, page, nil))
	}
	s := r.pool.space
	runs := s.claimParked(maxWanted)
	require.Len(t, runs, slicePages)
	done, err := s.unparkRuns(runs)
	require.NoError(t, err)
	require.EqualValues(t, slicePages, done)
	done, err = s.unpark(maxWanted)
	require.NoError(t, err)
	require.EqualValues(t, pages-slicePages, done)
	r.check(t)
	r.quit(t)
}

func TestRangesAreCompletedInSlices(t *testing.T) {
	const pages = 2*completedMost + 10
	r := manyPages(t, pages)
	for at := range uint64(pages) {
		_, err := r.pool.Alloc(at*page, page)
		require.NoError(t, err)
	}
	queued(t, r.dev.Default())
	for at := range uint64(pages) {
		require.NoError(t, r.pool.Free(at*page, page, nil))
	}
	r.dev.Default().Release()
	s := r.pool.space
	s.mu.Lock()
	some, more := s.completeFrees(pollAll)
	s.mu.Unlock()
	require.True(t, some && more)
	require.EqualValues(t, pages-completedMost, s.table.retiring)
	require.EqualValues(t, pages-completedMost, s.completeAll())
	r.check(t)
	r.quit(t)
}
