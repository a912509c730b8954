package cpu

import (
	"slices"
	"unsafe"

	"ferrum_mem/core/device"
)

// Addresses in the requests of a Program are places: they name an operand and a distance from it in
// bytes. The two highest bits state what is named; an address of the process has zeros there.
const (
	kindShift   = 62
	indexShift  = 48
	indexMask   = 1<<(kindShift-indexShift) - 1
	offsetMask  = 1<<indexShift - 1
	isInputs    = 1
	isOutputs   = 2
	isWorkspace = 3

	// MaxOperands is the largest number of inputs or of outputs of a Program.
	MaxOperands = indexMask + 1
	// MaxDistance is the largest distance in bytes of a place from its operand.
	MaxDistance = 1<<(indexShift-1) - 1
)

// InputAt is the place at a distance in bytes from an input. The index is below MaxOperands.
func InputAt(index int, distance int64) uint64 { return placeOf(isInputs, index, distance) }

// OutputAt is the place at a distance in bytes from an output.
func OutputAt(index int, distance int64) uint64 { return placeOf(isOutputs, index, distance) }

// WorkspaceAt is the place at a distance in bytes from the workspace.
func WorkspaceAt(distance int64) uint64 { return placeOf(isWorkspace, 0, distance) }

func placeOf(kind uint64, index int, distance int64) uint64 {
	return kind<<kindShift | uint64(index&indexMask)<<indexShift | uint64(distance)&offsetMask
}

// link states which field of a request is a place. It has the layout of struct fk_link.
type link struct {
	field    int64 // in words of 8 bytes
	kind     int64
	index    int64
	distance int64
}

func linkOf(field uintptr, at uint64) link {
	return link{
		field: int64(field / 8), kind: int64(at >> kindShift), index: int64(at >> indexShift & indexMask),
		distance: int64(at<<(64-indexShift)) >> (64 - indexShift),
	}
}

// step is a request that is ready to run. It has the layout of struct fk_step.
type step struct {
	kernel    uintptr
	request   uintptr
	words     int64
	links     uintptr
	linkCount int64
	parts     int64
	// Each thread has threadBytes of workspace, from scratch bytes behind the workspace of the run.
	threadBytes, scratch int64
}

// Program is requests that run one after the other in one call of C. It does not change, so any
// number of threads may run it at the same time.
type Program struct {
	engine    *Engine
	requests  []Request
	links     [][]link
	steps     []step
	workspace int64
}

// WorkspaceBytes is how much workspace a run needs.
func (p *Program) WorkspaceBytes() int64 { return p.workspace }

// IsGeneral states whether a general kernel computes a part of the program.
func (p *Program) IsGeneral() bool {
	return slices.ContainsFunc(p.requests, func(r Request) bool { return r.kernel() >= setKernels })
}

// Operands are the memory of one run.
type Operands struct {
	Inputs, Outputs []device.Addr
	// Workspace is aligned to 64 bytes.
	Workspace device.Addr
}

// resolve returns the address of a place.
func (o *Operands) resolve(at uint64) uint64 {
	l := linkOf(0, at)
	switch l.kind {
	case isInputs:
		return uint64(o.Inputs[l.index]) + uint64(l.distance)
	case isOutputs:
		return uint64(o.Outputs[l.index]) + uint64(l.distance)
	case isWorkspace:
		return uint64(o.Workspace) + uint64(l.distance)
	}
	return at
}

// add appends a request that has places, or addresses.
func (p *Program) add(r Request) {
	bytes, addresses := r.layout()
	var links []link
	for _, a := range addresses {
		if *a>>kindShift != 0 {
			links = append(links, linkOf(uintptr(unsafe.Pointer(a))-uintptr(r.address()), *a))
		}
	}
	s := step{request: uintptr(r.address()), words: int64(bytes / 8), linkCount: int64(len(links))}
	if len(links) > 0 {
		s.links = uintptr(unsafe.Pointer(unsafe.SliceData(links)))
	}
	p.requests, p.links, p.steps = append(p.requests, r), append(p.links, links), append(p.steps, s)
}

// Compile prepares requests whose addresses are places. The first bytes of the workspace belong to
// the requests: own is their number. The requests must not be changed afterwards. Errors: those of
// Workspace.
func (e *Engine) Compile(requests []Request, own int64) (*Program, error) {
	p := &Program{engine: e}
	own = (own + 63) / 64 * 64
	for _, r := range requests {
		if err := r.check(); err != nil {
			return nil, err
		}
		p.add(r)
		s := &p.steps[len(p.steps)-1]
		s.kernel, s.parts, s.threadBytes = e.prepare(r)
		s.scratch = own
		p.workspace = max(p.workspace, e.workspaceOf(s.parts, s.threadBytes))
	}
	p.workspace += own
	return p, nil
}

// workspaceOf returns how many bytes of workspace a request needs: threadBytes for each thread, or for
// each part if there are fewer.
func (e *Engine) workspaceOf(parts, threadBytes int64) int64 {
	return min(parts, int64(e.Threads())) * threadBytes
}

// Bound is a program with the memory of its runs.
type Bound struct {
	Program  *Program
	Operands Operands
}

// Join makes one program of several: it has no operands and needs no workspace. All programs are of
// this engine.
func (e *Engine) Join(parts []Bound) *Program {
	joined := &Program{engine: e}
	for i := range parts {
		part := &parts[i]
		for at, r := range part.Program.requests {
			r = r.clone()
			_, addresses := r.layout()
			for _, a := range addresses {
				*a = part.Operands.resolve(*a)
			}
			joined.add(r)
			s, from := &joined.steps[len(joined.steps)-1], &part.Program.steps[at]
			s.kernel, s.parts, s.threadBytes = from.kernel, from.parts, from.threadBytes
			s.scratch = int64(part.Operands.Workspace) + from.scratch
		}
	}
	return joined
}

// wrong returns the error for an index that a step found out of range.
func (p *Program) wrong(step, place int64, o *Operands) error {
	r := p.requests[step].(indexed)
	return r.outOfRange(place, o.resolve(r.indices()))
}
