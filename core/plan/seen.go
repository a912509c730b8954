package plan

// key identifies the state of a component of a search: which items wait, and where each
// may lie. It has 96 bits, so that two states with the same key do not occur in practice.
type key struct {
	hash  uint64
	check uint32
}

// add adds an item to the key, in any order.
func (k *key) add(e entry, low, salt uint64) {
	word := uint64(e.item) << 1
	if e.free {
		word |= 1
	}
	x := (e.low+salt)*0x9E3779B97F4A7C15 ^ (low+1)*0xC2B2AE3D27D4EB4F ^ (word+1)*0x165667B19E3779F9
	x = (x ^ x>>32) * 0xD6E8FEB86659FD93
	x = (x ^ x>>29) * 0xFF51AFD7ED558CCD
	k.hash += x ^ x>>32
	k.check += uint32((x * 0xC4CEB9FE1A85EC53) >> 32)
}

// seenSlots is the number of states that a table keeps. It bounds its memory to 4 MiB.
const seenSlots = 1 << 18

// seen remembers states from which no placement exists. Different orders of the same
// steps often lead to the same state.
type seen struct {
	slots []seenSlot
}

type seenSlot struct {
	hash uint64
	// check is part of the key. cost is the number of steps that the state took.
	check, cost uint32
}

func newSeen() *seen { return &seen{make([]seenSlot, seenSlots)} }

// pair returns the two slots in which a state may be. The first keeps the state with the
// highest cost, the second the last one.
func (s *seen) pair(hash uint64) *[2]seenSlot {
	at := hash & (seenSlots - 2)
	return (*[2]seenSlot)(s.slots[at : at+2])
}

func (s *seen) has(k key) bool {
	pair := s.pair(k.hash)
	return pair[0].hash == k.hash && pair[0].check == k.check || pair[1].hash == k.hash && pair[1].check == k.check
}

// add remembers a state. The empty slot has cost 0, so cost must be positive.
func (s *seen) add(k key, cost uint32) {
	pair := s.pair(k.hash)
	at := 1
	if cost >= pair[0].cost {
		at = 0
	}
	pair[at] = seenSlot{k.hash, k.check, cost}
}
