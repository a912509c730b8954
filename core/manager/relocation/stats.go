package relocation

import "fmt"

// Stats is the result of a call. Every live block counts once: as moved, as skipped for
// one reason, or as kept.
type Stats struct {
	BlocksMoved uint64
	// BytesMoved is the sum of the requested sizes of the moved blocks.
	BytesMoved uint64
	// PagesEmptied counts the pages from which all blocks were moved. SegmentsEmptied
	// counts segments in the same way, for segmented pools.
	PagesEmptied, SegmentsEmptied uint64
	// BlocksKept counts blocks that could have been moved, but without freeing a page.
	BlocksKept uint64
	Skipped    Skipped
	// BudgetEnded states that the budget ended before the work was complete.
	BudgetEnded bool
}

// Skipped counts the blocks that could not be moved, each for the first of these
// reasons that applied.
type Skipped struct {
	// NotRelocatable counts blocks that were not requested as Relocatable.
	NotRelocatable uint64 `json:"not_relocatable"`
	// Debugged counts blocks that the debug mode of the manager or pool fills or
	// surrounds.
	Debugged uint64 `json:"debugged"`
	Pinned   uint64 `json:"pinned"`
	// InUse counts blocks that were used on a stream with queued work.
	InUse uint64 `json:"in_use"`
	// NoRoom counts blocks of pages whose blocks found no free space outside them,
	// although as many bytes are free there.
	NoRoom uint64 `json:"no_room"`
	// OverBudget counts blocks that were not checked any more.
	OverBudget uint64 `json:"over_budget"`
	// Mapped counts blocks with mappings; this reason comes after Pinned.
	Mapped uint64 `json:"mapped"`
}

// Sum returns the sum of all reasons.
func (s *Skipped) Sum() uint64 {
	return s.NotRelocatable + s.Debugged + s.Pinned + s.InUse + s.NoRoom + s.OverBudget + s.Mapped
}

// Reason is the reason for which the owner of a block does not allow its move.
type Reason int

const (
	// None: the block may move, or was freed.
	None Reason = iota
	NotRelocatable
	Debugged
	Pinned
	Mapped
	InUse
)

func (s *Skipped) add(r Reason) {
	switch r {
	case None:
	case NotRelocatable:
		s.NotRelocatable++
	case Debugged:
		s.Debugged++
	case Pinned:
		s.Pinned++
	case Mapped:
		s.Mapped++
	case InUse:
		s.InUse++
	default:
		panic(fmt.Sprintf("relocation: reason %d is not known", r))
	}
}
