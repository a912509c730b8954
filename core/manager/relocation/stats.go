package relocation

import "fmt"

// Stats is what a call did. Every block that was live counts once: as moved, as skipped
// for one reason, or as kept.
type Stats struct {
	BlocksMoved uint64
	// BytesMoved is the sizes, as asked for, of the blocks that were moved.
	BytesMoved uint64
	// PagesEmptied are those that all blocks were moved out of; SegmentsEmptied the same
	// in pools that take segments whole.
	PagesEmptied, SegmentsEmptied uint64
	// BlocksKept could have been moved, but no page would have come free for it.
	BlocksKept uint64
	Skipped    Skipped
	// BudgetEnded says that the budget was over before all was done.
	BudgetEnded bool
}

// Skipped counts the blocks that could not be moved, each for the first reason of
// these that held.
type Skipped struct {
	// NotRelocatable were not asked for as Relocatable.
	NotRelocatable uint64 `json:"not_relocatable"`
	// Debugged are filled or surrounded by the debug mode of the manager or pool.
	Debugged uint64 `json:"debugged"`
	Pinned   uint64 `json:"pinned"`
	// InUse have been used on a stream on which work is queued.
	InUse uint64 `json:"in_use"`
	// NoRoom are of pages whose blocks found no place outside of them, though as much
	// is free there.
	NoRoom uint64 `json:"no_room"`
	// OverBudget were not looked at any more.
	OverBudget uint64 `json:"over_budget"`
	// Mapped have mappings; this reason comes after Pinned.
	Mapped uint64 `json:"mapped"`
}

// Sum is all of them.
func (s *Skipped) Sum() uint64 {
	return s.NotRelocatable + s.Debugged + s.Pinned + s.InUse + s.NoRoom + s.OverBudget + s.Mapped
}

// Reason is why the owner of a block does not let it move.
type Reason int

const (
	// None: it may move, or it is gone.
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
