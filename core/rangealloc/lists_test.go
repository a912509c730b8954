package rangealloc

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// newTest creates a strategy with granules of 256 bytes.
func newTest[S Strategy](t *testing.T, name string, granules uint64) S {
	t.Helper()
	s, err := New(name, Config{SizeBytes: granules * 256, GranuleBytes: 256})
	require.NoError(t, err)
	return s.(S)
}

// holes creates live blocks and holes between them, some of them merged, so that every
// structure can be damaged.
func holes(t *testing.T, s Strategy) {
	t.Helper()
	var offsets []uint64
	for range 40 {
		got, err := s.Alloc(Request{Size: 512, Align: 256})
		require.NoError(t, err)
		offsets = append(offsets, got.Offset)
	}
	for i := 1; i < 40; i += 2 {
		_, err := s.Free(offsets[i])
		require.NoError(t, err)
	}
	_, err := s.Free(offsets[10])
	require.NoError(t, err)
	require.NoError(t, s.Check())
}

// A live block may cost 64 bytes of tables, including free blocks and slack.
func TestTablesPerLiveBlock(t *testing.T) {
	recordBytes := int(reflect.TypeFor[record[uint64]]().Size())
	const live = 100_000
	tables := map[string]func(Strategy) *tiling[uint64]{
		nameTLSF:  func(s Strategy) *tiling[uint64] { return &s.(*tlsf).tiling },
		nameBuddy: func(s Strategy) *tiling[uint64] { return &s.(*buddy).tiling },
		nameArena: func(s Strategy) *tiling[uint64] { return &s.(*arena).tiling },
	}
	for name, tiling := range tables {
		t.Run(name, func(t *testing.T) {
			s := newTest[Strategy](t, name, 1<<34)
			replace := replacer(t, s, live)
			for range 5 * live {
				replace()
			}
			require.NoError(t, s.Check())
			own := tiling(s)
			bytes := cap(own.records.all)*recordBytes + 4*len(own.live.heads) + int(reflect.TypeOf(s).Elem().Size())
			if s, ok := s.(*tlsf); ok {
				bytes += 4 * len(s.free.heads)
			}
			t.Logf("%.1f bytes a live block", float64(bytes)/live)
			require.LessOrEqual(t, bytes, 64*live)
		})
	}
}

// If the table of blocks is full, a request that needs a record fails and changes
// nothing.
func TestFullTableFailsWithoutChange(t *testing.T) {
	for _, name := range []string{nameTLSF, nameBuddy, nameArena} {
		t.Run(name, func(t *testing.T) {
			s := newTest[Strategy](t, name, 1024)
			var own *tiling[uint64]
			switch s := s.(type) {
			case *tlsf:
				own = &s.tiling
			case *buddy:
				own = &s.tiling
			case *arena:
				own = &s.tiling
			}
			own.records.limit = 100
			var before Stats
			for {
				before = s.Stats()
				if _, err := s.Alloc(Request{Size: 256, Align: 256}); err != nil {
					require.ErrorIs(t, err, device.CodeResourceExhausted)
					require.ErrorContains(t, err, "records wanted, 100 possible")
					break
				}
			}
			require.Greater(t, before.LiveBlocks, uint64(80))
			_, err := s.Alloc(Request{Size: 256, Align: 2048})
			require.ErrorIs(t, err, device.CodeResourceExhausted)
			require.Equal(t, before, s.Stats())
			require.NoError(t, s.Check())
		})
	}
}

func TestTLSFCheckFindsDamage(t *testing.T) {
	for name, damage := range map[string]func(s *tlsf){
		"a head":              func(s *tlsf) { s.free.heads[classOf(2)] = none },
		"a bit of a class":    func(s *tlsf) { s.free.row[0] &^= 1 << 2 },
		"a bit of a row":      func(s *tlsf) { s.free.rows &^= 1 },
		"an empty row's bit":  func(s *tlsf) { s.free.rows |= 1 << 1 },
		"the count":           func(s *tlsf) { s.free.count-- },
		"a link":              func(s *tlsf) { s.records.all[s.free.heads[classOf(2)]].right = none },
		"a link back":         func(s *tlsf) { s.records.all[s.free.heads[classOf(2)]].left = 1 },
		"a circle":            func(s *tlsf) { h := s.free.heads[classOf(2)]; s.records.all[h].right = h },
		"a run of other size": func(s *tlsf) { s.free.heads[classOf(2)] = s.free.heads[classOf(6)] },
		"free granules":       func(s *tlsf) { s.freeUnits++ },
		"a live chain":        func(s *tlsf) { *s.live.head(0) = none },
	} {
		t.Run(name, func(t *testing.T) {
			s := newTest[*tlsf](t, nameTLSF, 1000)
			holes(t, s)
			damage(s)
			require.ErrorIs(t, s.Check(), device.CodeInternal)
		})
	}
}

func TestBuddyCheckFindsDamage(t *testing.T) {
	for name, damage := range map[string]func(s *buddy){
		"a head":        func(s *buddy) { s.heads[1] = none },
		"a bit":         func(s *buddy) { s.orders &^= 1 << 1 },
		"an empty bit":  func(s *buddy) { s.orders |= 1 << 60 },
		"the count":     func(s *buddy) { s.freeCount++ },
		"a link":        func(s *buddy) { s.records.all[s.heads[1]].right = none },
		"free granules": func(s *buddy) { s.freeUnits-- },
		"two buddies": func(s *buddy) {
			at := s.heads[1]
			s.remove(at)
			s.records.all[at].setSize(1)
			upper := s.records.insertAfter(at, s.records.all[at].offset()+1, 1)
			s.insert(at)
			s.insert(upper)
		},
		"a block that is no power of two": func(s *buddy) {
			first := s.records.all[0].next
			second := s.records.all[first].next
			s.records.all[first].units--
			s.records.all[second].units++
			s.records.all[second].start--
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTest[*buddy](t, nameBuddy, 1000)
			holes(t, s)
			damage(s)
			require.ErrorIs(t, s.Check(), device.CodeInternal)
		})
	}
}

func TestArenaCheckFindsDamage(t *testing.T) {
	for name, damage := range map[string]func(s *arena){
		"no rest":       func(s *arena) { s.tail = none },
		"another rest":  func(s *arena) { s.tail = s.records.all[0].next },
		"the count":     func(s *arena) { s.dead++ },
		"free granules": func(s *arena) { s.freeUnits++ },
		"high water":    func(s *arena) { s.highWater = 1 },
		"two freed records": func(s *arena) {
			last := s.records.all[s.tail].prev
			s.records.all[last].units--
			s.records.insertAfter(last, s.records.all[s.tail].offset()-1, 1)
			s.dead++
		},
		"no block is live, and the rest is not all": func(s *arena) {
			for at := s.records.all[0].next; at != 0; at = s.records.all[at].next {
				if s.records.all[at].isLive() && s.live.count > 1 {
					_, _ = s.Free(s.records.all[at].offset() << s.shift)
				}
			}
			for at := s.records.all[0].next; at != 0; at = s.records.all[at].next {
				if s.records.all[at].isLive() {
					s.live.remove(s.records.all, s.records.all[at].offset())
					s.freeUnits += s.records.all[at].size()
					s.records.all[at].left, s.records.all[at].right = none, none
					s.dead++
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTest[*arena](t, nameArena, 1000)
			holes(t, s)
			damage(s)
			require.ErrorIs(t, s.Check(), device.CodeInternal)
		})
	}
}
