package manager

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// UsageHint is the expected use of a block.
type UsageHint int32

// The hints, on three axes: order, direction and lifetime. 0 is none.
const (
	HintNone        UsageHint = 0
	HintSequential  UsageHint = 1 // order: one access after the other
	HintRandom      UsageHint = 2 // order: scattered
	HintReadMostly  UsageHint = 3 // direction
	HintWriteMostly UsageHint = 4 // direction
	HintTemporary   UsageHint = 5 // lifetime: may be freed early
	HintResident    UsageHint = 6 // lifetime: should stay at the device
)

var hintNames = []string{
	"none", "sequential", "random", "read_mostly", "write_mostly", "temporary", "resident",
}

// String returns the hint as a word in lower case.
func (h UsageHint) String() string { return wordOf(hintNames, int32(h)) }

// Hints has the last hint of each axis; HintNone if there is none.
type Hints struct {
	Order     UsageHint `json:"order"`
	Direction UsageHint `json:"direction"`
	Lifetime  UsageHint `json:"lifetime"`
}

// with returns the hints with one more; HintNone removes all.
func (h Hints) with(hint UsageHint) Hints {
	switch hint {
	case HintNone:
		return Hints{}
	case HintSequential, HintRandom:
		h.Order = hint
	case HintReadMostly, HintWriteMostly:
		h.Direction = hint
	case HintTemporary, HintResident:
		h.Lifetime = hint
	}
	return h
}

// SetUsageHint stores a hint for a block and replaces an earlier one of the same axis;
// HintNone removes all. Programs read hints to decide about the block. The hints of
// managed memory are passed to the device, as far as it accepts such advice. Errors:
// CodeInvalidArgument for an unknown hint; those of the device, and then the hints have
// not changed.
func (f *Factory) SetUsageHint(h MemoryHandle, hint UsageHint) error {
	const op = "manager.set_usage_hint"
	return f.withLive(op, h, func(b *block) error {
		if hint < 0 || int(hint) >= len(hintNames) {
			return device.Errorf(device.CodeInvalidArgument, op,
				"hint %d is not from 0 to %d", int32(hint), len(hintNames)-1).On(b.manager.Engine().ID())
		}
		return b.takeHints(b.hints.with(hint))
	})
}

// advice returns the part of the hints that a device can use.
func (h Hints) advice() device.Advice {
	return device.Advice{ReadMostly: h.Direction == HintReadMostly, Resident: h.Lifetime == HintResident}
}

// takeHints stores hints, after it has passed the advice to the device. The caller
// holds b.mu.
func (b *block) takeHints(next Hints) error {
	if b.home != nil && b.home.source == engine.SourceManaged && next.advice() != b.hints.advice() {
		managed, ok := b.manager.Engine().Device().(device.Managed)
		if !ok {
			return lacks("manager.set_usage_hint", b.manager.Engine(), "have managed memory")
		}
		if err := managed.Advise(b.memory.Addr, b.memory.SizeBytes, next.advice()); err != nil {
			return err
		}
	}
	b.hints = next
	return nil
}

// UsageHints returns the hints of a live block.
func (f *Factory) UsageHints(h MemoryHandle) (hints Hints, err error) {
	err = f.withLive("manager.usage_hints", h, func(b *block) error {
		hints = b.hints
		return nil
	})
	return hints, err
}

// wordOf returns the name of a value that counts from 0.
func wordOf(names []string, value int32) string {
	if value < 0 || int(value) >= len(names) {
		return fmt.Sprintf("unknown (%d)", value)
	}
	return names[value]
}
