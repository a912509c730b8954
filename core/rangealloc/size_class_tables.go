package rangealloc

import (
	"math/bits"

	"ferrum_mem/core/internal/offheap"
)

// noSlab ends lists of slabs.
const noSlab = ^uint32(0)

// quarters is the number of lists of a class; its slabs are in them by how full they are.
const (
	quarters = 4
	unlisted = quarters
)

// slab is one slab, in 24 bytes; its bits and slots are in separate tables.
type slab struct {
	// start is its first granule.
	start uint64
	// prev and next are its neighbours in its list; next is also used by the list of
	// spare records.
	prev, next uint32
	// record is the record of its run in best_fit.
	record uint32
	live   uint16
	class  uint8
	list   uint8
}

// slabTable has all slabs. It finds the slab that contains a granule by a hash table with
// open addressing. The key is the granule's address in units of the slab length.
type slabTable struct {
	all   []slab
	words []uint64
	// chunks are the slots of a slab's blocks, slotChunk of them in each.
	chunks []uint32
	// cells are slabs by the hash of their address; noSlab where there is none.
	cells               []uint32
	wordsPer, chunksPer uint64
	base                uint64
	shift, hashShift    uint
	spare               uint32
	count               uint64

	allMemory   offheap.Table[slab]
	wordMemory  offheap.Table[uint64]
	chunkMemory offheap.Table[uint32]
}

const firstCells = 16

func newSlabTable(base uint64, slabShift uint) slabTable {
	blocks := uint64(1) << slabShift
	t := slabTable{
		base: base, shift: slabShift, spare: noSlab,
		wordsPer: (blocks + 63) / 64, chunksPer: (blocks + slotChunk - 1) / slotChunk,
	}
	t.setCells(firstCells)
	return t
}

func (t *slabTable) setCells(count uint64) {
	t.cells = make([]uint32, count)
	for i := range t.cells {
		t.cells[i] = noSlab
	}
	t.hashShift = 64 - uint(bits.TrailingZeros64(count))
}

// home returns the cell where the search for a granule starts.
func (t *slabTable) home(granule uint64) uint64 {
	return (t.base + granule) >> t.shift * 0x9e3779b97f4a7c15 >> t.hashShift
}

// find returns the slab whose slab length of addresses contains a granule. The slab may
// end before the granule.
func (t *slabTable) find(granule uint64) uint32 {
	mask := uint64(len(t.cells)) - 1
	for at := t.home(granule); ; at = (at + 1) & mask {
		id := t.cells[at]
		if id == noSlab || (granule-t.all[id].start)>>t.shift == 0 {
			return id
		}
	}
}

// reserve makes sure that add succeeds. It returns CodeResourceExhausted if there is no
// memory for another slab.
func (t *slabTable) reserve() error {
	if t.spare != noSlab {
		return nil
	}
	want := len(t.all) + 1
	if err := t.allMemory.Grow(&t.all, want); err != nil {
		return err
	}
	if err := t.wordMemory.Grow(&t.words, want*int(t.wordsPer)); err != nil {
		return err
	}
	return t.chunkMemory.Grow(&t.chunks, want*int(t.chunksPer))
}

func (t *slabTable) close() {
	t.allMemory.Free(&t.all)
	t.wordMemory.Free(&t.words)
	t.chunkMemory.Free(&t.chunks)
}

// add creates a slab whose blocks are all free. The caller has called reserve.
func (t *slabTable) add(start uint64, record uint32, class int, count uint32) uint32 {
	if 2*(t.count+1) > uint64(len(t.cells)) {
		old := t.cells
		t.setCells(2 * uint64(len(old)))
		for _, id := range old {
			if id != noSlab {
				t.enter(id)
			}
		}
	}
	id := t.spare
	if id != noSlab {
		t.spare = t.all[id].next
	} else {
		id = uint32(len(t.all))
		t.all = t.all[:id+1]
		t.words = t.words[:uint64(id+1)*t.wordsPer]
		t.chunks = t.chunks[:uint64(id+1)*t.chunksPer]
	}
	t.all[id] = slab{start: start, record: record, class: uint8(class), list: unlisted}
	words := t.wordsOf(id)
	for i := range words {
		words[i] = 1<<min(count, 64) - 1
		count -= min(count, 64)
	}
	t.count++
	t.enter(id)
	return id
}

func (t *slabTable) enter(id uint32) {
	mask := uint64(len(t.cells)) - 1
	at := t.home(t.all[id].start)
	for t.cells[at] != noSlab {
		at = (at + 1) & mask
	}
	t.cells[at] = id
}

// drop removes a slab. The cells behind it move up, so that no search ends too early.
func (t *slabTable) drop(id uint32) {
	mask := uint64(len(t.cells)) - 1
	at := t.home(t.all[id].start)
	for t.cells[at] != id {
		at = (at + 1) & mask
	}
	for next := (at + 1) & mask; t.cells[next] != noSlab; next = (next + 1) & mask {
		if home := t.home(t.all[t.cells[next]].start); (next-home)&mask >= (next-at)&mask {
			t.cells[at] = t.cells[next]
			at = next
		}
	}
	t.cells[at] = noSlab
	t.all[id] = slab{next: t.spare, list: unlisted}
	t.spare = id
	t.count--
}

// wordsOf returns the bits of a slab's free blocks.
func (t *slabTable) wordsOf(id uint32) []uint64 {
	return t.words[uint64(id)*t.wordsPer:][:t.wordsPer]
}

func (t *slabTable) isFree(id, index uint32) bool {
	return t.words[uint64(id)*t.wordsPer+uint64(index>>6)]>>(index&63)&1 != 0
}

// chunksOf returns the slots of a slab of count blocks.
func (t *slabTable) chunksOf(id, count uint32) []uint32 {
	return t.chunks[uint64(id)*t.chunksPer:][:(count+slotChunk-1)/slotChunk]
}

// slot returns the slot of a block.
func (t *slabTable) slot(id, index uint32) uint32 {
	return t.chunks[uint64(id)*t.chunksPer+uint64(index/slotChunk)]*slotChunk + index%slotChunk
}

func (t *slabTable) push(head *uint32, id uint32) {
	t.all[id].prev, t.all[id].next = noSlab, *head
	if *head != noSlab {
		t.all[*head].prev = id
	}
	*head = id
}

func (t *slabTable) unlink(head *uint32, id uint32) {
	prev, next := t.all[id].prev, t.all[id].next
	if prev == noSlab {
		*head = next
	} else {
		t.all[prev].next = next
	}
	if next != noSlab {
		t.all[next].prev = prev
	}
}

// slotChunk is the number of slots that are allocated together.
const slotChunk = 16

// slotChunks combines two kinds of slots in one number space: the records of best_fit,
// and the blocks of slabs. Both allocate slots in chunks. Slabs free theirs; records,
// whose number never decreases, keep them.
type slotChunks struct {
	next  uint32
	spare []uint32
	// records are the chunks of the records of best_fit.
	records []uint32

	spareMemory offheap.Table[uint32]
}

// reserve makes sure that a slab can allocate count chunks and free them. It returns
// CodeResourceExhausted if there is no memory for that.
func (c *slotChunks) reserve(count int) error {
	if want := int(c.next) - len(c.records) + count; want > cap(c.spare) {
		return c.spareMemory.Grow(&c.spare, want)
	}
	return nil
}

func (c *slotChunks) close() { c.spareMemory.Free(&c.spare) }

func (c *slotChunks) one() uint32 {
	if last := len(c.spare) - 1; last >= 0 {
		chunk := c.spare[last]
		c.spare = c.spare[:last]
		return chunk
	}
	c.next++
	return c.next - 1
}

func (c *slotChunks) take(to []uint32) {
	for i := range to {
		to[i] = c.one()
	}
}

// give frees chunks of a slab.
func (c *slotChunks) give(chunks []uint32) {
	had := len(c.spare)
	c.spare = c.spare[:had+len(chunks)]
	copy(c.spare[had:], chunks)
}

// ofRecord returns the slot of a record of best_fit.
func (c *slotChunks) ofRecord(record uint32) uint32 {
	for uint32(len(c.records)) <= record/slotChunk {
		c.records = append(c.records, c.one())
	}
	return slotIn(c.records, record)
}

func slotIn(chunks []uint32, index uint32) uint32 {
	return chunks[index/slotChunk]*slotChunk + index%slotChunk
}
