package memcheck

// FramesMax is the number of return addresses of a call site.
const FramesMax = 16

// Hooks are functions of the program that find the caller.
type Hooks struct {
	// Watch(true) states that one more pool needs call sites, Watch(false) that one pool
	// less does. It is called with no lock held.
	Watch func(on bool)
	// Read writes the return addresses of the running call, the innermost first, and
	// returns their number. It takes no lock.
	Read func(to []uintptr) int
	// Describe returns a line of text for each return address, such as
	// "libengine.so+0x1234 (load)". For the lines of an interpreted program, Read writes
	// one number, and Describe returns all of them. It is called with no lock held.
	Describe func(frames []uintptr) []string
}

func (h Hooks) complete() bool { return h.Watch != nil && h.Read != nil && h.Describe != nil }

// stack has return addresses; unused places at the end are 0.
type stack [FramesMax]uintptr

// frames returns the addresses without the zeros.
func (s *stack) frames() []uintptr {
	for i, frame := range s {
		if frame == 0 {
			return s[:i]
		}
	}
	return s[:]
}

// site is the number of a stack in a depot; 0 means unknown.
type site uint32

// depotStacks is the most stacks in a depot. A program has as many stacks as ways to
// allocate; only recursion makes more of them.
const depotStacks = 1 << 16

// depot stores each stack once. The zero value is empty.
type depot struct {
	numbers map[stack]site
	stacks  []stack
}

// number returns the number of a stack; 0 if the stack is empty or the depot is full.
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

// frames returns the return addresses of a site.
func (d *depot) frames(s site) []uintptr {
	if s == 0 {
		return nil
	}
	return d.stacks[s-1].frames()
}
