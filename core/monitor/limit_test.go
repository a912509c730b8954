package monitor

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/engine"
	"ferrum_mem/core/pressure"
)

// The levels and the sums of a monitor are computed from the limits of its devices.
func TestAMonitorGoesByTheLimits(t *testing.T) {
	f := newFloor(t, 2, 1000*mib)
	m := newMonitor(t, Config{})
	require.NoError(t, m.Register(f.manager(0)))
	require.NoError(t, m.Register(f.manager(1)))
	s, err := f.engines[0].Reserve(engine.Want{MinBytes: 72 * mib, PreferredBytes: 72 * mib})
	require.NoError(t, err)
	require.Equal(t, Summary{Devices: 2, TotalBytes: 2000 * mib, UsedBytes: 72 * mib}, m.Pressure(0))
	require.NoError(t, f.engines[0].SetLimit(100*mib))
	require.NoError(t, f.engines[1].SetLimit(mib))
	require.Equal(t, Summary{
		Level: pressure.Medium, WeightedLevel: pressure.Medium, Devices: 2, TotalBytes: 101 * mib, UsedBytes: 72 * mib,
	}, m.Pressure(0), "the small limit of the second device is all free")
	infos := m.Info(math.MaxInt64)
	require.Equal(t, pressure.Medium, infos[0].Level)
	require.Equal(t, [2]uint64{100 * mib, 1000 * mib}, [2]uint64{infos[0].Memory.TotalBytes, infos[0].Memory.DeviceTotalBytes})
	require.Equal(t, pressure.Low, infos[1].Level)
	require.NoError(t, f.engines[0].Release(s))
	m.Close(false)
	f.close()
}
