package pages

import "math/bits"

// allSet reports whether all bits in [from, to) are set.
func allSet(words []uint64, from, to uint64) bool {
	word, last := from>>6, (to-1)>>6
	low, high := ^uint64(0)<<(from&63), ^uint64(0)>>(63-(to-1)&63)
	if word == last {
		return ^words[word]&low&high == 0
	}
	if ^words[word]&low|^words[last]&high != 0 {
		return false
	}
	for word++; word < last; word++ {
		if ^words[word] != 0 {
			return false
		}
	}
	return true
}

func setBits(words []uint64, from, to uint64) {
	word, last := from>>6, (to-1)>>6
	low, high := ^uint64(0)<<(from&63), ^uint64(0)>>(63-(to-1)&63)
	if word == last {
		words[word] |= low & high
		return
	}
	words[word] |= low
	for word++; word < last; word++ {
		words[word] = ^uint64(0)
	}
	words[last] |= high
}

func clearBits(words []uint64, from, to uint64) {
	word, last := from>>6, (to-1)>>6
	low, high := ^uint64(0)<<(from&63), ^uint64(0)>>(63-(to-1)&63)
	if word == last {
		words[word] &^= low & high
		return
	}
	words[word] &^= low
	for word++; word < last; word++ {
		words[word] = 0
	}
	words[last] &^= high
}

// count counts the set bits.
func count(words []uint64) (set uint64) {
	for _, word := range words {
		set += uint64(bits.OnesCount64(word))
	}
	return set
}
