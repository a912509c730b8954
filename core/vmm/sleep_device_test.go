package vmm_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm"
)

// The bytes really leave the model's pages, and return to them: two models under a
// limit that holds one, with the worker, with every backing.
func TestOnDeviceModelsSleep(t *testing.T) {
	dir := t.TempDir()
	for _, backing := range backings {
		g := onDevice(t, 512*mib)
		e := g.engine
		s, err := vmm.NewElastic(e, vmm.ElasticConfig{Name: "s", LimitBytes: 24 * mib, PageBytes: g.page, Backing: backing})
		require.NoError(t, err)
		const size = 20 * mib
		ranges := map[string]vmm.Allocation{}
		for i, id := range []string{"a", "b"} {
			m, err := s.Register(id, vmm.ModelConfig{VirtualBytes: 64 * mib})
			require.NoError(t, err)
			ranges[id], err = m.AllocTagged(vmm.AllocRequest{SizeBytes: size, Tag: "weights"})
			require.NoError(t, err)
			for at := range size / mib {
				require.NoError(t, g.bytes.Fill(ranges[id].Addr+device.Addr(at*mib), byte(int(at)*2+i+1), mib))
			}
			_, err = m.Sleep(context.Background(), vmm.SleepRequest{})
			require.NoError(t, err)
			// Otherwise the worker would make some ready again.
			s.Physical().Pause()
			_, err = s.Physical().Trim(0)
			require.NoError(t, err)
			require.Zero(t, s.GlobalStats().HeldBytes)
			s.Physical().Resume()
			require.Equal(t, uint64(i+1)*size, e.Asleep().HostBytes)
		}
		for round := range 6 {
			id, i := "a", round%2
			if i == 1 {
				id = "b"
			}
			m, err := s.Model(id)
			require.NoError(t, err)
			_, err = m.Wake(context.Background(), vmm.WakeRequest{Tag: "weights"})
			require.NoError(t, err)
			require.Equal(t, uint64(size), s.GlobalStats().PhysicalBytes)
			for at := range size / mib {
				g.holds(t, ranges[id].Addr+device.Addr(at*mib), byte(int(at)*2+i+1), mib)
			}
			r := vmm.SleepRequest{Backing: vmm.SleepBacking(round / 2 % 2)}
			if r.Backing == vmm.SleepToFile {
				r.Dir = dir
			}
			report, err := m.Sleep(context.Background(), r)
			require.NoError(t, err)
			require.Equal(t, uint64(size), report.Bytes)
		}
		require.Equal(t, uint64(2*size), e.Asleep().HostBytes, fmt.Sprint(e.Asleep()))
		require.NoError(t, s.Close(true))
		g.close(t)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)
}
