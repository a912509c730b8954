package weights_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/vmm"
	"ferrum_mem/core/weights"
	"ferrum_mem/drivers/host"
)

// The tests of this file load into memory of the host device, as a program does.

// model is a safetensors file with tensors of bytes. The value of a byte depends on its tensor and
// offset.
type model struct {
	path  string
	order []string
	bytes map[string][]byte
}

func byteAt(tensor, at int) byte { return byte(31*tensor + at + at>>8) }

// bytePeriod is the number of bytes after which byteAt repeats.
const bytePeriod = 1 << 16

func newModel(t *testing.T, sizes ...int) *model {
	t.Helper()
	m := &model{path: filepath.Join(t.TempDir(), "model.safetensors"), bytes: map[string][]byte{}}
	entries, end := map[string]any{}, 0
	var data []byte
	for number, size := range sizes {
		name := "layers." + string(rune('a'+number)) + ".weight"
		m.order = append(m.order, name)
		entries[name] = map[string]any{"dtype": "U8", "shape": []int{size}, "data_offsets": []int{end, end + size}}
		end += size
		for at := range min(size, bytePeriod) {
			data = append(data, byteAt(number, at))
		}
		for len(data) < end {
			data = append(data, data[len(data)-bytePeriod:][:min(bytePeriod, end-len(data))]...)
		}
		m.bytes[name] = data[end-size : end]
	}
	text, err := json.Marshal(entries)
	require.NoError(t, err)
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	require.NoError(t, os.WriteFile(m.path, append(file, data...), 0o600))
	return m
}

func (m *model) open(t *testing.T) *weights.Source {
	t.Helper()
	s, err := weights.Open(m.path, weights.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// all returns a spec for every tensor, without transformations.
func all(t *testing.T, s *weights.Source) []weights.Spec {
	t.Helper()
	specs, err := s.Select(weights.Selection{})
	require.NoError(t, err)
	return specs
}

// newHost opens a host device. At the end of the test it checks that no memory is left on the
// device.
func newHost(t *testing.T) *engine.Engine {
	t.Helper()
	driver, err := host.New(host.Config{MemoryBytes: 256 << 20})
	require.NoError(t, err)
	dev, err := driver.Open(0)
	require.NoError(t, err)
	e := engine.New(dev, engine.Options{})
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

func newPool(t *testing.T, e *engine.Engine) *pool.Pool {
	t.Helper()
	p, err := pool.New(e, pool.Config{Name: "models", InitialSizeBytes: 64 << 20, GrowthIncrementBytes: 64 << 20, AutoExpansion: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close(false)) })
	return p
}

func bytesOf(of weights.Loaded) []byte { return offheap.View(uintptr(of.Addr), int(of.SizeBytes)) }

func (m *model) assertLoaded(t *testing.T, set *weights.Set) {
	t.Helper()
	require.Len(t, set.Tensors, len(m.order))
	for _, of := range set.Tensors {
		assert.Equal(t, m.bytes[of.Name], bytesOf(of), of.Name)
	}
}

func TestLoadsIntoOneBlockOfAPool(t *testing.T) {
	m := newModel(t, 9<<20, 1, 300, 5<<20)
	p := newPool(t, newHost(t))
	before := p.Statistics()
	s := m.open(t)
	var last weights.Progress
	set, err := s.Load(context.Background(), all(t, s), weights.LoadOptions{
		Memory: weights.InPool(p, "draft"), Threads: 3, Progress: func(now weights.Progress) {
			assert.GreaterOrEqual(t, now.DoneBytes, last.DoneBytes)
			last = now
		},
	})
	require.NoError(t, err)
	m.assertLoaded(t, set)
	assert.EqualValues(t, 14<<20+301, last.DoneBytes)
	assert.EqualValues(t, 14<<20+301, last.TotalBytes)
	assert.Positive(t, last.BytesPerSecond)
	assert.EqualValues(t, before.LiveBlocks.Current+1, p.Statistics().LiveBlocks.Current, "all tensors are in one block")
	assert.Equal(t, "draft", p.Tags()[0].Tag)
	for _, of := range set.Tensors {
		assert.Zero(t, of.Addr%256, "%s is aligned", of.Name)
		assert.Equal(t, "cpu:0", of.Device.String())
		assert.Equal(t, dtype.U8, of.Type)
	}
	require.Len(t, set.Segments(), 1)
	assert.GreaterOrEqual(t, set.Bytes(), last.TotalBytes)
	require.NoError(t, set.Free())
	require.NoError(t, set.Free(), "the second has nothing to free")
	assert.Equal(t, before.Allocated.Current, p.Statistics().Allocated.Current)
}

func TestASleepingModelKeepsItsTensors(t *testing.T) {
	m := newModel(t, 3<<20, 77, 2<<20)
	e := newHost(t)
	elastic, err := vmm.NewElastic(e, vmm.ElasticConfig{Name: "elastic", PageBytes: 2 << 20})
	require.NoError(t, err)
	defer func() { require.NoError(t, elastic.Close(false)) }()
	_, err = elastic.Register("llama", vmm.ModelConfig{VirtualBytes: 64 << 20})
	require.NoError(t, err)
	defer func() { require.NoError(t, elastic.Unregister("llama", false)) }()
	memory, err := weights.InModel(elastic, "llama", "weights")
	require.NoError(t, err)
	s := m.open(t)
	set, err := s.Load(context.Background(), all(t, s), weights.LoadOptions{Memory: memory})
	require.NoError(t, err)
	m.assertLoaded(t, set)
	require.NoError(t, s.Close(), "the set does not need its source")

	model, err := elastic.Model("llama")
	require.NoError(t, err)
	_, err = model.Sleep(context.Background(), vmm.SleepRequest{Tag: "weights"})
	require.NoError(t, err)
	assert.True(t, model.IsAsleep("weights"))
	_, err = model.Wake(context.Background(), vmm.WakeRequest{Tag: "weights"})
	require.NoError(t, err)
	m.assertLoaded(t, set)
	require.NoError(t, set.Free())
	_, err = weights.InModel(elastic, "nobody", "")
	assert.ErrorIs(t, err, device.CodeModelNotFound)
}

func TestLoadsIntoPagesOfAVirtualPool(t *testing.T) {
	m := newModel(t, 3<<20, 77)
	p, err := vmm.NewPool(newHost(t), vmm.Config{Name: "virtual", CapacityBytes: 64 << 20, PageBytes: 2 << 20})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close(false)) }()
	s := m.open(t)
	memory := weights.InRange(p, 4<<20, "weights")
	set, err := s.Load(context.Background(), all(t, s), weights.LoadOptions{Memory: memory})
	require.NoError(t, err)
	m.assertLoaded(t, set)
	assert.Equal(t, p.BaseAddress()+4<<20, set.Segments()[0].Addr)
	again, err := s.Load(context.Background(), all(t, s), weights.LoadOptions{Memory: memory})
	require.NoError(t, err, "a further load follows in the next pages")
	m.assertLoaded(t, again)
	require.NoError(t, again.Free())
	require.NoError(t, set.Free())
}

func TestLoadsIntoMemoryOfTheCaller(t *testing.T) {
	m := newModel(t, 5000, 3000)
	p := newPool(t, newHost(t))
	block, err := p.Alloc(pool.Request{SizeBytes: 8192})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Free(block.Addr, nil)) }()
	s := m.open(t)
	specs := all(t, s)
	specs[0].Into = &weights.Range{Addr: block.Addr + 64, SizeBytes: 5000}
	set, err := s.Load(context.Background(), specs, weights.LoadOptions{Memory: weights.InPool(p, "")})
	require.NoError(t, err)
	m.assertLoaded(t, set)
	assert.Equal(t, block.Addr+64, set.Tensors[0].Addr)
	require.NoError(t, set.Free())
	assert.Equal(t, m.bytes[m.order[0]], offheap.View(uintptr(block.Addr+64), 5000), "memory of the caller is not freed")

	specs[0].Into.SizeBytes = 4999
	_, err = s.Load(context.Background(), specs, weights.LoadOptions{Memory: weights.InPool(p, "")})
	require.ErrorIs(t, err, device.CodeInvalidSize)
	assert.ErrorContains(t, err, "takes 5000 bytes, and the memory of the caller has 4999")

	// An address without memory is an error of this load, and the process continues.
	for threads := range 3 {
		specs[0].Into = &weights.Range{Addr: 4096, SizeBytes: 5000}
		_, err = s.Load(context.Background(), specs, weights.LoadOptions{Memory: weights.InPool(p, ""), Threads: threads})
		var typed *device.Error
		require.ErrorAs(t, err, &typed)
		assert.ErrorContains(t, err, m.path)
	}
}

func TestTiedTensorsAreLoadedOnce(t *testing.T) {
	m := newModel(t, 1<<20, 2<<20)
	p := newPool(t, newHost(t))
	s := m.open(t)
	f32 := []weights.Transformation{{Kind: weights.Cast, Type: dtype.F32}}
	set, err := s.Load(context.Background(), []weights.Spec{
		{Name: "embed", Tensor: m.order[1]}, {Name: "other", Tensor: m.order[0]}, {Name: "head", Tensor: m.order[1]},
		{Name: "wide", Tensor: m.order[0], Transformations: f32}, {Name: "wide too", Tensor: m.order[0], Transformations: f32},
	}, weights.LoadOptions{Memory: weights.InPool(p, "")})
	require.NoError(t, err)
	assert.Equal(t, set.Tensors[0].Addr, set.Tensors[2].Addr)
	assert.Equal(t, "embed", set.Tensors[2].TiedTo)
	assert.Empty(t, set.Tensors[0].TiedTo)
	assert.Equal(t, "wide", set.Tensors[4].TiedTo)
	assert.NotEqual(t, set.Tensors[1].Addr, set.Tensors[3].Addr, "other transformations make other tensors")
	assert.EqualValues(t, 7<<20, set.Bytes())
	assert.Equal(t, m.bytes[m.order[1]], bytesOf(set.Tensors[2]))
	require.NoError(t, set.Free())
}

func TestAFailedLoadLeavesNothing(t *testing.T) {
	m := newModel(t, 9<<20, 9<<20)
	p := newPool(t, newHost(t))
	before := p.Statistics()
	s := m.open(t)
	require.NoError(t, os.Truncate(m.path, 10<<20), "the file becomes shorter after it was opened")
	set, err := s.Load(context.Background(), all(t, s), weights.LoadOptions{Memory: weights.InPool(p, "")})
	require.ErrorIs(t, err, device.CodeIO)
	assert.ErrorContains(t, err, m.path)
	assert.ErrorContains(t, err, m.order[1])
	assert.Nil(t, set)
	assert.Equal(t, before.Allocated.Current, p.Statistics().Allocated.Current)
	assert.Equal(t, before.LiveBlocks.Current, p.Statistics().LiveBlocks.Current)
}

func TestALoadOnAWorker(t *testing.T) {
	m := newModel(t, 9<<20, 9<<20)
	p := newPool(t, newHost(t))
	s := m.open(t)
	l, err := s.Start(all(t, s), weights.LoadOptions{Memory: weights.InPool(p, "")})
	require.NoError(t, err)
	require.NoError(t, l.Wait(device.Forever))
	set, err := l.Result()
	require.NoError(t, err)
	m.assertLoaded(t, set)
	assert.EqualValues(t, 18<<20, l.Progress().DoneBytes)
	assert.True(t, l.Progress().IsOver)
	l.Cancel()
	_, err = l.Result()
	require.NoError(t, err, "the load ended before the cancel")
	require.NoError(t, set.Free())

	before := p.Statistics().Allocated.Current
	inside, goOn := make(chan struct{}), make(chan struct{})
	first := true
	l, err = s.Start(all(t, s), weights.LoadOptions{Memory: weights.InPool(p, ""), Threads: 1, Progress: func(weights.Progress) {
		if first {
			first = false
			close(inside)
			<-goOn
		}
	}})
	require.NoError(t, err)
	<-inside
	assert.False(t, l.IsOver())
	_, err = l.Result()
	require.ErrorIs(t, err, device.CodeInvalidState)
	require.ErrorIs(t, l.Wait(time.Millisecond), device.CodeTimeout)
	l.Cancel()
	close(goOn)
	require.NoError(t, l.Wait(device.Forever))
	set, err = l.Result()
	require.ErrorIs(t, err, device.CodeCancelled)
	assert.Nil(t, set)
	assert.Equal(t, before, p.Statistics().Allocated.Current)
}

func TestRefusedLoads(t *testing.T) {
	m := newModel(t, 100, 200)
	p := newPool(t, newHost(t))
	s := m.open(t)
	in := weights.InPool(p, "")
	f32 := dtype.F32
	for says, of := range map[string]struct {
		specs   []weights.Spec
		options weights.LoadOptions
	}{
		`the name "" is empty`:                              {[]weights.Spec{{Tensor: m.order[0]}}, weights.LoadOptions{Memory: in}},
		`the name "a" is empty, or another spec has it too`: {[]weights.Spec{{Name: "a", Tensor: m.order[0]}, {Name: "a", Tensor: m.order[1]}}, weights.LoadOptions{Memory: in}},
		`there is no tensor "b"`:                            {[]weights.Spec{{Name: "b"}}, weights.LoadOptions{Memory: in}},
		"has a shape of [100], not of [50, 2]":              {[]weights.Spec{{Name: m.order[0], Shape: []uint64{50, 2}}}, weights.LoadOptions{Memory: in}},
		"the result has the type u8, not f32":               {[]weights.Spec{{Name: m.order[0], Type: &f32}}, weights.LoadOptions{Memory: in}},
		"neither the spec nor the load has":                 {[]weights.Spec{{Name: m.order[0]}}, weights.LoadOptions{}},
		"threads is -1":                                     {[]weights.Spec{{Name: m.order[0]}}, weights.LoadOptions{Memory: in, Threads: -1}},
		"staging_bytes is 268435457":                        {[]weights.Spec{{Name: m.order[0]}}, weights.LoadOptions{Memory: in, StagingBytes: 256<<20 + 1}},
	} {
		_, err := s.Load(context.Background(), of.specs, of.options)
		require.Error(t, err, says)
		assert.ErrorContains(t, err, says)
		_, err = s.Start(of.specs, of.options)
		assert.ErrorContains(t, err, says)
	}
	assert.Zero(t, p.Statistics().Allocated.Current)
}
