package model

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/weights"
)

// Filling the segment of the parameters. Tensors of the weights that stay as they are stored are loaded
// into their places at once. Parameters that are packed pass through scratch memory in batches: threads
// load a batch each, and pack it into the segment. The scratch memory of all threads together is the
// working set, so a model that takes nearly all memory needs little more for its build. Constants, and
// elements that the weights do not have, are made on the same threads.

// filling is one filling of a segment.
type filling struct {
	program *program
	backend *backend.Backend
	source  *weights.Source
	to      *zone
	// scratch is the memory of the batches.
	scratch *zone
	options FillOptions
	// stream orders the work on the memory.
	stream device.Stream

	done, total atomic.Uint64
	// telling is held while progress is told.
	telling sync.Mutex
}

// FillOptions state how parameters are placed in memory.
type FillOptions struct {
	// Threads is the number of threads that load and pack; 0: 2.
	Threads int
	// WorkingSetBytes bounds the scratch memory; 0: 64 MiB. It is at least what the largest parameter
	// needs.
	WorkingSetBytes uint64
	// Seed and Initializers make parameters that the weights do not have.
	Seed         uint64
	Initializers map[string]Initializer
}

const (
	defaultFillThreads = 2
	maxFillThreads     = 64
	defaultWorkingSet  = 64 << 20
	// batchBytes bounds a batch of several parameters. Its bytes are still in the cache of the processor
	// when they are packed.
	batchBytes = 4 << 20
)

// scratchBytes is the scratch memory that a parameter needs.
func (p *parameter) scratchBytes() uint64 {
	if p.packing == "" {
		return 0
	}
	return up(max(p.plainBytes, 1), alignmentBytes)
}

// run fills the segment, which has its memory. Errors: those of the weights, the memory and the backend;
// CodeCancelled or CodeTimeout when ctx ends. After an error the parameters have no tensors.
func (f *filling) run(ctx context.Context, tell func(done, total uint64)) error {
	f.stream = f.to.engine.Device().DefaultStream()
	var list []*parameter
	for _, p := range f.program.parameters {
		if p.same == nil {
			list = append(list, p)
			f.total.Add(p.plainBytes)
		}
	}
	err := f.loadPlain(ctx, list, tell)
	if err == nil {
		err = f.fillOthers(ctx, list, tell)
	}
	if err == nil {
		err = f.shareTensors()
	}
	if err != nil {
		return errors.Join(err, f.program.dropTensors())
	}
	return nil
}

// shareTensors gives parameters with the memory of others their tensors.
func (f *filling) shareTensors() (err error) {
	for _, p := range f.program.parameters {
		if p.same == nil {
			continue
		}
		if p.same.packing != "" {
			p.tensor, err = p.same.tensor.Same()
		} else {
			p.tensor, err = p.same.tensor.Reshape(p.spec.Shape...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropTensors closes the tensors of the parameters.
func (p *program) dropTensors() error {
	var failed error
	for _, of := range p.parameters {
		if of.tensor != nil {
			failed = errors.Join(failed, of.tensor.Close())
			of.tensor = nil
		}
	}
	return failed
}

// tell reports that bytes are in their places.
func (f *filling) tell(more uint64, to func(done, total uint64)) {
	done := f.done.Add(more)
	if to == nil {
		return
	}
	f.telling.Lock()
	defer f.telling.Unlock()
	to(max(done, f.done.Load()), f.total.Load())
}

func (f *filling) threads() int {
	if f.options.Threads == 0 {
		return defaultFillThreads
	}
	return min(f.options.Threads, maxFillThreads)
}

// loadPlain loads the tensors of parameters that are not packed into their places.
func (f *filling) loadPlain(ctx context.Context, list []*parameter, tell func(done, total uint64)) error {
	var specs []weights.Spec
	for _, p := range list {
		if p.packing == "" {
			specs = append(specs, p.specs(slot{zone: f.to}, f.to.addr(p.offset))...)
		}
	}
	if len(specs) == 0 {
		return nil
	}
	before := uint64(0)
	_, err := f.source.Load(ctx, specs, weights.LoadOptions{Threads: f.threads(), Progress: func(of weights.Progress) {
		f.tell(of.DoneBytes-before, tell)
		before = of.DoneBytes
	}})
	return ended(ctx, opBuild, err)
}

// specs returns what to load of a parameter into memory from an address on.
func (p *parameter) specs(memory weights.Memory, to device.Addr) (list []weights.Spec) {
	for i := range p.origin.pieces {
		of := &p.origin.pieces[i]
		if of.tensor != nil {
			list = append(list, of.load(fmt.Sprint(p.number, ".", i), memory, to))
		}
		to += device.Addr(of.sizeBytes)
	}
	return list
}

// fillOthers fills parameters through scratch memory.
func (f *filling) fillOthers(ctx context.Context, list []*parameter, tell func(done, total uint64)) error {
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b *parameter) int { return cmp.Compare(a.origin.start(), b.origin.start()) })
	largest, sum := uint64(0), uint64(0)
	for _, p := range list {
		largest, sum = max(largest, p.scratchBytes()), sum+p.scratchBytes()
	}
	set := f.options.WorkingSetBytes
	if set == 0 {
		set = defaultWorkingSet
	}
	threads := min(f.threads(), len(list))
	each := up(max(largest, min(set/uint64(threads), batchBytes, sum)), alignmentBytes)
	threads = max(1, min(threads, int(set/max(each, 1))))
	if sum > 0 {
		if err := f.scratch.grow(each*uint64(threads), f.stream); err != nil {
			return err
		}
		if err := f.stream.Synchronize(device.Forever); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := batches(list, each)
	var next atomic.Int64
	failures := make([]error, threads)
	work := func(thread int) {
		for ctx.Err() == nil {
			at := int(next.Add(1)) - 1
			if at >= len(queue) {
				return
			}
			if err := f.fillBatch(ctx, queue[at], uint64(thread)*each, tell); err != nil {
				failures[thread] = err
				cancel()
			}
		}
	}
	over := make([]<-chan struct{}, threads)
	for i := range threads {
		failures[i] = device.Errorf(device.CodeInternal, opBuild, "a thread of the build has failed")
		over[i] = device.Go(opBuild, func() { failures[i] = nil; work(i) })
	}
	for _, end := range over {
		<-end
	}
	return f.outcome(ctx, failures)
}

// outcome returns the error of a filling: not the cancellation of the other threads, if one has failed.
func (f *filling) outcome(ctx context.Context, failures []error) error {
	var cancelled error
	for _, err := range failures {
		switch {
		case err == nil:
		case errors.Is(err, device.CodeCancelled):
			cancelled = err
		default:
			return err
		}
	}
	if cancelled != nil {
		return cancelled
	}
	if ctx.Err() != nil {
		return ended(ctx, opBuild, nil)
	}
	return nil
}

// batches cuts a list into parts that fit into scratch memory.
func batches(list []*parameter, most uint64) (parts [][]*parameter) {
	bytes := uint64(0)
	for _, p := range list {
		need := p.scratchBytes()
		if len(parts) == 0 || bytes+need > most {
			parts, bytes = append(parts, nil), 0
		}
		last := len(parts) - 1
		parts[last], bytes = append(parts[last], p), bytes+need
	}
	return parts
}

// fillBatch loads the packed parameters of a batch into scratch memory from an offset on, and fills the
// places of all.
func (f *filling) fillBatch(ctx context.Context, list []*parameter, offset uint64, tell func(done, total uint64)) error {
	var specs []weights.Spec
	at := make([]uint64, len(list))
	for i, p := range list {
		at[i] = offset
		if p.packing != "" {
			specs = append(specs, p.specs(slot{zone: f.scratch}, f.scratch.addr(offset))...)
		}
		offset += p.scratchBytes()
	}
	if len(specs) > 0 {
		if _, err := f.source.Load(ctx, specs, weights.LoadOptions{Threads: 1}); err != nil {
			return ended(ctx, opBuild, err)
		}
	}
	for i, p := range list {
		if err := ended(ctx, opBuild, nil); err != nil {
			return err
		}
		made, err := f.finish(p, at[i])
		if err != nil {
			return device.Errorf(device.CodeOf(err), opBuild, "parameter %q: %w", p.spec.Name, err)
		}
		f.tell(made, tell)
	}
	return nil
}

// finish makes the tensor of a parameter, whose loaded elements are in their place, or at an offset of the
// scratch memory if it is packed. It returns the bytes that it has placed.
func (f *filling) finish(p *parameter, at uint64) (placed uint64, err error) {
	memory := slot{f.to, p.offset}
	if p.packing == "" {
		if p.tensor, err = tensor.New(memory, p.spec.DType, p.spec.Shape, f.stream); err != nil {
			return 0, err
		}
		return f.makePieces(p, p.tensor)
	}
	from, err := tensor.New(slot{f.scratch, at}, p.spec.DType, p.spec.Shape, f.stream)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if _, err := f.makePieces(p, from); err != nil {
		return 0, err
	}
	if p.tensor, err = p.op.Pack(p.input, from, backend.Packing{Memory: memory, Stream: f.stream}); err != nil {
		return 0, err
	}
	// The scratch memory is used again, and the packing may be queued.
	return p.plainBytes, f.stream.Synchronize(device.Forever)
}

// makePieces writes the pieces of a parameter that were not loaded, and returns their size.
func (f *filling) makePieces(p *parameter, to *tensor.Tensor) (made uint64, err error) {
	start := int64(0)
	for i := range p.origin.pieces {
		of := &p.origin.pieces[i]
		count := int64(0)
		if len(of.spec.Shape) > 0 {
			count = of.spec.Shape[0]
		}
		if of.tensor == nil && of.sizeBytes > 0 {
			if err := f.makePiece(p, of.spec, to, start, count); err != nil {
				return made, err
			}
			made += of.sizeBytes
		}
		start += count
	}
	return made, nil
}

// makePiece writes the elements of a piece of a tensor, or of the whole.
func (f *filling) makePiece(p *parameter, spec *ir.Parameter, to *tensor.Tensor, start, count int64) (err error) {
	place := to
	if len(p.origin.pieces) > 1 {
		if place, err = to.Narrow(0, start, count); err != nil {
			return err
		}
		defer func() { _ = place.Close() }() // another tensor over the memory is open
	}
	return f.make(spec, p.spec.Name, place)
}

// make writes the elements of a parameter that the weights do not have. It is the parameter with the name whole, or
// a part of it.
func (f *filling) make(spec *ir.Parameter, whole string, to *tensor.Tensor) error {
	if spec.Value != nil {
		var bytes []byte
		for _, n := range spec.Value {
			bytes = binary.NativeEndian.AppendUint64(bytes, uint64(n))
		}
		return to.Write(bytes, f.stream)
	}
	if by := layerTypeOf(f.program.definition.Operators, spec); by != nil {
		return f.makeByLayer(by, spec, whole, to)
	}
	rule, err := initializer(spec, f.options.Seed, f.options.Initializers)
	if err != nil {
		return err
	}
	layout := to.Layout()
	all := layout.Elements()
	flat, err := to.Reshape(all)
	if err != nil {
		return err
	}
	defer func() { _ = flat.Close() }() // another tensor over the memory is open
	each, width := spec.DType.Block()
	block, err := offheap.NewBlock(mostMade * 8 * 2)
	if err != nil {
		return err
	}
	defer block.Free()
	wide, narrow := block.Bytes()[:mostMade*8], block.Bytes()[mostMade*8:]
	for from := int64(0); from < all; from += mostMade {
		count := min(mostMade, all-from)
		bytes := narrow[:uint64(count)/each*width]
		if err := makeElements(spec.DType, rule, uint64(from), bytes, wide); err != nil {
			return err
		}
		if err := writePart(flat, from, count, bytes, f.stream); err != nil {
			return err
		}
	}
	return nil
}

func writePart(to *tensor.Tensor, from, count int64, bytes []byte, stream device.Stream) error {
	part, err := to.Narrow(0, from, count)
	if err != nil {
		return err
	}
	defer func() { _ = part.Close() }() // another tensor over the memory is open
	return part.Write(bytes, stream)
}
