package replay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/trace"
)

// naiveJoin joins adjacent rectangles of the same request and the same time. It joins two
// at a time until no such pair is left.
func naiveJoin(list []Rectangle) []Rectangle {
	for {
		a, b := naivePair(list)
		if a < 0 {
			return list
		}
		list[a].SizeBytes += list[b].SizeBytes
		list = append(list[:b:b], list[b+1:]...)
	}
}

func naivePair(list []Rectangle) (lower, upper int) {
	for i, a := range list {
		for j, b := range list {
			if a.Request == b.Request && a.From == b.From && a.To == b.To && a.OffsetBytes+a.SizeBytes == b.OffsetBytes {
				return i, j
			}
		}
	}
	return -1, -1
}

func TestAddressMapMatchesReferenceModel(t *testing.T) {
	devicetest.OneThread(t)
	for _, mode := range []trace.Mode{trace.Contiguous, trace.Paged} {
		t.Run(mode.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				tr := drawTrace(t)
				r := must(t, tr, Options{Rules: trace.Rules{Mode: mode, BytesPerToken: 4096}, AddressMap: true})
				want := naiveReplay(naiveEvents(tr, mode, 4096))
				require.ElementsMatch(t, naiveJoin(want.rectangles), r.AddressMap.Rectangles)
				require.Equal(t, want.highWater, r.AddressMap.RangeBytes)
				require.Zero(t, r.AddressMap.LeftOut)
				require.EqualValues(t, 1, r.AddressMap.ShownShare)
			})
		})
	}
}

// Segments that follow each other in time may share addresses of the map. Two blocks that
// are live at the same time never overlap in the map.
func TestAddressMapOfSegments(t *testing.T) {
	devicetest.OneThread(t)
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrace(t)
		limit := rapid.Uint64Range(64<<10, 32<<20).Draw(t, "limit")
		r := must(t, tr, Options{
			Rules:      trace.Rules{Mode: trace.Contiguous, BytesPerToken: 4096},
			LimitBytes: limit, Paging: pool.PagingOff, AddressMap: true,
		})
		blocks := r.AddressMap.Rectangles
		for i, a := range blocks {
			require.LessOrEqual(t, a.OffsetBytes+a.SizeBytes, r.AddressMap.RangeBytes)
			for _, b := range blocks[i+1:] {
				apart := a.To <= b.From || b.To <= a.From ||
					a.OffsetBytes+a.SizeBytes <= b.OffsetBytes || b.OffsetBytes+b.SizeBytes <= a.OffsetBytes
				require.True(t, apart, "%+v and %+v", a, b)
			}
		}
	})
}

func TestPlacesOfSegmentsAreUsedAgain(t *testing.T) {
	spans := []span{{number: 1, size: 10, place: unplaced}, {number: 2, size: 20, place: unplaced}, {number: 3, size: 5, place: unplaced}}
	placeSpans(spans)
	assert.Equal(t, []uint64{0, 10, 30}, []uint64{spans[0].place, spans[1].place, spans[2].place})
	// The second segment was released. A new segment gets the place of the second if the
	// new one is short enough.
	spans = []span{spans[0], {number: 4, size: 21, place: unplaced}, {number: 5, size: 20, place: unplaced}, spans[2]}
	placeSpans(spans)
	assert.Equal(t, []uint64{0, 35, 10, 30}, []uint64{spans[0].place, spans[1].place, spans[2].place, spans[3].place})
}

func TestAddressMapIsBounded(t *testing.T) {
	var now int64
	r := newRecorder(func() int64 { return now })
	const blocks = maxRectangles + 500
	var all, small float64
	for i := range blocks {
		// Free space lies between the blocks, so no two rectangles are joined.
		size := uint64(blocks - i)
		r.allocated(device.Addr(i+1), uint64(i)*(2*blocks), size, i)
		all += float64(size)
		if i >= maxRectangles {
			small += float64(size)
		}
	}
	now = 7
	for i := range blocks {
		r.freed(device.Addr(i + 1))
	}
	m := r.finish()
	require.Len(t, m.Rectangles, maxRectangles)
	assert.Equal(t, 500, m.LeftOut)
	assert.InDelta(t, (all-small)/all, m.ShownShare, 1e-12)
	for _, kept := range m.Rectangles {
		require.Greater(t, kept.SizeBytes, uint64(500))
	}
}
