package track

import (
	"cmp"
	"math/bits"
	"slices"

	"ferrum_mem/core/lending"
)

// TagUse is what the live blocks of one tag hold.
type TagUse struct {
	Tag            string `json:"tag"`
	RequestedBytes uint64 `json:"requested_bytes"`
	AllocatedBytes uint64 `json:"allocated_bytes"`
	Blocks         uint64 `json:"blocks"`
}

const (
	// MaxKeptTags bounds the numbers that Keep gives.
	MaxKeptTags = 4096
	// idleTags is how many other tags without a block stay known, so that a tag
	// that comes and goes costs no new entry each time.
	idleTags = 64
	// MaxTags bounds all numbers.
	MaxTags = 1 << 20
)

// Tags counts use by tag for one pool, under the pool's lock. A tag is a small
// number. Those of Keep stay; any other has its number while it has blocks, and
// the number of one without may be given to another tag, so that made-up tags
// without end do not grow the table without end.
type Tags struct {
	// kept has the numbers below MaxKeptTags, loose those from there on.
	kept, loose []TagUse
	numbers     map[string]uint32
	// spare holds the numbers that no tag has.
	spare []uint32
	// last is the number that was asked for last: most calls repeat it.
	last     uint32
	lastName string
}

// Keep gives a tag a number that stays: 0, 1, and so on. It is false when there
// are MaxKeptTags.
func (t *Tags) Keep(tag string) (uint32, bool) {
	if number, known := t.numbers[tag]; known && number < MaxKeptTags {
		return number, true
	}
	if len(t.kept) == MaxKeptTags {
		return 0, false
	}
	number := uint32(len(t.kept))
	t.kept = append(t.kept, TagUse{Tag: tag})
	t.know(tag, number)
	return number, true
}

// IsKept says whether Keep gave that number.
func (t *Tags) IsKept(number uint32) bool { return uint64(number) < uint64(len(t.kept)) }

// Number is the number of a tag, which Enter wants next; it is false when all
// numbers are taken.
func (t *Tags) Number(tag string) (uint32, bool) {
	if tag == t.lastName && t.numbers != nil {
		if use := t.use(t.last); use != nil && use.Tag == tag {
			return t.last, true
		}
	}
	number, known := t.numbers[tag]
	if !known {
		if n := len(t.spare); n > 0 {
			number, t.spare = t.spare[n-1], t.spare[:n-1]
			t.loose[number-MaxKeptTags].Tag = tag
		} else if len(t.loose) == MaxTags-MaxKeptTags {
			return 0, false
		} else {
			number = MaxKeptTags + uint32(len(t.loose))
			t.loose = append(t.loose, TagUse{Tag: tag})
		}
		t.know(tag, number)
	}
	t.last, t.lastName = number, tag
	return number, true
}

func (t *Tags) know(tag string, number uint32) {
	if t.numbers == nil {
		t.numbers = make(map[string]uint32)
	}
	t.numbers[tag] = number
}

func (t *Tags) use(number uint32) *TagUse {
	if number < uint32(len(t.kept)) {
		return &t.kept[number]
	}
	if at := number - MaxKeptTags; at < uint32(len(t.loose)) {
		return &t.loose[at]
	}
	return nil
}

// Add counts blocks of a tag, with these sizes in all, and gives its name.
func (t *Tags) Add(number uint32, sum Block, count uint64) string {
	use := t.use(number)
	use.RequestedBytes += sum.RequestedBytes
	use.AllocatedBytes += sum.AllocatedBytes
	use.Blocks += count
	return use.Tag
}

// Remove takes blocks out again.
func (t *Tags) Remove(number uint32, sum Block, count uint64) {
	use := t.use(number)
	use.RequestedBytes -= sum.RequestedBytes
	use.AllocatedBytes -= sum.AllocatedBytes
	use.Blocks -= count
	if use.Blocks == 0 && number >= MaxKeptTags {
		t.idle(number, use)
	}
}

// idle has the number of a tag without blocks used again, if there are many.
func (t *Tags) idle(number uint32, use *TagUse) {
	if len(t.loose)-len(t.spare) <= idleTags {
		return
	}
	if t.numbers[use.Tag] == number {
		delete(t.numbers, use.Tag)
	}
	use.Tag = ""
	if t.last == number {
		t.last, t.lastName = 0, ""
	}
	t.spare = append(t.spare, number)
}

// Lendable is how many tags, from 0 on, code outside of Go may count blocks of.
func (t *Tags) Lendable() uint64 { return uint64(min(len(t.kept), lending.TagsMost)) }

// Absorb takes in what has changed of them.
func (t *Tags) Absorb(from *lending.State) {
	for changed := from.TagsChanged; changed != 0; changed &= changed - 1 {
		number := bits.TrailingZeros64(changed)
		use, change := &t.kept[number], &from.Tags[number]
		use.RequestedBytes += change.RequestedBytes
		use.AllocatedBytes += change.AllocatedBytes
		use.Blocks += change.Blocks
	}
}

// Name is the tag of a number that was kept or has blocks; "" for any other.
func (t *Tags) Name(number uint32) string {
	if use := t.use(number); use != nil {
		return use.Tag
	}
	return ""
}

// Uses appends every tag that has blocks. One that had blocks before it was kept
// may be there twice.
func (t *Tags) Uses(to []TagUse) []TagUse {
	for _, uses := range [2][]TagUse{t.kept, t.loose} {
		for _, use := range uses {
			if use.Blocks != 0 {
				to = append(to, use)
			}
		}
	}
	return to
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
