package memcheck

// FramesMax is how many return addresses a call site keeps.
const FramesMax = 16

// Hooks are how the program around finds out who called.
type Hooks struct {
	// Watch says that one more pool wants call sites or, with false, one less.
	// Called with no lock held.
	Watch func(on bool)
	// Read writes the return addresses that lead to the running call, the
	// innermost first, and says how many. It takes no lock.
	Read func(to []uintptr) int
	// Describe gives each return address a line of text, such as
	// "libengine.so+0x1234 (load)". Called with no lock held.
	Describe func(frames []uintptr) []string
}

func (h Hooks) complete() bool { return h.Watch != nil && h.Read != nil && h.Describe != nil }

// stack is return addresses, 0 behind the last.
type stack [FramesMax]uintptr

// frames is the addresses without the zeros.
func (s *stack) frames() []uintptr {
	for i, frame := range s {
		if frame == 0 {
			return s[:i]
		}
	}
	return s[:]
}

// site is the number of a stack in a depot; 0: not known.
type site uint32

// depotStacks bounds a depot. A program has as many stacks as it has ways to
// allocate; more of them come from recursion only.
const depotStacks = 1 << 16

// depot keeps each stack once. The zero value is empty.
type depot struct {
	numbers map[stack]site
	stacks  []stack
}

// number gives a stack its number; 0 for an empty one, and when the depot is
// full.
func (d *depot) number(s stack) site {
	if s[0] == 0 {
		return 0
	}
	if known, ok := d.numbers[s]; ok {
		return known
	}
	if len(d.stacks) == depotStacks {
		return 0
	}
	if d.numbers == nil {
		d.numbers = make(map[stack]site)
	}
	d.stacks = append(d.stacks, s)
	number := site(len(d.stacks))
	d.numbers[s] = number
	return number
}

// frames is the return addresses of a site.
func (d *depot) frames(s site) []uintptr {
	if s == 0 {
		return nil
	}
	return d.stacks[s-1].frames()
}
