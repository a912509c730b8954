package kvcache

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// errInjected is the failure of a call of the store.
var errInjected = device.Errorf(device.CodeDevice, "store", "injected")

// memory is a store whose blocks are cells of this process, one for each token. The number in a cell names the
// prefix whose token it is.
type memory struct {
	t            require.TestingT
	tokens       int
	chunk        uint32
	always       uint32
	cells, host  [][]uint64
	mapped       map[uint32]bool
	calls        int
	failAt       int
	asleep       bool
	awake        int
	maps, unmaps int
	// most bounds the chunks that are mapped; 0: no bound.
	most int
}

// newMemory makes memory without a chunk, except the first ones that are always mapped.
func newMemory(t require.TestingT, c Config, chunk, always uint32) *memory {
	m := &memory{t: t, tokens: int(c.BlockTokens), chunk: chunk, always: always, mapped: map[uint32]bool{}}
	m.cells, m.host = make([][]uint64, c.Blocks), make([][]uint64, c.HostBlocks)
	for at := range m.host {
		m.host[at] = make([]uint64, c.BlockTokens)
	}
	for at := range always {
		m.set(at, true)
	}
	return m
}

func (m *memory) set(chunk uint32, isMapped bool) {
	m.mapped[chunk] = isMapped
	for id := chunk * m.chunk; id < min((chunk+1)*m.chunk, uint32(len(m.cells))); id++ {
		if m.cells[id] = nil; isMapped {
			m.cells[id] = make([]uint64, m.tokens)
		}
	}
}

// call counts a call, and fails the one that is chosen.
func (m *memory) call() error {
	if m.calls++; m.calls == m.failAt {
		return errInjected
	}
	return nil
}

func (m *memory) ChunkBlocks() uint32 { return m.chunk }
func (m *memory) Always() uint32      { return m.always }

func (m *memory) Map(chunks []uint32) error {
	m.maps++
	held := len(chunks)
	for _, isMapped := range m.mapped {
		if isMapped {
			held++
		}
	}
	if m.most > 0 && held > m.most {
		return device.Errorf(device.CodeOutOfPhysicalMemory, "store", "full")
	}
	return m.move(chunks, true)
}

func (m *memory) Unmap(chunks []uint32) error {
	m.unmaps++
	return m.move(chunks, false)
}

func (m *memory) move(chunks []uint32, isMapped bool) error {
	if err := m.call(); err != nil {
		return err
	}
	for _, chunk := range chunks {
		require.Equal(m.t, !isMapped, m.mapped[chunk], "chunk %d", chunk)
		m.set(chunk, isMapped)
	}
	return nil
}

func (m *memory) Copy(direction Direction, copies []Copy) error {
	if err := m.call(); err != nil {
		return err
	}
	from, to := m.cells, m.cells
	switch direction {
	case ToHost:
		to = m.host
	case FromHost:
		from = m.host
	}
	targets := map[int32]bool{}
	for _, pair := range copies {
		require.False(m.t, targets[pair.To], "two copies to block %d", pair.To)
		targets[pair.To] = true
		require.Equal(m.t, m.tokens, copy(to[pair.To], from[pair.From]))
	}
	return nil
}

func (m *memory) KeepAwake() (func(), error) {
	if err := m.call(); err != nil {
		return nil, err
	}
	if m.asleep {
		return nil, device.Errorf(device.CodeBusy, "store", "asleep")
	}
	m.awake++
	return func() { m.awake-- }, nil
}

func (m *memory) Close(mapped []uint32) error {
	if err := m.call(); err != nil {
		return err
	}
	for _, chunk := range mapped {
		require.True(m.t, m.mapped[chunk])
		m.set(chunk, false)
	}
	for chunk, isMapped := range m.mapped {
		require.False(m.t, isMapped, "chunk %d", chunk)
	}
	return nil
}

// check compares all tables and counters of a cache with what the block tables say.
func check(t require.TestingT, c *Cache) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refs, hostRefs := make([]int32, len(c.blocks)), make([]int32, len(c.host))
	n := counts{free: c.counts.free}
	for at := range c.sequences {
		s := &c.sequences[at]
		if !s.live {
			continue
		}
		n.live++
		n.tokens += uint64(s.tokens)
		require.LessOrEqual(t, s.first, s.count)
		require.Equal(t, (s.tokens+c.config.BlockTokens-1)/c.config.BlockTokens, s.count)
		for i, id := range c.row(int32(at))[s.first:s.count] {
			require.NotEqual(t, int32(none), id, "entry %d", i)
			if s.swapped {
				hostRefs[id]++
				continue
			}
			refs[id]++
			n.references++
		}
		if s.swapped {
			n.swapped++
		} else if s.exclusive && s.tokens%c.config.BlockTokens != 0 {
			last := &c.blocks[c.row(int32(at))[s.count-1]]
			require.True(t, last.refs == 1 && !last.published)
		}
	}
	for id := range c.host {
		require.Equal(t, hostRefs[id], c.host[id].refs, "host block %d", id)
		if hostRefs[id] > 0 {
			n.hostUsed++
		}
	}
	states := map[state]int{}
	for id := range c.blocks {
		b := &c.blocks[id]
		states[b.state]++
		require.Equal(t, refs[id], b.refs, "block %d", id)
		require.Equal(t, refs[id] > 0, b.state == used, "block %d", id)
		require.False(t, b.state == cached && !b.published, "block %d", id)
		if b.published {
			n.published++
			require.Equal(t, int32(id), c.find(b.hash))
			require.Contains(t, []state{used, cached}, b.state)
		}
	}
	now := c.counts
	require.Equal(t, [...]int{states[free], states[used], states[cached], states[unmapped]}, [...]int{now.free, now.used, now.cached, now.unmapped})
	require.Equal(t, [...]int{n.live, n.swapped, n.references, n.hostUsed, n.published, int(n.tokens)},
		[...]int{now.live, now.swapped, now.references, now.hostUsed, now.published, int(now.tokens)})
	listed := 0
	for id := c.oldest; id != none; id = c.blocks[id].next {
		require.Equal(t, cached, c.blocks[id].state)
		listed++
	}
	require.Equal(t, now.cached, listed)
	checkChunks(t, c)
}

func checkChunks(t require.TestingT, c *Cache) {
	for at := range c.chunks {
		home := &c.chunks[at]
		frees, users := int32(0), int32(0)
		for id := home.head; id != none; id = c.blocks[id].next {
			require.Equal(t, free, c.blocks[id].state)
			frees++
		}
		for id := uint32(at) * c.chunkBlocks; id < uint32(at)*c.chunkBlocks+uint32(home.blocks); id++ {
			if c.blocks[id].state == used {
				users++
			}
			require.Equal(t, home.mapped == chunkUnmapped, c.blocks[id].state == unmapped)
		}
		require.Equal(t, [2]int32{frees, users}, [2]int32{home.frees, home.used})
		require.True(t, frees == 0 || c.lowest <= uint32(at))
	}
	if m, is := c.store.(*memory); is {
		for at := range c.chunks {
			require.Equal(t, c.chunks[at].mapped == chunkMapped, m.mapped[uint32(at)])
		}
		require.Zero(t, m.awake)
	}
}

// small is a configuration whose blocks are soon used up.
func small() Config {
	return Config{BlockTokens: 4, Blocks: 24, HostBlocks: 10, Sequences: 8, SequenceTokens: 40, HashSeed: 7}
}

func newCache(t *testing.T, config Config, store Store) *Cache {
	c, err := New(config, store)
	require.NoError(t, err)
	return c
}

// allocate makes one sequence.
func allocate(t *testing.T, c *Cache, tokens uint32, hashes ...uint64) (Sequence, uint32) {
	t.Helper()
	var id [1]Sequence
	var shared [1]uint32
	require.NoError(t, c.Allocate(Prompts{Tokens: []uint32{tokens}, HashCounts: []uint32{uint32(len(hashes))}, Hashes: hashes}, id[:], shared[:]))
	return id[0], shared[0]
}

// table returns the block table of a sequence.
func table(t require.TestingT, c *Cache, id Sequence) []int32 {
	entries, length := make([]int32, c.width), make([]uint32, 1)
	require.NoError(t, c.Tables([]Sequence{id}, int(c.width), entries))
	require.NoError(t, c.Lengths([]Sequence{id}, length))
	return entries[:(length[0]+c.config.BlockTokens-1)/c.config.BlockTokens]
}

func requireCode(t require.TestingT, code device.Code, err error) {
	require.True(t, errors.Is(err, code), "%v", err)
}
