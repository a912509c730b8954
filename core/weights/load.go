package weights

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/weights/diskfile"
)

// LoadOptions are the settings of a load.
type LoadOptions struct {
	// Memory is the memory of the tensors whose spec names no other memory.
	Memory Memory
	// Threads is the number of threads that read; 0: defaultThreads. A number above maxThreads means
	// maxThreads.
	Threads int
	// StagingBytes bounds the host memory through which tensors go to devices that the host cannot
	// write. The bound is for all devices together; 0: 64 MiB. The maximum is 256 MiB.
	StagingBytes uint64
	// Progress is called on a thread of the load, one call at a time, while no lock is held. The
	// last call has all bytes. The load waits for each call. nil: progress is not reported.
	Progress func(Progress)
}

// defaultThreads is the number of threads that read if the options state none. A disk needs several
// requests at a time, and a thread that waits for a disk needs no processor.
const (
	defaultThreads = 8
	maxThreads     = 256
)

// Progress states which part of a load is done.
type Progress struct {
	// DoneBytes of TotalBytes of results are in their places, or a copy to their places is queued.
	// Both numbers only grow.
	DoneBytes  uint64 `json:"done_bytes"`
	TotalBytes uint64 `json:"total_bytes"`
	// BytesPerSecond is the mean rate since the load began; 0 at the beginning.
	BytesPerSecond float64 `json:"bytes_per_second"`
	// IsOver states that a Loading has ended, with or without success.
	IsOver bool `json:"is_over"`
}

// Loaded is a tensor in memory. Its elements lie in the order of its shape, without gaps.
type Loaded struct {
	Name  string
	Type  dtype.DType
	Shape []uint64
	// Device is the device that has the tensor.
	Device device.ID
	// Addr is 0 for a tensor without elements.
	Addr      device.Addr
	SizeBytes uint64
	// TiedTo is the first tensor of the load with the same memory; "": this tensor is the first.
	TiedTo string
}

// Set is the result of one load. It stays valid after its source is closed.
type Set struct {
	// Tensors are in the order of the specs.
	Tensors  []Loaded
	segments []segment
	// mapped has the mapped files of a set that Map returned.
	mapped map[*file]*diskfile.Mapping
}

// Free frees the memory that the load allocated. Memory of the caller is not freed. The caller does
// not use the tensors afterwards. After an error, Free can be called again for the memory that
// remains.
func (s *Set) Free() error {
	left, err := release(s.segments)
	s.segments = left
	for f, m := range s.mapped {
		if failed := m.Close(); failed != nil {
			err = errors.Join(err, fileError(f.name, failed))
			continue
		}
		delete(s.mapped, f)
	}
	return err
}

// IsMapped states that the tensors are mapped files.
func (s *Set) IsMapped() bool { return s.mapped != nil }

// KeepAwake keeps the memory of a tensor awake until release is called: a Sleep waits for that. It does
// nothing for memory that the load did not allocate. Errors: CodeInvalidState while the memory sleeps.
func (s *Set) KeepAwake(tensor int) (release func(), err error) {
	addr := s.Tensors[tensor].Addr
	for _, of := range s.segments {
		if addr >= of.addr && addr < of.addr+device.Addr(of.size) && of.memory.Engine().ID() == s.Tensors[tensor].Device {
			return of.memory.KeepAwake()
		}
	}
	return func() {}, nil
}

// Bytes returns the size of the memory that the load allocated.
func (s *Set) Bytes() uint64 {
	all := uint64(0)
	for _, of := range s.segments {
		all += of.size
	}
	return all
}

// Segments returns the allocations of the load, in the order of allocation.
func (s *Set) Segments() []Range {
	var list []Range
	for _, of := range s.segments {
		list = append(list, Range{Addr: of.addr, SizeBytes: of.size})
	}
	return list
}

// release frees segments from the last to the first, and returns those that could not be freed.
func release(segments []segment) (left []segment, err error) {
	for _, of := range slices.Backward(segments) {
		if failed := twice(func() error { return of.memory.Free(of.addr, of.size) }); failed != nil {
			left, err = append(left, of), errors.Join(err, failed)
		}
	}
	slices.Reverse(left)
	return left, err
}

// Load reads tensors into memory: all of them, or none. After an error, no memory stays allocated,
// and memory of the caller has undefined content.
//
// Everything is checked before memory is allocated or a tensor is read. Errors: CodeInvalidArgument
// and CodeInvalidSize for specs and options; CodeNotFound for a tensor, with the most similar
// names; CodeUnsupported for a transformation; CodeIO for a file that became shorter or cannot be
// read; CodeCancelled when ctx ends; the errors of the memory and of the device.
func (s *Source) Load(ctx context.Context, specs []Spec, options LoadOptions) (*Set, error) {
	l, err := s.layoutOf(specs, options.Memory)
	if err != nil {
		return nil, err
	}
	if err := options.check(); err != nil {
		return nil, err
	}
	run := &loading{layout: l, options: options}
	defer run.letSleep()
	err = run.place(ctx)
	run.end()
	if err != nil {
		left, undo := release(l.segments)
		if len(left) > 0 {
			err = errors.Join(err, undo)
		}
		return nil, err
	}
	inDevice := func(it *item) device.ID { return it.memory.Engine().ID() }
	return &Set{Tensors: l.loaded(specs, inDevice), segments: l.segments}, nil
}

func (o *LoadOptions) check() error {
	switch {
	case o.Threads < 0:
		return device.Errorf(device.CodeInvalidArgument, opLoad, "threads is %d: want at least 0", o.Threads)
	case o.StagingBytes > maxStaging:
		return device.Errorf(device.CodeInvalidSize, opLoad, "staging_bytes is %d: want at most %d", o.StagingBytes, uint64(maxStaging))
	}
	if o.Threads == 0 {
		o.Threads = defaultThreads
	}
	o.Threads = min(o.Threads, maxThreads)
	if o.StagingBytes == 0 {
		o.StagingBytes = defaultStaging
	}
	return nil
}

// loading is one running load.
type loading struct {
	*layout
	options LoadOptions
	stages  map[*engine.Engine]*stage
	guards  map[*engine.Engine]*guard
	// awake has functions that let the memories sleep again.
	awake []func()
}

// keepAwake keeps the memories from going to sleep during the load.
func (l *loading) keepAwake() error {
	kept := map[Memory]bool{}
	for at := range l.segments {
		memory := l.segments[at].memory
		if kept[memory] {
			continue
		}
		kept[memory] = true
		release, err := memory.KeepAwake()
		if err != nil {
			return err
		}
		l.awake = append(l.awake, release)
	}
	return nil
}

func (l *loading) letSleep() {
	for _, release := range l.awake {
		release()
	}
}

// place allocates the memory and reads the tensors into it.
func (l *loading) place(ctx context.Context) error {
	err := l.keepAwake()
	if err == nil {
		err = l.prepare()
	}
	if err != nil {
		l.segments = nil // no segment is allocated yet
		return err
	}
	for at := range l.segments {
		of := &l.segments[at]
		addr, err := of.memory.Alloc(of.size, l.guards[of.memory.Engine()].stream)
		if err != nil {
			l.segments = l.segments[:at]
			return err
		}
		of.addr = addr
	}
	t := &transfer{threads: l.options.Threads, tell: l.told()}
	for at := range l.items {
		it := &l.items[at]
		e := it.memory.Engine()
		switch {
		case it.into != nil:
			it.job.addr = it.into.Addr
		case it.segment >= 0:
			it.job.addr = l.segments[it.segment].addr + device.Addr(it.offset)
		}
		if s := l.stages[e]; s != nil {
			it.job.lane = s.lane
		} else {
			it.job.host = offheap.View(uintptr(it.job.addr), int(it.job.size()))
		}
		t.jobs = append(t.jobs, &it.job)
	}
	for e, g := range l.guards {
		if err := g.begin(); err != nil {
			return err
		}
		if s := l.stages[e]; s != nil {
			t.lanes = append(t.lanes, s.lane)
		}
	}
	return t.run(ctx)
}

// prepare creates what each device needs: a guard, and staging memory if the host cannot write the
// device's memory.
func (l *loading) prepare() error {
	l.stages, l.guards = map[*engine.Engine]*stage{}, map[*engine.Engine]*guard{}
	var staged []*engine.Engine
	longest := map[*engine.Engine]uint64{} // chunk
	for at := range l.items {
		e := l.items[at].memory.Engine()
		longest[e] = max(longest[e], l.items[at].job.plan.longestChunk())
		if l.guards[e] != nil {
			continue
		}
		g, err := newGuard(e)
		if err != nil {
			return err
		}
		l.guards[e] = g
		if !e.Info().HostAddressable {
			staged = append(staged, e)
		}
	}
	for _, e := range staged {
		count, each := buffersOf(l.options.StagingBytes/uint64(len(staged)), longest[e], l.options.Threads)
		s, err := newStage(e, count, each)
		if err != nil {
			return err
		}
		l.stages[e] = s
	}
	return nil
}

// end frees what prepare created.
func (l *loading) end() {
	for e, s := range l.stages {
		if err := s.close(); err != nil {
			e.Log(engine.Warning, "staging memory of a load: "+err.Error())
		}
	}
	for e, g := range l.guards {
		if err := g.end(); err != nil {
			e.Log(engine.Warning, "the stream of a load: "+err.Error())
		}
	}
}

// told returns the progress callback of the transfer.
func (l *loading) told() func(done, all uint64) {
	if l.options.Progress == nil {
		return nil
	}
	began, most := time.Now(), uint64(0)
	return func(done, all uint64) {
		most = max(most, done)
		l.options.Progress(Progress{DoneBytes: most, TotalBytes: all, BytesPerSecond: rate(most, time.Since(began))})
	}
}

func rate(bytes uint64, in time.Duration) float64 {
	if in <= 0 {
		return 0
	}
	return math.Round(float64(bytes) / in.Seconds())
}

// loaded describes the tensors of all specs. deviceOf returns the device of an item.
func (l *layout) loaded(specs []Spec, deviceOf func(*item) device.ID) []Loaded {
	list := make([]Loaded, len(specs))
	for at := range specs {
		it := &l.items[l.itemOf[at]]
		list[at] = Loaded{
			Name: specs[at].Name, Type: it.job.plan.kind, Shape: it.job.plan.shape,
			Device: deviceOf(it), Addr: it.job.addr, SizeBytes: it.job.size(),
		}
		if first := it.names[0]; first != at {
			list[at].TiedTo = specs[first].Name
		}
	}
	return list
}
