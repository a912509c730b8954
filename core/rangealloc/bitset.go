package rangealloc

import (
	"math/bits"

	"ferrum_mem/core/internal/offheap"
)

// bitset is a set of numbers below 64^3 that finds the next and the last member in
// constant time. A word has a bit for each of 64 numbers; a sum has a bit for each of 64
// words that are not 0; top has a bit for each of 64 sums that are not 0.
type bitset struct {
	words, sums []uint64
	top         uint64
	// shared has words and sums, one behind the other, after share.
	shared offheap.Table[uint64]
}

func newBitset(size uint) bitset {
	words := (size + 63) / 64
	return bitset{words: make([]uint64, words), sums: make([]uint64, (words+63)/64)}
}

// share moves the words to memory that code outside of Go may read and write. It returns
// false if that failed; they stay where they were then. A set that was shared must be
// freed.
func (s *bitset) share() bool {
	if s.shared.Bytes() != 0 {
		return true
	}
	var all []uint64
	words := len(s.words)
	if s.shared.Grow(&all, words+len(s.sums)) != nil {
		return false
	}
	all = append(append(all, s.words...), s.sums...)
	if _, ok := s.shared.Share(&all); !ok {
		s.shared.Free(&all)
		return false
	}
	s.words, s.sums = all[:words:words], all[words:]
	return true
}

// addresses returns the addresses of words and sums, after share.
func (s *bitset) addresses() (words, sums uint64) {
	all := s.words
	words, _ = s.shared.Share(&all)
	return words, words + 8*uint64(len(s.words))
}

// free releases the memory of share; the set has no words afterwards.
func (s *bitset) free() {
	if s.shared.Bytes() != 0 {
		s.shared.Free(&s.words)
	}
	s.words, s.sums = nil, nil
}

func (s *bitset) add(i uint) {
	word := &s.words[i>>6]
	if *word == 0 {
		s.sums[i>>12] |= 1 << (i >> 6 & 63)
		s.top |= 1 << (i >> 12 & 63)
	}
	*word |= 1 << (i & 63)
}

func (s *bitset) remove(i uint) {
	word := &s.words[i>>6]
	*word &^= 1 << (i & 63)
	if *word != 0 {
		return
	}
	s.sums[i>>12] &^= 1 << (i >> 6 & 63)
	if s.sums[i>>12] == 0 {
		s.top &^= 1 << (i >> 12 & 63)
	}
}

func (s *bitset) has(i uint) bool { return s.words[i>>6]>>(i&63)&1 != 0 }

// after returns the smallest member above i.
func (s *bitset) after(i uint) (uint, bool) {
	// Two shifts, because one shift by 64 would not clear the word when i is the last
	// number of its word.
	if rest := s.words[i>>6] >> (i & 63) >> 1; rest != 0 {
		return i + 1 + uint(bits.TrailingZeros64(rest)), true
	}
	word := i >> 6
	if rest := s.sums[i>>12] >> (word & 63) >> 1; rest != 0 {
		word += 1 + uint(bits.TrailingZeros64(rest))
		return word<<6 + uint(bits.TrailingZeros64(s.words[word])), true
	}
	sum := i >> 12
	rest := s.top >> (sum & 63) >> 1
	if rest == 0 {
		return 0, false
	}
	sum += 1 + uint(bits.TrailingZeros64(rest))
	word = sum<<6 + uint(bits.TrailingZeros64(s.sums[sum]))
	return word<<6 + uint(bits.TrailingZeros64(s.words[word])), true
}

// last returns the largest member.
func (s *bitset) last() (uint, bool) {
	if s.top == 0 {
		return 0, false
	}
	sum := uint(bits.Len64(s.top)) - 1
	word := sum<<6 + uint(bits.Len64(s.sums[sum])) - 1
	return word<<6 + uint(bits.Len64(s.words[word])) - 1, true
}

// before returns the largest member below i.
func (s *bitset) before(i uint) (uint, bool) {
	word := i >> 6
	if rest := s.words[word] & (1<<(i&63) - 1); rest != 0 {
		return word<<6 + uint(bits.Len64(rest)) - 1, true
	}
	sum := word >> 6
	rest := s.sums[sum] & (1<<(word&63) - 1)
	if rest == 0 {
		above := s.top & (1<<(sum&63) - 1)
		if above == 0 {
			return 0, false
		}
		sum = uint(bits.Len64(above)) - 1
		rest = s.sums[sum]
	}
	word = sum<<6 + uint(bits.Len64(rest)) - 1
	return word<<6 + uint(bits.Len64(s.words[word])) - 1, true
}
