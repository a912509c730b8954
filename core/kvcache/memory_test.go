package kvcache_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/kvcache"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/vmm"
	"ferrum_mem/drivers/host"
	"ferrum_mem/drivers/testdevice"
)

func TestMain(m *testing.M) { os.Exit(testdevice.Main(m, nil)) }

// kvBytes is a layout of 4 planes, in which a block of 4 tokens has 1 KiB.
func kvBytes() kvcache.Layout {
	return kvcache.Layout{Layers: 2, Heads: 2, HeadDim: 64, ElementBits: 16}
}

// bench is a device with an elastic pool, whose model has a cache.
type bench struct {
	t      *testing.T
	engine *engine.Engine
	pool   *pool.Pool
	shared *vmm.Elastic
	model  *vmm.Model
	stream device.Stream
	now    func() device.Stream
	bytes  *testdevice.Bytes
	// host is the pool of swapped blocks: pool, or one of the host beside another device.
	host *pool.Pool
}

const pageBytes = 64 << 10

func newBench(t *testing.T, dev device.Device, limit uint64) *bench {
	b := &bench{t: t, engine: engine.New(dev, engine.Options{}), bytes: testdevice.NewBytes(dev)}
	page := max(pageBytes, dev.(device.VirtualMemory).Granularity().MinimumBytes)
	var err error
	b.shared, err = vmm.NewElastic(b.engine, vmm.ElasticConfig{Name: "elastic", LimitBytes: limit * page, PageBytes: page, ReadyPages: -1})
	require.NoError(t, err)
	b.model, err = b.shared.Register("llama", vmm.ModelConfig{VirtualBytes: 64 * page})
	require.NoError(t, err)
	b.pool, err = pool.New(b.engine, pool.Config{Name: "host", AutoExpansion: true, GrowthIncrementBytes: 1 << 20})
	require.NoError(t, err)
	b.stream, b.now, b.host = dev.DefaultStream(), dev.DefaultStream, b.pool
	return b
}

// onDevice is newBench on the device that testdevice names.
func onDevice(t *testing.T, limit uint64) *bench {
	b := newBench(t, testdevice.Open(t, 256<<20), limit)
	if testdevice.OnHost() {
		return b
	}
	driver, err := host.New(host.Config{Devices: 1, MemoryBytes: 64 << 20})
	require.NoError(t, err)
	dev, err := driver.Open(0)
	require.NoError(t, err)
	b.host, err = pool.New(engine.New(dev, engine.Options{}), pool.Config{Name: "host", AutoExpansion: true, GrowthIncrementBytes: 1 << 20})
	require.NoError(t, err)
	return b
}

// fill writes a byte over a token of a sequence in all planes.
func (b *bench) fill(p *kvcache.Planes, c *kvcache.Cache, id kvcache.Sequence, token int, value byte) {
	for _, at := range b.places(p, c, id, token) {
		require.NoError(b.t, b.bytes.Fill(at, value, 128))
	}
}

func (b *bench) require(p *kvcache.Planes, c *kvcache.Cache, id kvcache.Sequence, token int, value byte) {
	b.t.Helper()
	require.NoError(b.t, b.stream.Synchronize(device.Forever))
	for _, at := range b.places(p, c, id, token) {
		found, differs, err := b.bytes.FirstOther(at, value, 128)
		require.NoError(b.t, err)
		require.False(b.t, differs, "token %d of %#x: %v", token, uint64(id), found)
	}
}

// places returns the addresses of the heads of a token.
func (b *bench) places(p *kvcache.Planes, c *kvcache.Cache, id kvcache.Sequence, token int) (all []device.Addr) {
	entry := uint64(kvcache.TableOf(b.t, c, id)[token/4])
	for layer := range uint32(2) {
		for _, values := range []bool{false, true} {
			plane, size, err := p.Plane(layer, values)
			require.NoError(b.t, err)
			require.EqualValues(b.t, uint64(c.Config().Blocks)<<10, size)
			for head := range uint64(2) {
				all = append(all, plane+device.Addr(entry<<10+head<<9+uint64(token%4)<<7))
			}
		}
	}
	return all
}

func (b *bench) close() {
	if b.host != b.pool {
		require.NoError(b.t, b.host.Close(false))
		require.NoError(b.t, b.host.Engine().Close())
	}
	require.NoError(b.t, b.pool.Close(false))
	require.NoError(b.t, b.shared.Close(false))
	require.NoError(b.t, b.engine.Close())
}

// Blocks keep their bytes through copies, swaps and the sleep of the model, and the pages are of the model.
func TestOnDeviceBlocksInAModel(t *testing.T) {
	b := onDevice(t, 16)
	config := kvcache.Small()
	config.Blocks, config.SequenceTokens, config.HostBlocks = 200, 800, 100
	p, err := kvcache.InRange(config, kvBytes(), b.engine, b.model, 0, "kv", b.now, b.host)
	require.NoError(t, err)
	chunkPages := func() uint64 { return b.model.Stats().MappedPages }
	c := kvcache.NewCache(t, config, p)
	require.Zero(t, chunkPages())
	id, _ := kvcache.AllocateOne(t, c, 6)
	require.EqualValues(t, 4, chunkPages(), "one page in each plane")
	for token := range 6 {
		b.fill(p, c, id, token, byte(token+1))
	}
	child := make([]kvcache.Sequence, 1)
	require.NoError(t, c.Fork([]kvcache.Sequence{id}, child))
	_, _, err = c.Append(child, nil, 0)
	require.NoError(t, err)
	require.NoError(t, b.stream.Synchronize(device.Forever))
	b.fill(p, c, child[0], 6, 99)
	_, _, err = c.SwapOut([]kvcache.Sequence{id, child[0]}, 0)
	require.NoError(t, err)
	other, _ := kvcache.AllocateOne(t, c, 12)
	require.NoError(t, b.stream.Synchronize(device.Forever))
	for token := range 12 {
		b.fill(p, c, other, token, 0xee)
	}
	_, _, err = c.SwapIn([]kvcache.Sequence{child[0], id}, 0)
	require.NoError(t, err)
	for token := range 6 {
		b.require(p, c, id, token, byte(token+1))
		b.require(p, c, child[0], token, byte(token+1))
	}
	b.require(p, c, child[0], 6, 99)

	_, err = b.model.Sleep(context.Background(), vmm.SleepRequest{Tag: "kv"})
	require.NoError(t, err)
	_, _, err = c.Append(child, nil, 0)
	kvcache.RequireCode(t, device.CodeBusy, err)
	assert.ErrorContains(t, err, "the memory of the cache sleeps")
	_, err = b.model.Wake(context.Background(), vmm.WakeRequest{Tag: "kv"})
	require.NoError(t, err)
	b.require(p, c, child[0], 6, 99)

	require.NoError(t, c.Free([]kvcache.Sequence{id, child[0], other}))
	_, err = c.Trim(0)
	require.NoError(t, err)
	require.NoError(t, b.model.Synchronize())
	require.Zero(t, chunkPages())
	require.NoError(t, c.Close(false))
	b.close()
}

// A cache gives pages with cached blocks to another model, and grows again.
func TestOnDeviceCachesShareAnElasticPool(t *testing.T) {
	b := onDevice(t, 8)
	config := kvcache.Config{BlockTokens: 4, Blocks: 128, Sequences: 4, SequenceTokens: 512}
	page := b.shared.PageBytes()
	if page != pageBytes {
		b.close()
		t.Skip("the page of the device has another number of blocks")
	}
	p, err := kvcache.InRange(config, kvBytes(), b.engine, b.model, 0, "kv", b.now, nil)
	require.NoError(t, err)
	c := kvcache.NewCache(t, config, p)
	reclaim, err := b.shared.OnReclaim("llama", time.Minute, p.Reclaimer(c))
	require.NoError(t, err)
	id, _ := kvcache.AllocateOne(t, c, 512)
	hashes := make([]uint64, 128)
	for at := range hashes {
		hashes[at] = uint64(at)
	}
	require.NoError(t, c.Publish([]kvcache.Sequence{id}, []uint32{128}, hashes))
	other, err := b.shared.Register("other", vmm.ModelConfig{VirtualBytes: 8 * page, GuaranteedBytes: 4 * page, GuaranteeMayWait: true})
	require.NoError(t, err)
	_, err = other.Alloc(4 * page)
	kvcache.RequireCode(t, device.CodeOutOfPhysicalMemory, err)
	require.NoError(t, c.Free([]kvcache.Sequence{id}))
	got, err := other.Alloc(4 * page)
	require.NoError(t, err)
	assert.EqualValues(t, 64, c.Stats().UnmappedBlocks)
	assert.EqualValues(t, 64, c.Find(hashes), "the start of the prefix stays")
	second, shared := kvcache.AllocateOne(t, c, 512-256, hashes[:64]...)
	require.EqualValues(t, 256, shared)
	_, _, err = c.Append([]kvcache.Sequence{second}, []uint32{4}, 0)
	kvcache.RequireCode(t, device.CodeOutOfMemory, err)
	kvcache.RequireCode(t, device.CodeOutOfPhysicalMemory, err)
	require.NoError(t, other.Free(got.OffsetBytes, got.SizeBytes, nil))
	require.NoError(t, other.Synchronize())
	require.NoError(t, b.shared.Unregister("other", false))
	_, _, err = c.Append([]kvcache.Sequence{second}, []uint32{4}, 0)
	require.NoError(t, err)
	kvcache.Check(t, c)
	require.NoError(t, c.Close(true))
	reclaim.Remove(false)
	require.NoError(t, b.model.Synchronize())
	b.close()
}

func TestOnDeviceBlocksInAPool(t *testing.T) {
	b := onDevice(t, 16)
	config := kvcache.Small()
	before := b.pool.Statistics().LiveBlocks.Current
	p, err := kvcache.InPool(config, kvBytes(), b.pool, "kv", b.now, b.host)
	require.NoError(t, err)
	require.True(t, p.IsWhole())
	require.EqualValues(t, 4<<10, p.BlockBytes())
	c := kvcache.NewCache(t, config, p)
	live := before + 1
	if b.host == b.pool {
		live++
	}
	assert.Equal(t, live, b.pool.Statistics().LiveBlocks.Current)
	id, _ := kvcache.AllocateOne(t, c, 6)
	b.fill(p, c, id, 5, 7)
	_, _, err = c.SwapOut([]kvcache.Sequence{id}, 0)
	require.NoError(t, err)
	_, _, err = c.SwapIn([]kvcache.Sequence{id}, 0)
	require.NoError(t, err)
	b.require(p, c, id, 5, 7)
	_, _, err = p.Plane(2, false)
	kvcache.RequireCode(t, device.CodeInvalidArgument, err)
	_, err = c.Trim(0)
	require.NoError(t, err)
	require.NoError(t, c.Close(true))
	b.close()
}

func TestRejectsLayouts(t *testing.T) {
	b := newBench(t, testdevice.Open(t, 256<<20), 16)
	defer b.close()
	for what, wrong := range map[string]struct {
		change func(*kvcache.Config, *kvcache.Layout)
		code   device.Code
	}{
		"no layer":       {func(_ *kvcache.Config, l *kvcache.Layout) { l.Layers = 0 }, device.CodeInvalidConfig},
		"half a byte":    {func(c *kvcache.Config, l *kvcache.Layout) { *l, c.BlockTokens = kvcache.Layout{1, 1, 1, 4, 0}, 1 }, device.CodeInvalidConfig},
		"too much":       {func(_ *kvcache.Config, l *kvcache.Layout) { l.Heads, l.HeadDim = 1<<31, 1<<31 }, device.CodeOverflow},
		"always more":    {func(_ *kvcache.Config, l *kvcache.Layout) { l.AlwaysBlocks = 25 }, device.CodeInvalidConfig},
		"no address":     {func(c *kvcache.Config, _ *kvcache.Layout) { c.Blocks = 1 << 20 }, device.CodeOutOfVirtualMemory},
		"no memory":      {func(c *kvcache.Config, l *kvcache.Layout) { c.Blocks, l.AlwaysBlocks, l.Layers = 500, 500, 4 }, device.CodeOutOfPhysicalMemory},
		"no host memory": {func(c *kvcache.Config, l *kvcache.Layout) { c.HostBlocks, l.AlwaysBlocks = 1<<22, 24 }, device.CodeOutOfMemory},
	} {
		config, layout := kvcache.Small(), kvBytes()
		wrong.change(&config, &layout)
		_, err := kvcache.InRange(config, layout, b.engine, b.model, 0, "kv", b.now, b.pool)
		require.Error(t, err, what)
		kvcache.RequireCode(t, wrong.code, err)
	}
	require.NoError(t, b.model.Synchronize())
	assert.Zero(t, b.model.Stats().MappedPages)
	config := kvcache.Small()
	size, err := kvcache.RangeBytes(config, kvBytes(), b.engine, b.model.PageBytes())
	require.NoError(t, err)
	assert.Equal(t, 4*b.model.PageBytes(), size)
}

// Each call of the driver fails once. Nothing is left afterwards, and the tables stay true.
func TestFailingDriver(t *testing.T) {
	for n := 1; ; n++ {
		dev := devicetest.Open(devicetest.Config{TotalBytes: 64 << 20, Backed: true, PageMinimumBytes: pageBytes, PageRecommendedBytes: pageBytes})
		b := newBench(t, dev, 12)
		dev.FailNth(devicetest.Any, n, kvcache.ErrInjected)
		b.program(dev)
		left := dev.ClearFaults()
		require.NoError(t, b.model.Synchronize())
		require.Zero(t, b.model.Stats().MappedPages, "call %d", n)
		require.Zero(t, b.pool.Statistics().LiveBlocks.Current, "call %d", n)
		b.close()
		require.Zero(t, dev.HeldBytes(), fmt.Sprintf("call %d", n))
		if left > 0 {
			require.Greater(t, n, 20)
			return
		}
	}
}

// program makes a cache, uses it, and closes it. Each step may fail.
func (b *bench) program(dev *devicetest.Device) {
	config := kvcache.Config{BlockTokens: 4, Blocks: 192, HostBlocks: 8, Sequences: 4, SequenceTokens: 768}
	p, err := kvcache.InRange(config, kvBytes(), b.engine, b.model, 0, "kv", b.now, b.pool)
	if err != nil {
		return
	}
	c := kvcache.NewCache(b.t, config, p)
	ids, child := make([]kvcache.Sequence, 2), make([]kvcache.Sequence, 1)
	if c.Allocate(kvcache.Prompts{Tokens: []uint32{6, 400}}, ids, nil) == nil {
		require.NoError(b.t, c.Fork(ids[:1], child))
		kvcache.Check(b.t, c)
		_, _, _ = c.Append(append(child, ids...), []uint32{1, 1, 300}, 0)
		kvcache.Check(b.t, c)
		_, _, _ = c.SwapOut(child, 0)
		kvcache.Check(b.t, c)
		_, _, _ = c.SwapIn(child, 0)
		kvcache.Check(b.t, c)
		require.NoError(b.t, c.Free(ids))
		kvcache.Check(b.t, c)
		_, _ = c.Trim(0)
		kvcache.Check(b.t, c)
	}
	if c.Close(true) != nil {
		require.False(b.t, c.IsClosed())
		require.NoError(b.t, c.Close(false))
	}
	require.True(b.t, c.IsClosed())
}
