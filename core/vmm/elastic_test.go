package vmm

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/extent"
)

// The example of seed 003: address space is over-committed, and physical memory follows
// the allocations.
func TestModelsShareOnePhysicalLimit(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	a, err := p.shared.Register("a", ModelConfig{VirtualBytes: 64 * page})
	require.NoError(t, err)
	b, err := p.shared.Register("b", ModelConfig{VirtualBytes: 31*page + 1})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, p.shared.Models())
	require.Equal(t, []uint64{page, page, page}, []uint64{a.PageBytes(), p.shared.PageBytes(), p.shared.Physical().PageBytes()})
	require.Equal(t, uint64(32*page), b.CapacityBytes())
	require.Zero(t, p.dev.HeldBytes(), "models take no physical memory")
	require.Equal(t, GlobalStats{PhysicalLimitBytes: 32 * page, Models: 2, VirtualBytes: 96 * page}, p.shared.GlobalStats())

	first, err := p.shared.Alloc("a", 3*page-1)
	require.NoError(t, err)
	require.Equal(t, Allocation{Addr: a.BaseAddress(), SizeBytes: 3*page - 1}, first)
	second := get(t, a, 2)
	require.Equal(t, uint64(3*page), second.OffsetBytes, "the second allocation of a model has its own place")
	other := get(t, b, 27)
	require.Equal(t, b.BaseAddress(), other.Addr)
	short(t, a, 1, 0)
	short(t, b, 5, 0)
	_, err = b.Alloc(6 * page)
	require.ErrorIs(t, err, device.CodeOutOfVirtualMemory, "without free address space no model is asked for pages")
	require.ErrorContains(t, err, "the longest free run of model \"b\" is "+sized(5*page))
	p.check(t)

	stats, ok := p.shared.ModelStats("a")
	require.True(t, ok)
	require.Equal(t, uint64(5*page), stats.PhysicalBytes)
	require.Equal(t, uint64(5*page-1), stats.RequestedBytes)
	require.EqualValues(t, 1, stats.Failures)
	require.EqualValues(t, 32*page, p.shared.GlobalStats().PhysicalBytes)
	free(t, a, first)
	require.False(t, a.IsMapped(0, 1))
	require.True(t, a.IsMapped(second.OffsetBytes, second.SizeBytes))
	require.Zero(t, get(t, a, 1).OffsetBytes, "the lowest free offset is used")
	free(t, a, second)
	free(t, b, other)
	require.Equal(t, uint64(page), get(t, a, 5).OffsetBytes)
	_, ok = p.shared.ModelStats("c")
	require.False(t, ok)
	p.quit(t)
}

func TestAllocAtUsesTheRequestedOffset(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	m := p.model(t, "m", 0, 0, 0)
	got, err := p.shared.AllocAt("m", 5*page+7, page)
	require.NoError(t, err)
	require.Equal(t, Allocation{Addr: m.BaseAddress() + device.Addr(5*page+7), OffsetBytes: 5*page + 7, SizeBytes: page}, got)
	_, err = m.AllocAt(4*page, 2*page)
	require.ErrorIs(t, err, device.CodeAlreadyMapped)
	require.ErrorContains(t, err, "page at offset "+text(5*page)+", page size "+text(page))
	require.Equal(t, uint64(7*page), get(t, m, 6).OffsetBytes)
	require.ErrorIs(t, m.Free(5*page, page+1, nil), device.CodeInvalidOffset, "neighbours are not freed with it")
	require.NoError(t, p.shared.Free("m", 5*page+7, page, nil))
	err = m.Free(5*page, page, nil)
	require.ErrorIs(t, err, device.CodeNotMapped)
	require.ErrorContains(t, err, "page at offset "+text(5*page))
	for _, at := range []extent.Span{{Offset: 64 * page, Size: 1}, {Offset: 63 * page, Size: page + 1}, {Offset: math.MaxUint64, Size: 2}, {Offset: 1, Size: math.MaxUint64}} {
		_, err = m.AllocAt(at.Offset, at.Size)
		require.ErrorIs(t, err, device.CodeInvalidOffset)
		require.ErrorContains(t, err, "capacity "+text(64*page))
		require.ErrorIs(t, m.Free(at.Offset, at.Size, nil), device.CodeInvalidOffset)
	}
	tagged, err := m.AllocTaggedAt(AllocRequest{OffsetBytes: 0, SizeBytes: page, Tag: "kv"})
	require.NoError(t, err)
	require.Zero(t, tagged.OffsetBytes)
	_, err = m.AllocTagged(AllocRequest{OffsetBytes: page, SizeBytes: page, Tag: "kv"})
	require.ErrorIs(t, err, device.CodeInvalidOffset)
	_, err = m.AllocTagged(AllocRequest{SizeBytes: page, Tag: "kv"})
	require.NoError(t, err)
	p.quit(t)
}

func TestInvalidModelRequestsAreRejected(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	s := p.shared
	m := p.model(t, "m", 8, 0, 0)
	p.model(t, "n", 0, 16, 0)

	_, err := s.Register("m", ModelConfig{VirtualBytes: page})
	require.ErrorIs(t, err, device.CodeModelAlreadyExists)
	require.ErrorContains(t, err, `"m"`)
	for _, err := range []error{
		second(s.Model("x")), second(s.Alloc("x", page)), second(s.AllocAt("x", 0, page)), s.Free("x", 0, page, nil),
		s.Unregister("x", false), s.SetModelLimits("x", ModelLimits{}), second(s.OnReclaim("x", 0, nil)),
	} {
		require.ErrorIs(t, err, device.CodeModelNotFound)
		require.ErrorContains(t, err, `"x"`)
	}
	_, err = s.Alloc("m", 0)
	require.ErrorIs(t, err, device.CodeInvalidSize)
	_, err = s.AllocAt("m", 0, 0)
	require.ErrorIs(t, err, device.CodeInvalidSize)
	for _, size := range []uint64{64*page + 1, math.MaxUint64} {
		_, err = s.Alloc("m", size)
		require.ErrorIs(t, err, device.CodeOutOfVirtualMemory)
	}
	_, err = m.Alloc(33 * page)
	require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
	require.ErrorContains(t, err, "it can never fit")
	_, err = s.Alloc("n", 17*page)
	require.ErrorContains(t, err, "it can never fit")
	require.ErrorContains(t, err, "the limits allow the model 16 at once")
	_, err = s.OnReclaim("m", -1, func(uint64) uint64 { return 0 })
	require.ErrorIs(t, err, device.CodeInvalidArgument)

	bad := map[string]ModelConfig{
		"guaranteed_bytes 65537 is above max_bytes 65536":         {VirtualBytes: 4 * page, GuaranteedBytes: page + 1, MaxBytes: page},
		"max_bytes 65535 is less than a page":                     {VirtualBytes: 4 * page, MaxBytes: page - 1},
		"guaranteed_bytes 65537 is above its virtual_bytes 65536": {VirtualBytes: page, GuaranteedBytes: page + 1},
		"would be above the limit of 2 MiB, of which 512 KiB":     {VirtualBytes: 64 * page, GuaranteedBytes: 24*page + 1},
	}
	for text, config := range bad {
		_, err := s.Register("bad", config)
		require.ErrorIs(t, err, device.CodeInvalidConfig)
		require.ErrorContains(t, err, text)
	}
	_, err = s.Register("bad", ModelConfig{})
	require.ErrorIs(t, err, device.CodeInvalidSize)
	_, err = s.Register("bad", ModelConfig{VirtualBytes: math.MaxUint64})
	require.ErrorIs(t, err, device.CodeInvalidSize)
	_, err = s.Register("bad", ModelConfig{VirtualBytes: 1 << 62})
	require.ErrorIs(t, err, device.CodeOutOfVirtualMemory)
	for _, id := range []string{"", strings.Repeat("x", MaxNameBytes+1)} {
		_, err = s.Register(id, ModelConfig{VirtualBytes: page})
		require.ErrorIs(t, err, device.CodeInvalidArgument)
	}
	require.ErrorIs(t, s.SetModelLimits("m", ModelLimits{GuaranteedBytes: 33 * page}), device.CodeInvalidConfig)
	require.ErrorIs(t, s.SetModelLimits("m", ModelLimits{GuaranteedBytes: 65 * page}), device.CodeInvalidConfig)
	require.ErrorIs(t, s.SetLimit(7*page), device.CodeInvalidConfig)
	require.ErrorIs(t, s.SetLimit(65*mib), device.CodeOutOfPhysicalMemory)
	require.Equal(t, []string{"m", "n"}, s.Models())
	p.quit(t)

	for _, err := range []error{
		second(s.Model("m")), second(s.Register("m", ModelConfig{VirtualBytes: page})), s.SetLimit(0), s.Unregister("m", true),
		second(s.Alloc("m", page)), second(s.OnReclaim("m", 0, nil)),
	} {
		require.ErrorIs(t, err, device.CodeInvalidState)
	}
	require.ErrorIs(t, second(m.Alloc(page)), device.CodeModelNotFound)
	require.ErrorIs(t, m.Free(0, page, nil), device.CodeModelNotFound)
	require.False(t, m.IsMapped(0, 1))
}

func second[T any](_ T, err error) error { return err }

func TestNewSharedComparesWithTheDevice(t *testing.T) {
	e := engine.New(devicetest.Open(devicetest.Config{TotalBytes: mib, NoVirtualMemory: true}), engine.Options{})
	_, err := NewElastic(e, ElasticConfig{})
	require.ErrorIs(t, err, device.CodeUnsupportedDevice)
	require.NoError(t, e.Close())

	dev := devicetest.Open(devicetest.Config{TotalBytes: mib, VirtualBytes: 2 * mib})
	e = engine.New(dev, engine.Options{})
	_, err = NewElastic(e, ElasticConfig{LimitBytes: mib + 1, PageBytes: page})
	require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
	require.ErrorContains(t, err, "requested 1.00 MiB (1048577 bytes), available 1 MiB")
	_, err = NewElastic(e, ElasticConfig{LimitBytes: page - 1, PageBytes: page})
	require.ErrorIs(t, err, device.CodeInvalidConfig)
	_, err = NewElastic(e, ElasticConfig{PageBytes: 3 * page})
	require.ErrorIs(t, err, device.CodeInvalidPageSize)
	s, err := NewElastic(e, ElasticConfig{PageBytes: page})
	require.NoError(t, err)
	require.Equal(t, mib, s.Limit(), "without a limit it is the device's capacity")
	require.NoError(t, e.SetLimit(mib/2))
	require.NoError(t, s.SetLimit(0))
	require.Equal(t, mib/2, s.Limit())

	_, err = s.Register("m", ModelConfig{VirtualBytes: 3 * mib, GuaranteedBytes: mib / 2})
	require.ErrorIs(t, err, device.CodeOutOfVirtualMemory)
	require.Equal(t, GlobalStats{PhysicalLimitBytes: mib / 2}, s.GlobalStats(), "a model that was refused leaves nothing behind")
	_, err = s.Register("m", ModelConfig{VirtualBytes: mib, GuaranteedBytes: mib / 2})
	require.NoError(t, err)
	require.NoError(t, s.Close(false))
	require.Zero(t, dev.Reservations())
	require.NoError(t, e.Close())
}
