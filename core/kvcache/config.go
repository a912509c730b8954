package kvcache

import (
	"math/bits"

	"ferrum_mem/core/device"
)

// Bounds of a Config. They bound the memory of the tables of a cache.
const (
	// MostBlocks bounds Blocks and HostBlocks.
	MostBlocks = 1 << 22
	// MostSequences bounds Sequences.
	MostSequences = 1 << 16
	// MostTokens bounds BlockTokens, SequenceTokens and WindowTokens.
	MostTokens = 1 << 26
	// mostEntries bounds the entries of all block tables.
	mostEntries = 1 << 27
)

// Config describes a cache.
type Config struct {
	// BlockTokens is the number of tokens of a block.
	BlockTokens uint32
	// Blocks is the largest number of blocks of the device.
	Blocks uint32
	// HostBlocks is the number of blocks of the host, for sequences that are swapped out; 0: none.
	HostBlocks uint32
	// Sequences is the largest number of sequences.
	Sequences uint32
	// SequenceTokens is the largest number of tokens of a sequence.
	SequenceTokens uint32
	// WindowTokens is the length of the sliding window; 0: each token uses all tokens before it.
	WindowTokens uint32
	// HashSeed is the seed of Hash. Caches with the same seed compute the same hashes.
	HashSeed uint64
}

// width returns the number of entries of a block table.
func (c *Config) width() uint32 { return (c.SequenceTokens + c.BlockTokens - 1) / c.BlockTokens }

// reach returns the first position that a token at a position uses.
func (c *Config) reach(position uint32) uint32 {
	if c.WindowTokens == 0 || position < c.WindowTokens {
		return 0
	}
	return position - c.WindowTokens + 1
}

func (c *Config) check(op string) error {
	wrong := func(name string, value, least, most uint32) error {
		return device.Errorf(device.CodeInvalidConfig, op, "%s is %d: want %d to %d", name, value, least, most)
	}
	switch {
	case c.BlockTokens < 1 || c.BlockTokens > MostTokens:
		return wrong("block_tokens", c.BlockTokens, 1, MostTokens)
	case c.Blocks < 1 || c.Blocks > MostBlocks:
		return wrong("blocks", c.Blocks, 1, MostBlocks)
	case c.HostBlocks > MostBlocks:
		return wrong("host_blocks", c.HostBlocks, 0, MostBlocks)
	case c.Sequences < 1 || c.Sequences > MostSequences:
		return wrong("sequences", c.Sequences, 1, MostSequences)
	case c.SequenceTokens < 1 || c.SequenceTokens > MostTokens:
		return wrong("sequence_tokens", c.SequenceTokens, 1, MostTokens)
	case c.WindowTokens > MostTokens:
		return wrong("window_tokens", c.WindowTokens, 0, MostTokens)
	case uint64(c.width())*uint64(c.Sequences) > mostEntries:
		return device.Errorf(device.CodeInvalidConfig, op, "%d block tables of %d entries: want at most %d entries", c.Sequences, c.width(), mostEntries)
	}
	return nil
}

// Hash computes the hashes of whole blocks of tokens, into hashes. The hash of a block depends on the
// tokens of the block and on parent, which is the hash of the block before it; 0 for the first block of a
// sequence. tokens has len(hashes) blocks. Two different prefixes have the same hash with a probability of
// 2^-64. A program that must exclude that computes hashes of its own.
func (c *Config) Hash(parent uint64, tokens []int32, hashes []uint64) {
	for at := range hashes {
		parent = mix(parent^c.HashSeed, 0x9e3779b97f4a7c15)
		for _, token := range tokens[at*int(c.BlockTokens) : (at+1)*int(c.BlockTokens)] {
			parent = mix(parent^uint64(uint32(token)), 0xd1342543de82ef95)
		}
		hashes[at] = parent
	}
}

// mix multiplies and folds the product. The addition keeps 0 from staying 0.
func mix(value, factor uint64) uint64 {
	high, low := bits.Mul64(value+0x2545f4914f6cdd1d, factor)
	return high ^ low
}
