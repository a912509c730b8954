package pageset

import (
	"math/bits"

	"ferrum_mem/core/internal/offheap"
)

const wordBits = 64

// Set is a set of page numbers below a bound. It has one bit for each page. In the
// levels above, a bit states whether a word of the level below has a member. So the
// next member is found without a scan of the gap before it. Parts that were never
// written use no memory. The lock of its user guards it.
type Set struct {
	memory offheap.Table[uint64]
	words  []uint64
	// starts has the index in words where each level begins. The level of the pages
	// comes first.
	starts []uint64
	pages  uint64
	count  uint64
}

// Open creates an empty set for the pages below bound.
func (s *Set) Open(bound uint64) error {
	s.pages = bound
	at := uint64(0)
	for n := bound; ; {
		s.starts = append(s.starts, at)
		n = (n + wordBits - 1) / wordBits
		at += n
		if n <= 1 {
			break
		}
	}
	if err := s.memory.Grow(&s.words, int(at)); err != nil {
		return err
	}
	s.words = s.words[:at]
	return nil
}

// Count returns the number of members.
func (s *Set) Count() uint64 { return s.count }

// Detach detaches the memory of the set. The caller frees it without a lock.
func (s *Set) Detach() (free func()) { return s.memory.Detach(&s.words) }

// Bytes returns the address space that the set reserves.
func (s *Set) Bytes() uint64 { return uint64(s.memory.Bytes()) }

// wordMask has the bits of [first, end) that lie in the given word.
func wordMask(word, first, end uint64) uint64 {
	mask := ^uint64(0)
	if base := word * wordBits; base < first {
		mask <<= first - base
	}
	if top := (word + 1) * wordBits; top > end {
		mask &= ^uint64(0) >> (top - end)
	}
	return mask
}

// Add adds the pages of a run.
func (s *Set) Add(r Run) {
	for word, end := r.Start/wordBits, r.End(); word*wordBits < end; word++ {
		mask := wordMask(word, r.Start, end)
		was := s.words[word]
		s.words[word] = was | mask
		s.count += uint64(bits.OnesCount64(mask &^ was))
		if was == 0 {
			s.raise(word)
		}
	}
}

// raise sets the bits of the levels above for a word with members.
func (s *Set) raise(at uint64) {
	for _, start := range s.starts[1:] {
		word := &s.words[start+at/wordBits]
		was := *word
		*word |= 1 << (at % wordBits)
		if was != 0 {
			return
		}
		at /= wordBits
	}
}

// Remove removes the pages of a run.
func (s *Set) Remove(r Run) {
	for word, end := r.Start/wordBits, r.End(); word*wordBits < end; word++ {
		mask := wordMask(word, r.Start, end)
		was := s.words[word]
		s.words[word] = was &^ mask
		s.count -= uint64(bits.OnesCount64(mask & was))
		if was != 0 && was&^mask == 0 {
			s.lower(word)
		}
	}
}

func (s *Set) lower(at uint64) {
	for _, start := range s.starts[1:] {
		word := &s.words[start+at/wordBits]
		*word &^= 1 << (at % wordBits)
		if *word != 0 {
			return
		}
		at /= wordBits
	}
}

// Has reports whether a page is a member.
func (s *Set) Has(page uint64) bool {
	return s.words[page/wordBits]>>(page%wordBits)&1 != 0
}

// FirstIn returns the first member in a run; false: there is none.
func (s *Set) FirstIn(r Run) (uint64, bool) {
	for word, end := r.Start/wordBits, r.End(); word*wordBits < end; word++ {
		if found := s.words[word] & wordMask(word, r.Start, end); found != 0 {
			return word*wordBits + uint64(bits.TrailingZeros64(found)), true
		}
	}
	return 0, false
}

// FirstNotIn returns the first page of a run that is not a member; false: all are.
func (s *Set) FirstNotIn(r Run) (uint64, bool) {
	for word, end := r.Start/wordBits, r.End(); word*wordBits < end; word++ {
		if found := ^s.words[word] & wordMask(word, r.Start, end); found != 0 {
			return word*wordBits + uint64(bits.TrailingZeros64(found)), true
		}
	}
	return 0, false
}

// Next returns the first member at or after a page; false: there is none.
func (s *Set) Next(from uint64) (uint64, bool) {
	at := from
	for level := 0; level < len(s.starts); level++ {
		word := s.starts[level] + at/wordBits
		if word < s.levelEnd(level) {
			if found := s.words[word] >> (at % wordBits) << (at % wordBits); found != 0 {
				return s.descend(level, at/wordBits*wordBits+uint64(bits.TrailingZeros64(found))), true
			}
		}
		// This word has no more members: continue with the next word on the level
		// above.
		at = at/wordBits + 1
	}
	return 0, false
}

func (s *Set) levelEnd(level int) uint64 {
	if level+1 < len(s.starts) {
		return s.starts[level+1]
	}
	return uint64(len(s.words))
}

// descend returns the first member under a bit of a level.
func (s *Set) descend(level int, bit uint64) uint64 {
	for level > 0 {
		level--
		bit = bit*wordBits + uint64(bits.TrailingZeros64(s.words[s.starts[level]+bit]))
	}
	return bit
}

// RunFrom returns the run of members that begins at the member first, with at most most
// pages.
func (s *Set) RunFrom(first, most uint64) Run {
	end := s.pages
	if most < end-first {
		end = first + most
	}
	bound := Run{Start: first, Pages: end - first}
	if stop, ok := s.FirstNotIn(bound); ok {
		bound.Pages = stop - first
	}
	return bound
}

// RunsIn calls fn for each run of members within a run, in order, until fn returns
// false. fn may change the set within the run that it gets.
func (s *Set) RunsIn(within Run, fn func(Run) bool) {
	for at, end := within.Start, within.End(); at < end; {
		first, ok := s.FirstIn(Run{Start: at, Pages: end - at})
		if !ok {
			return
		}
		found := s.RunFrom(first, end-first)
		if !fn(found) {
			return
		}
		at = found.End()
	}
}
