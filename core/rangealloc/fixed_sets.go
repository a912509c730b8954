package rangealloc

import "math/bits"

// setLevels is enough for 2^36 pages; page numbers have 32 bits.
const setLevels = 6

// pageSets are sets of page numbers. They find their lowest member, and the next member
// after a number, in a few steps: a bit of a word on one level is set if a word on the
// level below is not 0, and the top level is one word. All sets have the same size and
// are adjacent in one table.
type pageSets struct {
	words []uint64
	count int
	// stride is the number of words of a set, level the start of each of its levels, and
	// depth the number of levels. The first level has the members.
	stride int
	level  [setLevels]int
	depth  int
	pages  uint64
}

func newPageSets(count int) pageSets { return pageSets{count: count} }

// reach makes room for a page. If it grows the sets, it at least doubles their size.
func (s *pageSets) reach(page uint32) {
	if uint64(page) < s.pages {
		return
	}
	larger := pageSets{count: s.count, pages: 64}
	for larger.pages <= uint64(page) {
		larger.pages *= 2
	}
	for words := int(larger.pages / 64); ; words = (words + 63) / 64 {
		larger.level[larger.depth] = larger.stride
		larger.stride += words
		larger.depth++
		if words == 1 {
			break
		}
	}
	larger.words = make([]uint64, larger.stride*s.count)
	for set := range s.count {
		for page, ok := s.first(set); ok; page, ok = s.after(set, page) {
			larger.add(set, page)
		}
	}
	*s = larger
}

func (s *pageSets) of(set int) []uint64 { return s.words[set*s.stride:][:s.stride] }

func (s *pageSets) add(set int, page uint32) {
	words := s.of(set)
	for level := range s.depth {
		word := &words[s.level[level]+int(page>>6)]
		had := *word
		*word = had | 1<<(page&63)
		if had != 0 {
			return
		}
		page >>= 6
	}
}

func (s *pageSets) remove(set int, page uint32) {
	words := s.of(set)
	for level := range s.depth {
		word := &words[s.level[level]+int(page>>6)]
		*word &^= 1 << (page & 63)
		if *word != 0 {
			return
		}
		page >>= 6
	}
}

func (s *pageSets) has(set int, page uint32) bool {
	return uint64(page) < s.pages && s.of(set)[page>>6]>>(page&63)&1 != 0
}

// first returns the lowest member.
func (s *pageSets) first(set int) (uint32, bool) {
	if s.depth == 0 {
		return 0, false
	}
	words := s.of(set)
	if words[s.stride-1] == 0 {
		return 0, false
	}
	return s.lowest(words, s.depth-1, 0), true
}

// lowest returns the lowest member below a word that is not 0.
func (s *pageSets) lowest(words []uint64, level int, at uint32) uint32 {
	for {
		at = at<<6 + uint32(bits.TrailingZeros64(words[s.level[level]+int(at)]))
		if level == 0 {
			return at
		}
		level--
	}
}

// after returns the lowest member above page.
func (s *pageSets) after(set int, page uint32) (uint32, bool) {
	words := s.of(set)
	for level := range s.depth {
		at := page >> 6
		// Two shifts, because one shift by 64 would not clear the word when page is the
		// last of its word.
		if rest := words[s.level[level]+int(at)] >> (page & 63) >> 1; rest != 0 {
			page += 1 + uint32(bits.TrailingZeros64(rest))
			if level == 0 {
				return page, true
			}
			return s.lowest(words, level-1, page), true
		}
		page = at
	}
	return 0, false
}
