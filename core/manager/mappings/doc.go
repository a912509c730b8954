// Package mappings keeps the host mappings of one block: which ranges are mapped how
// often, which of them may overlap, and the staging copies for ranges of a block that the
// host cannot address. It knows no block and moves no byte.
//
// A mapping is recorded before it is created (Join), and then completed or rejected by the
// caller that recorded it, with no lock held (Settle). Mappings nest. The last use ends a
// mapping. If a staging copy has been written, the last use passes the mapping to the
// caller, who writes the copy back and then ends the mapping (End) or keeps it (Resume).
//
// A Table has no lock: its owner guards it, and everything in a Mapping except Settled,
// Failure and Addr, which are read only after Settled is closed.
package mappings
