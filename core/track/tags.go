package track

import (
	"cmp"
	"math/bits"

	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/lending"
)

// TagUse is the use of the live blocks of one tag.
type TagUse struct {
	Tag            string `json:"tag"`
	RequestedBytes uint64 `json:"requested_bytes"`
	AllocatedBytes uint64 `json:"allocated_bytes"`
	Blocks         uint64 `json:"blocks"`
}

const (
	// MaxKeptTags is the number of tags that Keep can number.
	MaxKeptTags = 4096
	// idleTags is the number of other tags without a block that keep their number, so
	// that a tag that is used again and again needs no new entry each time.
	idleTags = 64
	// MaxTags is the number of all tags.
	MaxTags = 1 << 20
)

// Tags counts the use by tag for one pool, with the pool's lock held. A tag has a small
// number. Numbers from Keep stay. Any other tag keeps its number while it has blocks;
// without blocks, its number may be given to another tag. So a program that invents tags
// without end does not grow the table without end.
type Tags struct {
	// kept has the numbers below MaxKeptTags, loose those from there on.
	kept, loose []TagUse
	numbers     map[string]uint32
	// spare has the numbers that no tag has.
	spare []uint32
	// last is the number that was requested last, because most calls repeat it.
	last     uint32
	lastName string
}

// Keep returns a permanent number for a tag: 0, 1, and so on. It returns false if there
// are already MaxKeptTags.
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

// IsKept reports whether Keep has returned this number.
func (t *Tags) IsKept(number uint32) bool { return uint64(number) < uint64(len(t.kept)) }

// Number returns the number of a tag, for a following Add. It returns false if all
// numbers are in use.
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

// Add counts blocks of a tag, with the sum of their sizes, and returns the name of the
// tag.
func (t *Tags) Add(number uint32, sum Block, count uint64) string {
	use := t.use(number)
	use.RequestedBytes += sum.RequestedBytes
	use.AllocatedBytes += sum.AllocatedBytes
	use.Blocks += count
	return use.Tag
}

// Remove subtracts blocks of a tag.
func (t *Tags) Remove(number uint32, sum Block, count uint64) {
	use := t.use(number)
	use.RequestedBytes -= sum.RequestedBytes
	use.AllocatedBytes -= sum.AllocatedBytes
	use.Blocks -= count
	if use.Blocks == 0 && number >= MaxKeptTags {
		t.idle(number, use)
	}
}

// idle makes the number of a tag without blocks available again, if there are many such
// tags.
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

// Lendable returns how many tags, from 0 on, code outside of Go may count.
func (t *Tags) Lendable() uint64 { return uint64(min(len(t.kept), lending.TagsMost)) }

// Absorb adds the changes of the lent tags. sum is the sum of all changes; what the other
// tags leave of it is tag 0's.
func (t *Tags) Absorb(from *lending.State, sum lending.Tag) {
	for changed := from.TagsChanged; changed != 0; changed &= changed - 1 {
		number := bits.TrailingZeros64(changed)
		change := from.Tags[number]
		t.kept[number].absorb(change)
		sum.RequestedBytes -= change.RequestedBytes
		sum.AllocatedBytes -= change.AllocatedBytes
		sum.Blocks -= change.Blocks
	}
	t.kept[0].absorb(sum)
}

func (u *TagUse) absorb(change lending.Tag) {
	u.RequestedBytes += change.RequestedBytes
	u.AllocatedBytes += change.AllocatedBytes
	u.Blocks += change.Blocks
}

// Name returns the tag of a number that was kept or has blocks; "" for any other.
func (t *Tags) Name(number uint32) string {
	if use := t.use(number); use != nil {
		return use.Tag
	}
	return ""
}

// Uses appends every tag that has blocks. A tag that had blocks before it was kept may
// appear twice.
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
	sorting.By(sums, func(a, b TagUse) int {
		return cmp.Or(cmp.Compare(b.AllocatedBytes, a.AllocatedBytes), cmp.Compare(a.Tag, b.Tag))
	})
	return sums
}
