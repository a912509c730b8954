package pool

import (
	"math"

	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/track"
)

// blockInfo is that word, with what most blocks need in its low half: state in
// the low 3 bits, then one bit for a block that further streams use, 12 for the
// number of the tag and 16 for the slack; in the high half 8 more for the tag and
// 24 for the slack.
type blockInfo uint64

// blockState says whose a block of the strategy is.
type blockState uint64

const (
	// blockNone is no block.
	blockNone blockState = iota
	blockLive
	// blockInFlight is freed, and queued work may still use it.
	blockInFlight
	// blockLeased is with the caches in front of the pool.
	blockLeased
	// blockLeaving is live or leased and named by a free under way.
	blockLeaving
	// blockBare is to become one when its pages are mapped.
	blockBare
	// blockClaimed is a place that a block is to be moved to.
	blockClaimed
)

const (
	stateMask      = 7
	recordedBit    = 1 << 3
	tagShift       = 4
	tagLowBits     = 12
	slackShift     = 16
	slackLowBits   = 16
	tagHighShift   = 32
	tagHighMask    = track.MaxTags>>tagLowBits - 1
	slackHighShift = 40
	maxSlackBytes  = 1<<40 - 1
)

func makeInfo(state blockState, tag uint32, slack uint64) blockInfo {
	low := uint64(state) | uint64(tag)%(1<<tagLowBits)<<tagShift | slack%(1<<slackLowBits)<<slackShift
	return blockInfo(low | uint64(tag)>>tagLowBits<<tagHighShift | slack>>slackLowBits<<slackHighShift)
}

func (i blockInfo) state() blockState { return blockState(i & stateMask) }

// recorded says that RecordStream named streams for the block.
func (i blockInfo) recorded() bool { return i&recordedBit != 0 }

func (i blockInfo) tag() uint32 {
	return uint32(i>>tagShift)%(1<<tagLowBits) | uint32(i>>tagHighShift&tagHighMask)<<tagLowBits
}

// plainLive is live, and used by no stream but its own.
func (i blockInfo) plainLive() bool { return i&(stateMask|recordedBit) == blockInfo(blockLive) }

// slack is the size of the block less what was asked for.
func (i blockInfo) slack() uint64 {
	return uint64(i>>slackShift)%(1<<slackLowBits) | uint64(i>>slackHighShift)<<slackLowBits
}

func (i blockInfo) with(state blockState) blockInfo { return i&^stateMask | blockInfo(state) }

// infoTable has what a segment knows of its blocks, by slot: four bytes a block
// for a strategy that makes blocks no longer than their granule asks for, where
// only odd ones need more, and eight for any other. It moves when it is extended.
type infoTable struct {
	// slots is how many the table has room for.
	slots uint32
	// narrow says that words is in use, else infos.
	narrow     bool
	words      []infoWord
	infos      []blockInfo
	wordMemory offheap.Table[infoWord]
	infoMemory offheap.Table[blockInfo]
	large      map[uint32]blockInfo
}

// infoWord is the low half of a blockInfo whose high half is 0, or wordLarge.
type infoWord uint32

// wordLarge says, where the state is else, that the slot is in the map.
const wordLarge = stateMask

// newInfoTable makes the table for a strategy, which may be a rangealloc.ExactSizes.
func newInfoTable(exactSizes bool) infoTable {
	return infoTable{narrow: exactSizes}
}

// infoAt is what is known of a slot that the table has.
func (t *infoTable) infoAt(slot uint32) blockInfo {
	if t.narrow {
		if word := t.words[slot]; word&stateMask != wordLarge {
			return blockInfo(word)
		}
		return t.large[slot]
	}
	return t.infos[slot]
}

func (t *infoTable) setInfo(slot uint32, info blockInfo) {
	if t.narrow && info <= math.MaxUint32 && t.words[slot]&stateMask != wordLarge {
		t.words[slot] = infoWord(info)
		return
	}
	t.setOdd(slot, info)
}

// setOdd is setInfo where it takes more than a short word.
func (t *infoTable) setOdd(slot uint32, info blockInfo) {
	switch {
	case !t.narrow:
		t.infos[slot] = info
	case info <= math.MaxUint32:
		delete(t.large, slot)
		t.words[slot] = infoWord(info)
	default:
		if t.large == nil {
			t.large = make(map[uint32]blockInfo)
		}
		t.large[slot] = info
		t.words[slot] = wordLarge
	}
}

// extend gives the table room for so many slots at least.
func (t *infoTable) extend(room int) error {
	if t.narrow {
		if err := t.wordMemory.Grow(&t.words, room); err != nil {
			return err
		}
		t.words = t.words[:cap(t.words)]
		t.slots = uint32(min(cap(t.words), math.MaxUint32))
		return nil
	}
	if err := t.infoMemory.Grow(&t.infos, room); err != nil {
		return err
	}
	t.infos = t.infos[:cap(t.infos)]
	t.slots = uint32(min(cap(t.infos), math.MaxUint32))
	return nil
}

// free gives the memory back.
func (t *infoTable) free() {
	t.wordMemory.Free(&t.words)
	t.infoMemory.Free(&t.infos)
}
