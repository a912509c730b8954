package manager

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// visit is an access to a block of 1000 bytes, some time after the one before.
type visit struct {
	after        time.Duration
	offset, size uint64
	writes       bool
}

func logOf(visits []visit) *accessLog {
	a, now := &accessLog{}, time.Duration(0)
	for _, v := range visits {
		now += v.after
		a.record(use{offset: v.offset, size: v.size, writes: v.writes}, 1000, now)
	}
	return a
}

// walk returns n visits of 10 bytes each, in order or scattered. Every fourth comes
// after a pause if there are pauses.
func walk(n int, inOrder func(i int) bool, pause time.Duration) []visit {
	visits := make([]visit, n)
	at := uint64(0)
	for i := range visits {
		if i > 0 && !inOrder(i) {
			at = (at + 500) % 900
		}
		gap := time.Microsecond
		if pause > 0 && i%8 == 4 {
			gap = pause
		}
		visits[i] = visit{after: gap, offset: at, size: 10}
		at += 10
	}
	return visits
}

func always(int) bool { return true }
func never(int) bool  { return false }

func TestAccessPatternsAreToldApart(t *testing.T) {
	for name, c := range map[string]struct {
		visits []visit
		want   AccessPattern
	}{
		"nothing":             {nil, PatternUnknown},
		"four accesses":       {walk(4, always, 0), PatternUnknown},
		"five accesses":       {walk(5, always, 0), PatternSequential},
		"long":                {walk(60, always, 0), PatternSequential},
		"scattered":           {walk(20, never, 0), PatternRandom},
		"three quarters":      {walk(17, func(i int) bool { return i%4 != 0 }, 0), PatternSequential},
		"half and half":       {walk(17, func(i int) bool { return i%2 == 0 }, 0), PatternMixed},
		"a quarter":           {walk(17, func(i int) bool { return i%4 == 0 }, 0), PatternRandom},
		"bursts":              {walk(17, never, 5*time.Millisecond), PatternBurst},
		"short pauses":        {walk(17, never, 999*time.Microsecond), PatternRandom},
		"bursts in order":     {walk(17, always, 5*time.Millisecond), PatternMixed},
		"only the last count": {append(walk(30, never, 0), walk(17, always, 0)...), PatternSequential},
		"round and round": {func() []visit {
			var visits []visit
			for i := range 20 {
				visits = append(visits, visit{offset: uint64(i%2) * 500, size: 500})
			}
			return visits
		}(), PatternSequential},
		"slow is no pause": {func() []visit {
			visits := walk(17, always, 0)
			for i := range visits {
				visits[i].after = time.Second
			}
			return visits
		}(), PatternSequential},
		"reads and writes apart": {func() []visit {
			var visits []visit
			for i := range 20 {
				visits = append(visits, visit{offset: uint64(i) * 10, size: 10},
					visit{offset: 500 + uint64(i)*10, size: 10, writes: true})
			}
			return visits
		}(), PatternSequential},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, logOf(c.visits).pattern())
		})
	}
}

// A pause is at least 1 ms and at least 10 times the median of the steps, as the header
// states; a gap that is one nanosecond shorter is not a pause.
func TestAPauseIsTenTimesTheMedian(t *testing.T) {
	for name, c := range map[string]struct {
		median, pause time.Duration
		want          AccessPattern
	}{
		"ten times":               {time.Millisecond, 10 * time.Millisecond, PatternBurst},
		"a little less":           {time.Millisecond, 10*time.Millisecond - 1, PatternRandom},
		"slow, and ten times":     {time.Second, 10 * time.Second, PatternBurst},
		"slow, and nine times":    {time.Second, 9 * time.Second, PatternRandom},
		"a millisecond":           {100 * time.Microsecond, time.Millisecond, PatternBurst},
		"less than a millisecond": {time.Microsecond, time.Millisecond - 1, PatternRandom},
	} {
		t.Run(name, func(t *testing.T) {
			visits := walk(17, never, c.pause)
			for i := range visits {
				if visits[i].after != c.pause {
					visits[i].after = c.median
				}
			}
			require.Equal(t, c.want, logOf(visits).pattern())
		})
	}
}

func TestAccessCountsDoNotOverflow(t *testing.T) {
	a := &accessLog{}
	a.kinds[0] = accessKind{count: 2, bytes: math.MaxUint64 - 1}
	a.record(use{size: 5}, 10, 1)
	require.EqualValues(t, 2, a.stats().ReadCount)
	require.EqualValues(t, (math.MaxUint64-1)/2, a.stats().AvgReadBytes)
	a.kinds[1] = accessKind{count: math.MaxUint64}
	a.record(use{size: 5, writes: true}, 10, 1)
	require.EqualValues(t, uint64(math.MaxUint64), a.stats().WriteCount)
}

func TestEachAccessOfABlockIsCounted(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	copiesOn(r)
	f := r.factory
	h, other := m.mustAlloc(t, 100), m.mustAlloc(t, 100)
	look := func(h MemoryHandle) AccessStats {
		stats, tracked, err := f.AccessStats(h)
		require.NoError(t, err)
		require.True(t, tracked)
		return stats
	}
	require.Equal(t, AccessStats{}, look(h), "never")
	r.write(t, h, counting(100))
	first := look(h)
	require.True(t, first.Accessed)
	require.EqualValues(t, 1, first.WriteCount)
	require.EqualValues(t, 100, first.AvgWriteBytes)
	require.Zero(t, first.AvgReadBytes)
	require.NoError(t, f.Read(h, 10, r.dev.HostBuffer(make([]byte, 21)), 21))
	require.NoError(t, f.Copy(NewTransfer(h, other, 10)))
	require.NoError(t, f.CopyAsync(NewTransfer(h, other, 10), DefaultStream))
	require.NoError(t, f.FillAsync(Fill{Memory: other, SizeBytes: 4,
		Pattern: device.Pattern{WidthBytes: 1}}, DefaultStream))
	mapped, err := f.Map(MapRequest{Memory: h, SizeBytes: 50, Access: HostReadWrite})
	require.NoError(t, err)
	require.EqualValues(t, 4, look(h).ReadCount)
	require.EqualValues(t, 1, look(h).WriteCount, "the mapping has not ended")
	require.NoError(t, f.Unmap(h, mapped.ID))
	got := look(h)
	require.EqualValues(t, 4, got.ReadCount)
	require.EqualValues(t, (21+10+10+50)/4, got.AvgReadBytes)
	require.EqualValues(t, 2, got.WriteCount)
	require.EqualValues(t, 75, got.AvgWriteBytes)
	require.GreaterOrEqual(t, got.LastAccess, first.LastAccess)
	require.EqualValues(t, 3, look(other).WriteCount)
	require.Zero(t, look(other).ReadCount)
	require.Error(t, f.Copy(NewTransfer(h, other, 101)))
	require.Equal(t, got, look(h), "a rejected call is not counted as an access")
	_, _, err = f.AccessStats(1)
	requireError(t, err, device.CodeInvalidHandle)
}

func TestNoAccessIsKeptWithoutTracking(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, func(c *Config) { c.EnableTracking = false })
	h := m.mustAlloc(t, 100)
	r.write(t, h, counting(100))
	stats, tracked, err := r.factory.AccessStats(h)
	require.NoError(t, err)
	require.False(t, tracked)
	require.Equal(t, AccessStats{}, stats)
	b, err := r.factory.lookUp("test", "memory", h)
	require.NoError(t, err)
	require.Nil(t, b.access)
}

func TestHintsAreStoredByAxis(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	m := r.manager(t, nil)
	f := r.factory
	h := m.mustAlloc(t, 1)
	for _, step := range []struct {
		hint UsageHint
		want Hints
	}{
		{HintSequential, Hints{Order: HintSequential}},
		{HintReadMostly, Hints{Order: HintSequential, Direction: HintReadMostly}},
		{HintRandom, Hints{Order: HintRandom, Direction: HintReadMostly}},
		{HintResident, Hints{Order: HintRandom, Direction: HintReadMostly, Lifetime: HintResident}},
		{HintWriteMostly, Hints{Order: HintRandom, Direction: HintWriteMostly, Lifetime: HintResident}},
		{HintTemporary, Hints{Order: HintRandom, Direction: HintWriteMostly, Lifetime: HintTemporary}},
		{HintNone, Hints{}},
	} {
		require.NoError(t, f.SetUsageHint(h, step.hint))
		got, err := f.UsageHints(h)
		require.NoError(t, err)
		require.Equal(t, step.want, got)
	}
	requireError(t, f.SetUsageHint(h, 7), device.CodeInvalidArgument, "hint 7")
	requireError(t, f.SetUsageHint(h, -1), device.CodeInvalidArgument, "hint -1")
	requireError(t, f.SetUsageHint(1, HintNone), device.CodeInvalidHandle)
	_, err := f.UsageHints(1)
	requireError(t, err, device.CodeInvalidHandle)
	require.Equal(t, "read_mostly", HintReadMostly.String())
	require.Equal(t, "burst", PatternBurst.String())
	require.Equal(t, "unknown (9)", AccessPattern(9).String())
	require.Equal(t, "read_only", HostRead.String())
}
