package pool

import (
	"math"

	"ferrum_mem/core/internal/offheap"
)

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
