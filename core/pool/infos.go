package pool

import (
	"math"

	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/track"
)

// blockInfo is the word that a pool stores for each block (see block.go). The low half
// has the fields that most blocks need: state in the low 3 bits, 1 bit that is set if
// further streams use the block, 12 bits of the tag number and 16 bits of the slack. The
// high half has 8 more bits of the tag number and 24 more bits of the slack.
type blockInfo uint64

// blockState states who owns a block of the strategy.
type blockState uint64

const (
	// blockNone means that there is no block.
	blockNone blockState = iota
	blockLive
	// blockInFlight was freed, and queued work may still use it.
	blockInFlight
	// blockLeased belongs to the thread caches in front of the pool.
	blockLeased
	// blockLeaving is live or leased, and a free that has begun names it.
	blockLeaving
	// blockBare becomes a live block when its pages are mapped.
	blockBare
	// blockClaimed is the reserved target of a move.
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

// recorded reports whether RecordStream named streams for the block.
func (i blockInfo) recorded() bool { return i&recordedBit != 0 }

func (i blockInfo) tag() uint32 {
	return uint32(i>>tagShift)%(1<<tagLowBits) | uint32(i>>tagHighShift&tagHighMask)<<tagLowBits
}

// plainLive reports whether the block is live and only its own stream uses it.
func (i blockInfo) plainLive() bool { return i&(stateMask|recordedBit) == blockInfo(blockLive) }

// slack is the size of the block minus the requested size.
func (i blockInfo) slack() uint64 {
	return uint64(i>>slackShift)%(1<<slackLowBits) | uint64(i>>slackHighShift)<<slackLowBits
}

func (i blockInfo) with(state blockState) blockInfo { return i&^stateMask | blockInfo(state) }

// infoTable has the blockInfo of each block of a segment, by slot. A strategy with exact
// sizes makes no block longer than its granule requires; for it, an entry has four bytes
// and only unusual blocks need more. For all other strategies an entry has eight bytes.
// The table moves when it is extended.
type infoTable struct {
	// slots is the number of slots that the table has room for.
	slots uint32
	// narrow is set if words is used; otherwise infos is used.
	narrow     bool
	words      []infoWord
	infos      []blockInfo
	wordMemory offheap.Table[infoWord]
	infoMemory offheap.Table[blockInfo]
	large      map[uint32]blockInfo
}

// infoWord is the low half of a blockInfo whose high half is 0, or wordLarge.
type infoWord uint32

// wordLarge, in the bits of the state, means that the info is in the map.
const wordLarge = stateMask

// newInfoTable creates the table. exactSizes is set for a strategy that implements
// rangealloc.ExactSizes.
func newInfoTable(exactSizes bool) infoTable {
	return infoTable{narrow: exactSizes}
}

// infoAt returns the info of a slot below slots.
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

// setOdd is the slow part of setInfo: the info or the present entry needs more than a
// short word.
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

// extend makes room for at least the given number of slots.
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

// free releases the memory of the table.
func (t *infoTable) free() {
	t.wordMemory.Free(&t.words)
	t.infoMemory.Free(&t.infos)
}
