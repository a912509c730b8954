// Package mappings is the host mappings of one block: which ranges are mapped how often,
// which of them may stand beside each other, and the copies that stand for ranges of a
// block which the host cannot address. It knows no block and moves no byte.
//
// A mapping is entered before it is made (Join), made or refused by who entered it, with no
// lock held (Settle), and nests. Its last use ends it, or, where a copy has been written,
// gives it to the caller, who writes it back and then ends it (End) or leaves it as it was
// (Resume).
//
// A Table has no lock: its owner guards it, and everything in a Mapping but Settled, Failure
// and Addr, which are read once Settled is closed.
package mappings
