package kvcache

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pressure"
)

// A program without a store gets the copies that it has to make.
func TestReportsCopiesOnWrite(t *testing.T) {
	c := newCache(t, small(), nil)
	parent, _ := allocate(t, c, 6)
	children := make([]Sequence, 2)
	require.NoError(t, c.Fork([]Sequence{parent, parent}, children))
	before := table(t, c, parent)
	all := append(children, parent)

	_, copied, err := c.Append(all, nil, 1)
	requireCode(t, device.CodeBufferTooSmall, err)
	require.Equal(t, 2, copied)
	require.Equal(t, before, table(t, c, children[0]), "a call that fails changes nothing")

	copies, copied, err := c.Append(all, nil, 3)
	require.NoError(t, err)
	require.Equal(t, 2, copied, "the last of three owners keeps the block")
	for at, pair := range copies {
		assert.Equal(t, before[1], pair.From)
		assert.Equal(t, pair.To, table(t, c, children[at])[1])
		assert.Equal(t, before[0], table(t, c, children[at])[0])
	}
	require.Equal(t, before, table(t, c, parent))
	assert.EqualValues(t, 2, c.Stats().Copies)
	check(t, c)
}

// Cached blocks are evicted in the order of their last use, and the end of a prefix before its start.
func TestEvictsLeastRecentlyUsed(t *testing.T) {
	config := small()
	config.Blocks = 6
	c := newCache(t, config, nil)
	publish := func(hashes ...uint64) {
		id, _ := allocate(t, c, uint32(len(hashes))*4)
		require.NoError(t, c.Publish([]Sequence{id}, []uint32{uint32(len(hashes))}, hashes))
		require.NoError(t, c.Free([]Sequence{id}))
	}
	publish(1, 2, 3)
	publish(10, 11)
	used, shared := allocate(t, c, 12, 1, 2, 3)
	require.EqualValues(t, 12, shared)
	require.NoError(t, c.Free([]Sequence{used}))
	require.Equal(t, [2]uint64{5, 1}, [2]uint64{c.Stats().CachedBlocks, c.Stats().FreeBlocks})

	evicted := func(tokens uint32, left ...int) {
		t.Helper()
		id, _ := allocate(t, c, tokens)
		assert.Equal(t, left, []int{c.Find([]uint64{1, 2, 3}), c.Find([]uint64{10, 11})})
		require.NoError(t, c.Free([]Sequence{id}))
	}
	evicted(4, 3, 2)
	evicted(8, 3, 1)
	evicted(12, 3, 0)
	evicted(16, 2, 0)
	assert.EqualValues(t, 3, c.Stats().Evictions)
	check(t, c)
}

// A call gets exactly the blocks that are free, cached, or released by its own window.
func TestStepFailsAsAWhole(t *testing.T) {
	config := small()
	config.Blocks, config.WindowTokens = 4, 4
	c := newCache(t, config, nil)
	first, _ := allocate(t, c, 8)
	second, _ := allocate(t, c, 8)
	_, _, err := c.Append([]Sequence{first, second}, []uint32{5, 5}, 0)
	requireCode(t, device.CodeOutOfMemory, err)
	assert.ErrorContains(t, err, "4 blocks, and 2 can be used")
	require.Len(t, table(t, c, first), 2)
	check(t, c)
	_, _, err = c.Append([]Sequence{first, second}, []uint32{4, 4}, 0)
	require.NoError(t, err, "each window releases one block")
	entries := make([]int32, c.width)
	require.NoError(t, c.Tables([]Sequence{first}, int(c.width), entries))
	assert.EqualValues(t, none, entries[0])
	requireCode(t, device.CodeInvalidOffset, c.Truncate([]Sequence{first}, []uint32{4}))
	require.NoError(t, c.Truncate([]Sequence{first}, []uint32{8}))
	check(t, c)
	assert.EqualValues(t, 1, c.Stats().Failures)
}

func TestRejectsArguments(t *testing.T) {
	c := newCache(t, small(), nil)
	id, _ := allocate(t, c, 6)
	one, none := []Sequence{id}, []Sequence{0}
	ids := make([]Sequence, 9)
	before := c.Stats()
	appendTo := func(ids []Sequence, counts ...uint32) error {
		_, _, err := c.Append(ids, counts, 9)
		return err
	}
	swap := func(out bool, ids ...Sequence) error {
		call := c.SwapIn
		if out {
			call = c.SwapOut
		}
		_, _, err := call(ids, 9)
		return err
	}
	for what, wrong := range map[string]struct {
		err  error
		code device.Code
		text string
	}{
		"too long":          {c.Allocate(Prompts{Tokens: []uint32{41}}, ids, nil), device.CodeInvalidSize, "lengths[0] is 41"},
		"a part of a block": {c.Allocate(Prompts{Tokens: []uint32{7}, HashCounts: []uint32{2}, Hashes: []uint64{1, 2}}, ids, nil), device.CodeInvalidArgument, "7 tokens fill 1 block"},
		"other hashes":      {c.Allocate(Prompts{Tokens: []uint32{8}, HashCounts: []uint32{1}, Hashes: []uint64{1, 2}}, ids, nil), device.CodeInvalidArgument, "hash_count is 2"},
		"too many":          {c.Allocate(Prompts{Tokens: make([]uint32, 9)}, ids, nil), device.CodeInvalidArgument, "at most 8"},
		"no place":          {c.Allocate(Prompts{Tokens: make([]uint32, 8)}, ids, nil), device.CodeResourceExhausted, "7 places free"},
		"no sequence":       {appendTo(none, 1), device.CodeInvalidHandle, "sequences[0]: 0x0"},
		"a place too high":  {appendTo([]Sequence{1<<32 + 8}, 1), device.CodeInvalidHandle, "0x100000008"},
		"other lengths":     {appendTo(one, 1, 1), device.CodeInvalidArgument, "length_count is 2: want 1"},
		"no lengths":        {c.Truncate(one, nil), device.CodeInvalidArgument, "length_count is 0: want 1"},
		"no counts":         {c.Publish(one, nil, nil), device.CodeInvalidArgument, "prefix_block_count is 0"},
		"other counts":      {c.Allocate(Prompts{Tokens: []uint32{8}, HashCounts: []uint32{1, 1}}, ids, nil), device.CodeInvalidArgument, "prefix_block_count is 2"},
		"twice":             {appendTo([]Sequence{id, id}), device.CodeInvalidArgument, "twice"},
		"beyond":            {appendTo(one, 35), device.CodeInvalidOffset, "6 tokens and 35 more"},
		"far beyond":        {appendTo(one, math.MaxUint32), device.CodeInvalidOffset, "at most 40"},
		"not longer":        {c.Truncate(one, []uint32{7}), device.CodeInvalidOffset, "has 6 tokens"},
		"not whole":         {c.Publish(one, []uint32{2}, []uint64{1, 2}), device.CodeInvalidArgument, "1 whole block that"},
		"publish others":    {c.Publish(one, []uint32{1}, []uint64{1, 2}), device.CodeInvalidArgument, "hash_count is 2"},
		"fork of none":      {c.Fork(none, ids), device.CodeInvalidHandle, "0x0"},
		"fork of too many":  {c.Fork(make([]Sequence, 9), ids), device.CodeInvalidArgument, "at most 8"},
		"not out":           {swap(false, id), device.CodeInvalidState, "is not swapped out"},
		"tables of none":    {c.Tables(none, 1, ids32(1)), device.CodeInvalidHandle, "0x0"},
		"a narrow table":    {c.Tables(one, 1, ids32(1)), device.CodeBufferTooSmall, "2 entries, and width is 1"},
	} {
		requireCode(t, wrong.code, wrong.err)
		assert.ErrorContains(t, wrong.err, wrong.text, what)
	}
	assert.Equal(t, before, c.Stats())
	require.NoError(t, swap(true, id))
	for _, err := range []error{swap(true, id), appendTo(one, 1), c.Fork(one, ids), c.Publish(one, []uint32{1}, []uint64{1}), c.Tables(one, 9, ids32(9))} {
		requireCode(t, device.CodeInvalidState, err)
		assert.ErrorContains(t, err, "is swapped out")
	}
	requireCode(t, device.CodeBusy, c.Close(false))
	require.NoError(t, c.Close(true))
	require.True(t, c.IsClosed())
	for _, err := range []error{c.Close(true), c.Allocate(Prompts{}, nil, nil), c.Publish(nil, nil, nil), c.Free(one), c.Fork(one, ids),
		c.Truncate(nil, nil), swap(true), swap(false), appendTo(nil), c.Tables(nil, 0, nil), c.Lengths(nil, nil), last(c.Trim(0))} {
		requireCode(t, device.CodeInvalidState, err)
		assert.ErrorContains(t, err, "closed")
	}
}

func ids32(count int) []int32 { return make([]int32, count) }

func last(_ int, err error) error { return err }

func TestRejectsConfigurations(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.BlockTokens = 0 },
		func(c *Config) { c.Blocks = MostBlocks + 1 },
		func(c *Config) { c.HostBlocks = MostBlocks + 1 },
		func(c *Config) { c.Sequences = 0 },
		func(c *Config) { c.SequenceTokens = MostTokens + 1 },
		func(c *Config) { c.WindowTokens = MostTokens + 1 },
		func(c *Config) { c.Sequences, c.SequenceTokens = MostSequences, 1<<20 },
	} {
		config := small()
		change(&config)
		_, err := New(config, nil)
		requireCode(t, device.CodeInvalidConfig, err)
	}
}

// A swap in needs no copy of blocks that are still published on the device.
func TestSwapsInByHash(t *testing.T) {
	c := newCache(t, small(), nil)
	id, _ := allocate(t, c, 10)
	require.NoError(t, c.Publish([]Sequence{id}, []uint32{2}, []uint64{5, 6}))
	_, copied, err := c.SwapOut([]Sequence{id}, 2)
	requireCode(t, device.CodeBufferTooSmall, err)
	require.Equal(t, 3, copied)
	_, _, err = c.SwapOut([]Sequence{id}, 3)
	require.NoError(t, err)
	assert.EqualValues(t, 2, c.Stats().CachedBlocks)
	_, copied, err = c.SwapIn([]Sequence{id}, 0)
	requireCode(t, device.CodeBufferTooSmall, err)
	require.Equal(t, 1, copied)
	_, copied, err = c.SwapIn([]Sequence{id}, 1)
	require.NoError(t, err)
	require.Equal(t, 1, copied)
	assert.Zero(t, c.Stats().HostUsedBlocks)
	check(t, c)
}

// The function that learns of a level may change the cache, and is not called inside of itself.
func TestReportsLevels(t *testing.T) {
	config := small()
	config.Blocks = 10
	c := newCache(t, config, nil)
	var levels []pressure.Level
	var made []Sequence
	listener := c.OnLevel(func(level pressure.Level) {
		levels = append(levels, level)
		if level == pressure.Critical {
			require.NoError(t, c.Free(made[:1]))
			made = made[1:]
		}
	})
	for range 10 {
		var id [1]Sequence
		made = append(made, 1<<32|Sequence(len(made)))
		if len(made) > 8 {
			break
		}
		require.NoError(t, c.Allocate(Prompts{Tokens: []uint32{5}}, id[:], nil))
		made[len(made)-1] = id[0]
		if c.Stats().UsedBlocks == 8 {
			break
		}
	}
	assert.Equal(t, []pressure.Level{pressure.Medium, pressure.High}, levels)
	next := []Sequence{0}
	require.NoError(t, c.Allocate(Prompts{Tokens: []uint32{8}}, next, nil))
	assert.Equal(t, []pressure.Level{pressure.Medium, pressure.High, pressure.Critical, pressure.High}, levels)
	listener.Remove(false)
	require.NoError(t, c.Free(next))
	assert.Len(t, levels, 4)
}

// Threads that share a cache of a store that grows see whole steps.
func TestThreadsShareACache(t *testing.T) {
	config := small()
	m := newMemory(t, config, 2, 0)
	locked := &lockedMemory{memory: m}
	c := newCache(t, config, locked)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 300 {
				ids := make([]Sequence, 2)
				if c.Allocate(Prompts{Tokens: []uint32{9, 3}}, ids, nil) != nil {
					continue
				}
				_, _, _ = c.Append(ids, nil, 0)
				_, _ = c.Reclaim(4)
				_ = c.Stats()
				assert.NoError(t, c.Free(ids))
			}
		})
	}
	all.Wait()
	_, err := c.Trim(0)
	require.NoError(t, err)
	assert.EqualValues(t, 24, c.Stats().UnmappedBlocks)
	require.NoError(t, c.Close(false))
}

// lockedMemory is memory for several threads.
type lockedMemory struct {
	mu sync.Mutex
	*memory
}

func (m *lockedMemory) Map(chunks []uint32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.memory.Map(chunks)
}

func (m *lockedMemory) Unmap(chunks []uint32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.memory.Unmap(chunks)
}

func (m *lockedMemory) KeepAwake() (func(), error) { return func() {}, nil }

// The numbers of calls may start again.
func TestCallsAreNumberedAgain(t *testing.T) {
	c := newCache(t, small(), nil)
	id, _ := allocate(t, c, 6)
	_, _, err := c.Append([]Sequence{id}, nil, 0)
	require.NoError(t, err)
	c.turn = math.MaxUint32
	_, _, err = c.Append([]Sequence{id}, nil, 0)
	require.NoError(t, err)
	require.EqualValues(t, 1, c.turn)
	c.sequences[0].generation = math.MaxUint32
	require.NoError(t, c.Free([]Sequence{math.MaxUint32 << 32}))
	next, _ := allocate(t, c, 1)
	require.EqualValues(t, 1<<32, next)
}

// Sleeping memory makes calls fail that would use blocks.
func TestMemorySleeps(t *testing.T) {
	m := newMemory(t, small(), 8, 1)
	c := newCache(t, small(), m)
	id, _ := allocate(t, c, 6)
	m.asleep = true
	_, _, err := c.Append([]Sequence{id}, nil, 0)
	requireCode(t, device.CodeBusy, err)
	requireCode(t, device.CodeBusy, c.Allocate(Prompts{Tokens: []uint32{1}}, make([]Sequence, 1), nil))
	_, _, err = c.SwapOut([]Sequence{id}, 0)
	requireCode(t, device.CodeBusy, err)
	_, _, err = c.SwapIn([]Sequence{id}, 0)
	requireCode(t, device.CodeBusy, err)
	m.asleep = false
	_, _, err = c.Append([]Sequence{id}, nil, 0)
	require.NoError(t, err)
}

// An append of one token to each of 256 sequences allocates nothing.
func TestAppendAllocatesNothing(t *testing.T) {
	config := Config{BlockTokens: 16, Blocks: 256 * 70, Sequences: 256, SequenceTokens: 1024}
	c := newCache(t, config, nil)
	ids := make([]Sequence, 256)
	require.NoError(t, c.Allocate(Prompts{Tokens: make([]uint32, 256)}, ids, nil))
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		if _, _, err := c.Append(ids, nil, 0); err != nil {
			t.Fatal(err)
		}
	}))
}

func BenchmarkAppend(b *testing.B) {
	config := Config{BlockTokens: 16, Blocks: 256 * 64, Sequences: 256, SequenceTokens: 1024}
	c, err := New(config, nil)
	require.NoError(b, err)
	ids, lengths := make([]Sequence, 256), make([]uint32, 256)
	require.NoError(b, c.Allocate(Prompts{Tokens: lengths}, ids, nil))
	step := 0
	for b.Loop() {
		if _, _, err := c.Append(ids, nil, 0); err != nil {
			b.Fatal(err)
		}
		if step++; step == 1000 {
			step = 0
			require.NoError(b, c.Truncate(ids, lengths))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/sequence")
}
