package kvcache

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// naive is the oracle: it keeps for each sequence the tokens themselves. The cell of a token must have the
// number of the prefix that ends with the token. So a cell names the sequences that may use it.
type naive struct {
	t         *rapid.T
	cache     *Cache
	memory    *memory
	config    Config
	sequences []*told
	freed     []Sequence
}

// told is a sequence as the oracle knows it.
type told struct {
	id      Sequence
	tokens  []int32
	swapped bool
	// whole is the number of blocks that were published or shared.
	whole int
}

// prefixes returns the number of each prefix of tokens.
func prefixes(tokens []int32) []uint64 {
	numbers, now := make([]uint64, len(tokens)), uint64(1)
	for at, token := range tokens {
		now = mix(now^uint64(token), 0xd1342543de82ef95)
		numbers[at] = now
	}
	return numbers
}

func (n *naive) hashes(tokens []int32) []uint64 {
	hashes := make([]uint64, len(tokens)/int(n.config.BlockTokens))
	n.config.Hash(0, tokens, hashes)
	return hashes
}

// write writes the cells of tokens from a position on.
func (n *naive) write(s *told, from int) {
	if from == len(s.tokens) {
		return
	}
	entries, numbers := table(n.t, n.cache, s.id), prefixes(s.tokens)
	for at := from; at < len(s.tokens); at++ {
		n.memory.cells[entries[at/n.memory.tokens]][at%n.memory.tokens] = numbers[at]
	}
}

// verify reads the cells of all sequences.
func (n *naive) verify() {
	check(n.t, n.cache)
	for _, s := range n.sequences {
		place := n.cache.place(s.id)
		require.NotEqual(n.t, int32(none), place)
		state, row := &n.cache.sequences[place], n.cache.row(place)
		require.Equal(n.t, len(s.tokens), int(state.tokens))
		require.Equal(n.t, s.swapped, state.swapped)
		cells := n.memory.cells
		if s.swapped {
			cells = n.memory.host
		}
		numbers := prefixes(s.tokens)
		from := 0
		if n.config.WindowTokens > 0 {
			from = max(0, len(s.tokens)-int(n.config.WindowTokens)+1)
		}
		for at := from; at < len(s.tokens); at++ {
			require.Equal(n.t, numbers[at], cells[row[at/n.memory.tokens]][at%n.memory.tokens], "token %d of %#x", at, s.id)
		}
	}
}

// pick chooses sequences, each at most once.
func (n *naive) pick(swapped bool) (list []*told, ids []Sequence) {
	for _, s := range n.sequences {
		if s.swapped == swapped && rapid.Bool().Draw(n.t, "picked") {
			list, ids = append(list, s), append(ids, s.id)
		}
	}
	return list, ids
}

// some are tokens of a small alphabet, so that prefixes are often equal.
func (n *naive) some(most int) []int32 {
	return rapid.SliceOfN(rapid.Int32Range(0, 1), 0, most).Draw(n.t, "tokens")
}

// failed handles the error of a call: nothing that a sequence has may have changed (verify checks it).
func (n *naive) failed(err error, codes ...device.Code) bool {
	if err == nil {
		return false
	}
	ok := errors.Is(err, errInjected) || slices.ContainsFunc(codes, func(code device.Code) bool { return errors.Is(err, code) })
	require.True(n.t, ok, "%v", err)
	return true
}

func (n *naive) allocate() {
	count := rapid.IntRange(1, 3).Draw(n.t, "count")
	p, made := Prompts{}, make([]*told, count)
	for at := range made {
		// Whole blocks of zeros and ones share prefixes often.
		tokens := slices.Repeat([]int32{rapid.Int32Range(0, 1).Draw(n.t, "same")}, 4*rapid.IntRange(0, 4).Draw(n.t, "blocks"))
		made[at] = &told{tokens: append(tokens, n.some(6)...)}
		hashes := n.hashes(made[at].tokens)
		p.Tokens = append(p.Tokens, uint32(len(made[at].tokens)))
		p.HashCounts, p.Hashes = append(p.HashCounts, uint32(len(hashes))), append(p.Hashes, hashes...)
	}
	found := make([]int, count)
	for at, s := range made {
		found[at] = n.cache.Find(n.hashes(s.tokens))
	}
	ids, shared := make([]Sequence, count), make([]uint32, count)
	before := n.cache.Stats()
	if n.failed(n.cache.Allocate(p, ids, shared), device.CodeOutOfMemory, device.CodeResourceExhausted) {
		return
	}
	for at, s := range made {
		s.id, s.whole = ids[at], int(shared[at]/n.config.BlockTokens)
		require.Equal(n.t, found[at], s.whole)
		n.sequences = append(n.sequences, s)
		n.write(s, int(shared[at]))
	}
	require.Equal(n.t, before.Hits+before.Misses+uint64(len(p.Hashes)), n.cache.Stats().Hits+n.cache.Stats().Misses)
}

func (n *naive) append() {
	list, ids := n.pick(false)
	counts, more := make([]uint32, len(list)), make([][]int32, len(list))
	for at := range list {
		more[at] = n.some(6)
		counts[at] = uint32(len(more[at]))
	}
	_, _, err := n.cache.Append(ids, counts, 0)
	if n.failed(err, device.CodeOutOfMemory, device.CodeInvalidOffset) {
		return
	}
	for at, s := range list {
		from := len(s.tokens)
		s.tokens = append(s.tokens, more[at]...)
		n.write(s, from)
	}
}

func (n *naive) publish() {
	list, ids := n.pick(false)
	counts, hashes := make([]uint32, len(list)), []uint64{}
	for at, s := range list {
		all := n.hashes(s.tokens)
		counts[at] = uint32(len(all) - s.whole)
		hashes = append(hashes, all[s.whole:]...)
		s.whole = len(all)
	}
	require.NoError(n.t, n.cache.Publish(ids, counts, hashes))
}

func (n *naive) fork() {
	list, ids := n.pick(false)
	if len(list) > 0 && rapid.Bool().Draw(n.t, "twice") {
		list, ids = append(list, list[0]), append(ids, ids[0])
	}
	children := make([]Sequence, len(ids))
	if n.failed(n.cache.Fork(ids, children), device.CodeResourceExhausted, device.CodeInvalidArgument) {
		return
	}
	for at, s := range list {
		n.sequences = append(n.sequences, &told{id: children[at], tokens: slices.Clone(s.tokens), whole: s.whole})
	}
}

func (n *naive) truncate() {
	list, ids := n.pick(false)
	lengths := make([]uint32, len(list))
	for at, s := range list {
		lengths[at] = uint32(len(s.tokens) - rapid.IntRange(0, min(5, len(s.tokens))).Draw(n.t, "off"))
	}
	if n.failed(n.cache.Truncate(ids, lengths), device.CodeInvalidOffset) {
		require.NotZero(n.t, n.config.WindowTokens)
		return
	}
	for at, s := range list {
		s.tokens = s.tokens[:lengths[at]]
		s.whole = min(s.whole, len(s.tokens)/int(n.config.BlockTokens))
	}
}

func (n *naive) free() {
	list, ids := n.pick(rapid.Bool().Draw(n.t, "swapped"))
	require.NoError(n.t, n.cache.Free(ids))
	n.sequences = slices.DeleteFunc(n.sequences, func(s *told) bool { return slices.Contains(list, s) })
	n.freed = append(n.freed, ids...)
}

func (n *naive) swapOut() {
	list, ids := n.pick(false)
	_, _, err := n.cache.SwapOut(ids, 0)
	if n.failed(err, device.CodeResourceExhausted) {
		return
	}
	for _, s := range list {
		s.swapped = true
	}
}

func (n *naive) swapIn() {
	list, ids := n.pick(true)
	_, _, err := n.cache.SwapIn(ids, 0)
	if n.failed(err, device.CodeOutOfMemory) {
		return
	}
	for _, s := range list {
		s.swapped = false
	}
}

func (n *naive) trim() {
	_, err := n.cache.Trim(rapid.IntRange(0, 6).Draw(n.t, "keep"))
	n.failed(err)
}

func (n *naive) reclaim() {
	_, err := n.cache.Reclaim(rapid.IntRange(0, 12).Draw(n.t, "blocks"))
	n.failed(err)
}

// hostile names a freed sequence.
func (n *naive) hostile() {
	if len(n.freed) == 0 {
		return
	}
	n.memory.failAt = 0
	freed := rapid.SampledFrom(n.freed).Draw(n.t, "freed")
	ids := []Sequence{freed}
	for _, s := range n.sequences {
		if !s.swapped {
			ids = []Sequence{s.id, freed}
		}
	}
	_, _, err := n.cache.Append(ids, nil, 0)
	requireCode(n.t, device.CodeInvalidHandle, err)
	requireCode(n.t, device.CodeInvalidHandle, n.cache.Fork(ids, make([]Sequence, 2)))
	requireCode(n.t, device.CodeInvalidHandle, n.cache.Free(ids))
}

// Random calls, some of which fail at a chosen call of the store, leave each sequence with its own contents.
func TestSequencesKeepTheirContents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := small()
		config.WindowTokens = rapid.SampledFrom([]uint32{0, 0, 1, 3, 4, 9}).Draw(t, "window")
		chunk := rapid.SampledFrom([]uint32{24, 5, 1}).Draw(t, "chunk")
		m := newMemory(t, config, chunk, rapid.Uint32Range(0, 1).Draw(t, "always"))
		m.most = rapid.IntRange(0, 20).Draw(t, "most")
		c, err := New(config, m)
		require.NoError(t, err)
		n := &naive{t: t, cache: c, memory: m, config: config}
		calls := []func(){
			n.allocate, n.append, n.append, n.publish, n.fork, n.truncate, n.free, n.swapOut, n.swapIn, n.trim, n.reclaim, n.hostile,
		}
		for _, at := range rapid.SliceOfN(rapid.IntRange(0, len(calls)-1), 30, 90).Draw(t, "calls") {
			if m.failAt = 0; rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
				m.failAt = m.calls + rapid.IntRange(1, 3).Draw(t, "call")
			}
			calls[at]()
			n.verify()
		}
		m.failAt = 0
		for _, s := range n.sequences {
			require.NoError(t, c.Free([]Sequence{s.id}))
		}
		check(t, c)
		require.Zero(t, c.Stats().UsedBlocks)
		require.NoError(t, c.Close(false))
	})
}
