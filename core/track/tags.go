package track

import (
	"cmp"
	"slices"
)

// TagUse is what the live blocks of one tag hold.
type TagUse struct {
	Tag            string `json:"tag"`
	RequestedBytes uint64 `json:"requested_bytes"`
	AllocatedBytes uint64 `json:"allocated_bytes"`
	Blocks         uint64 `json:"blocks"`
}

// keptTags is how many tags without a block stay known, so that a tag that
// comes and goes costs no new entry each time.
const keptTags = 64

// Tags counts use by tag for one pool, under the pool's lock. A tag is a small
// number while it has blocks; the number of one without may be given to another
// tag, so that made-up tags without end do not grow the table without end.
type Tags struct {
	uses    []TagUse
	numbers map[string]uint32
	// spare holds the numbers that no tag has.
	spare []uint32
	// last is the number that was asked for last: most calls repeat it.
	last uint32
}

// Enter counts a block of a tag and gives the tag's number, which Leave wants.
func (t *Tags) Enter(tag string, block Block) uint32 {
	number := t.intern(tag)
	use := &t.uses[number]
	use.RequestedBytes += block.RequestedBytes
	use.AllocatedBytes += block.AllocatedBytes
	use.Blocks++
	return number
}

// Leave takes a block out again.
func (t *Tags) Leave(number uint32, block Block) {
	use := &t.uses[number]
	use.RequestedBytes -= block.RequestedBytes
	use.AllocatedBytes -= block.AllocatedBytes
	use.Blocks--
	if use.Blocks == 0 && len(t.numbers) > keptTags {
		delete(t.numbers, use.Tag)
		use.Tag = ""
		t.spare = append(t.spare, number)
	}
}

// Name is the tag of a number that has blocks.
func (t *Tags) Name(number uint32) string { return t.uses[number].Tag }

// Uses appends every tag that has blocks.
func (t *Tags) Uses(to []TagUse) []TagUse {
	for _, use := range t.uses {
		if use.Blocks != 0 {
			to = append(to, use)
		}
	}
	return to
}

func (t *Tags) intern(tag string) uint32 {
	if int(t.last) < len(t.uses) {
		// A number that no tag has reads as the empty tag without blocks.
		if last := &t.uses[t.last]; last.Tag == tag && (tag != "" || last.Blocks != 0) {
			return t.last
		}
	}
	number, known := t.numbers[tag]
	if !known {
		number = t.place(tag)
	}
	t.last = number
	return number
}

func (t *Tags) place(tag string) uint32 {
	if t.numbers == nil {
		t.numbers = make(map[string]uint32)
	}
	var number uint32
	if n := len(t.spare); n > 0 {
		number, t.spare = t.spare[n-1], t.spare[:n-1]
		t.uses[number].Tag = tag
	} else {
		number = uint32(len(t.uses))
		t.uses = append(t.uses, TagUse{Tag: tag})
	}
	t.numbers[tag] = number
	return number
}

// SumTags adds up the uses of equal tags and sorts them, the largest first.
func SumTags(uses []TagUse) []TagUse {
	byTag := make(map[string]TagUse, len(uses))
	for _, use := range uses {
		sum := byTag[use.Tag]
		sum.Tag = use.Tag
		sum.RequestedBytes += use.RequestedBytes
		sum.AllocatedBytes += use.AllocatedBytes
		sum.Blocks += use.Blocks
		byTag[use.Tag] = sum
	}
	sums := make([]TagUse, 0, len(byTag))
	for _, sum := range byTag {
		sums = append(sums, sum)
	}
	slices.SortFunc(sums, func(a, b TagUse) int {
		return cmp.Or(cmp.Compare(b.AllocatedBytes, a.AllocatedBytes), cmp.Compare(a.Tag, b.Tag))
	})
	return sums
}
