package library

import (
	"context"
	"math"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/weightjson"
)

// WeightCallback is the callback of a load or of another call; nil: none. It returns false to cancel.
type WeightCallback struct {
	// Token is the token of the callback. The thread that runs the callback has it.
	Token uint64
	Tell  func(weights.Progress) (goesOn bool)
}

func (c *WeightCallback) token() uint64 {
	if c == nil {
		return 0
	}
	return c.Token
}

// told is the progress function for the core. cancel ends the work.
func (c *WeightCallback) told(l *Library, cancel func()) func(weights.Progress) {
	if c == nil {
		return nil
	}
	return func(p weights.Progress) {
		l.running.during(nil, func() {
			if !c.Tell(p) {
				cancel()
			}
		})
	}
}

// LoadRequest states which tensors are loaded, and into which memory.
type LoadRequest struct {
	// Map and Preload need no memory. At most one of them is set.
	Map, Preload bool
	Memories     []TensorMemory
	Threads      uint32
	StagingBytes uint64
	// Specs is the text of the order; nil: all tensors unchanged.
	Specs    []byte
	Callback *WeightCallback
}

// Load starts to load tensors, and returns the handle of their set. Before that it checks
// everything that can be checked without memory and without reading tensors.
func (w *Weights) Load(r LoadRequest) (uint64, error) {
	const op = "weights.load"
	order, err := weightjson.ParseOrder("request->specs_json", r.Specs)
	if err != nil {
		return 0, err
	}
	needsMemory := !r.Map && !r.Preload
	switch {
	case r.Map && r.Preload:
		return 0, device.Errorf(device.CodeInvalidArgument, op, "request->flags has both MAP and PRELOAD")
	case needsMemory && len(r.Memories) == 0:
		return 0, device.Errorf(device.CodeInvalidArgument, op, "request->memory_count is 0: the tensors need memory")
	case !needsMemory && len(r.Memories) > 0:
		return 0, device.Errorf(device.CodeInvalidArgument, op, "request->memory_count is %d: mapped and preloaded tensors have no memory", len(r.Memories))
	}
	s := &TensorSet{name: w.source.Name, token: r.Callback.token(), over: make(chan struct{})}
	memories, err := w.library.Loader.memories(op, r.Memories, s)
	if err != nil {
		return 0, err
	}
	if !needsMemory {
		memories = nil
	}
	specs, err := w.specs(op, order, memories)
	if err != nil {
		return 0, err
	}
	return w.startSet(s, specs, r)
}

// specs checks an order against the source.
func (w *Weights) specs(op string, order *weightjson.Order, memories []weights.Memory) (specs []weights.Spec, err error) {
	err = w.describe(func(source *weights.Source) (err error) {
		specs, err = order.Specs(source, memories)
		return err
	})
	if err != nil {
		return nil, err
	}
	for at := range specs {
		spec := &specs[at]
		callers := false
		if memories != nil {
			_, callers = spec.Memory.(*callersMemory)
		}
		switch {
		case memories == nil && spec.Into != nil:
			return nil, device.Errorf(device.CodeInvalidArgument, op, "request->specs_json has \"into\" for %q, which is not copied to memory", spec.Name)
		case callers && spec.Into == nil:
			return nil, device.Errorf(device.CodeInvalidArgument, op, "request->specs_json has no \"into\" for %q, and its memory is a device", spec.Name)
		}
	}
	return specs, nil
}

// startSet assigns a handle to a set and starts its load.
func (w *Weights) startSet(s *TensorSet, specs []weights.Spec, r LoadRequest) (uint64, error) {
	const op = "weights.load"
	l := w.library
	for at, d := range s.devices {
		if err := d.pass(op); err != nil {
			for _, entered := range s.devices[:at] {
				entered.gate.exit()
			}
			return 0, err
		}
	}
	defer func() {
		for _, d := range s.devices {
			d.gate.exit()
		}
	}()
	end, err := w.begin(&reading{what: "a load", token: s.token, cancel: s.Cancel})
	if err != nil {
		return 0, err
	}
	id, err := insertLate(&l.Loader, l.registry.tensorSets, op, s)
	if err == nil {
		s.enterPlaces()
		err = w.startLoad(s, specs, r, end)
	}
	if err != nil {
		s.ended.Store(true)
		if id != 0 {
			_, _ = l.registry.tensorSets.Remove(id)
		}
		close(s.over)
		s.leavePlaces()
		end()
		return 0, err
	}
	return id, nil
}

// startLoad starts the work. After an error no work runs. end is called when the work has ended.
func (w *Weights) startLoad(s *TensorSet, specs []weights.Spec, r LoadRequest, end func()) error {
	switch {
	case r.Map:
		return w.mapSet(s, specs, end)
	case r.Preload:
		return w.preload(s, specs, r.Callback, end)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	loading, err := w.source.Start(specs, weights.LoadOptions{
		Threads: int(min(r.Threads, math.MaxInt32)), StagingBytes: r.StagingBytes,
		Progress: r.Callback.told(w.library, s.Cancel),
	})
	if err != nil {
		return err
	}
	s.loading = loading
	if s.cancelled {
		loading.Cancel()
	}
	device.Go("weights.load", func() {
		defer close(s.over)
		defer end()
		_ = loading.Wait(device.Forever)
		set, err := loading.Result()
		s.finish(set, err)
	})
	return nil
}

// finish stores the result of the load.
func (s *TensorSet) finish(set *weights.Set, err error) {
	s.set, s.err = set, err
	if err != nil || set == nil {
		return
	}
	s.byName = make(map[string]int, len(set.Tensors))
	for at := range set.Tensors {
		s.byName[set.Tensors[at].Name] = at
	}
}

func (w *Weights) mapSet(s *TensorSet, specs []weights.Spec, end func()) error {
	set, err := w.source.Map(specs)
	if err != nil {
		return err
	}
	s.finish(set, nil)
	size := uint64(0)
	for at := range set.Tensors {
		size += set.Tensors[at].SizeBytes
	}
	s.done.Store(size)
	s.total.Store(size)
	end()
	close(s.over)
	return nil
}

// preload starts to read the tensors of specs into the page cache.
func (w *Weights) preload(s *TensorSet, specs []weights.Spec, callback *WeightCallback, end func()) error {
	names := []string{}
	for at := range specs {
		name := specs[at].Tensor
		if name == "" {
			name = specs[at].Name
		}
		if _, err := w.source.Find(name); err != nil {
			return err
		}
		names = append(names, name)
	}
	if !w.source.hold() {
		return endedError(w)
	}
	s.source = w.source
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.Lock()
	s.stop = cancel
	if s.cancelled {
		cancel()
	}
	s.mu.Unlock()
	told := callback.told(w.library, s.Cancel)
	device.Go("weights.preload", func() {
		defer close(s.over)
		defer end()
		defer cancel()
		s.err = device.Errorf(device.CodeInternal, "weights.preload", "the preload failed")
		if len(names) == 0 {
			s.finish(&weights.Set{}, nil)
			return
		}
		read, err := w.source.Preload(ctx, names, func(done, all uint64) {
			s.done.Store(done)
			s.total.Store(all)
			if told != nil {
				told(weights.Progress{DoneBytes: done, TotalBytes: all})
			}
		})
		s.preloaded = read
		s.finish(&weights.Set{}, err)
	})
	return nil
}

// loaded returns the tensors. Errors: CodeInvalidState while the load runs, and after a pool of the
// set was destroyed by force; the error of the load.
func (s *TensorSet) loaded(op string) ([]weights.Loaded, error) {
	switch {
	case s.ended.Load():
		return nil, endedError(s)
	case !s.isLoaded():
		return nil, device.Errorf(device.CodeInvalidState, op, "tensor set handle %#x: the load has not ended", s.id())
	case s.err != nil:
		return nil, s.err
	case slices.ContainsFunc(s.places, func(p tensorPlace) bool { return p.isGone() }):
		return nil, device.Errorf(device.CodeInvalidState, op, "tensor set handle %#x: a pool or model with its tensors has been ended by force", s.id())
	}
	return s.set.Tensors, nil
}

// Count returns the number of tensors.
func (s *TensorSet) Count() (uint64, error) {
	tensors, err := s.loaded("tensor_set.count")
	return uint64(len(tensors)), err
}

func (s *TensorSet) at(op string, index uint64) (*weights.Loaded, error) {
	tensors, err := s.loaded(op)
	if err == nil && index >= uint64(len(tensors)) {
		err = device.Errorf(device.CodeInvalidArgument, op, "index is %d: the set has %d tensors", index, len(tensors))
	}
	if err != nil {
		return nil, err
	}
	return &tensors[index], nil
}

// Tensor describes a tensor by its index in the order of the load.
func (s *TensorSet) Tensor(index uint64) (TensorInfo, error) {
	t, err := s.at("tensor_set.tensor", index)
	if err != nil {
		return TensorInfo{}, err
	}
	return infoOf(t), nil
}

// TensorName returns the name of a tensor by its index.
func (s *TensorSet) TensorName(index uint64) (string, error) {
	t, err := s.at("tensor_set.tensor_name", index)
	if err != nil {
		return "", err
	}
	return t.Name, nil
}

// Find describes a tensor by its name. Errors: CodeNotFound.
func (s *TensorSet) Find(name string) (TensorInfo, error) {
	const op = "tensor_set.find"
	tensors, err := s.loaded(op)
	if err != nil {
		return TensorInfo{}, err
	}
	at, found := s.byName[name]
	if !found {
		return TensorInfo{}, device.Errorf(device.CodeNotFound, op, "there is no tensor %q among %d, loaded from %s", name, len(tensors), s.name)
	}
	return infoOf(&tensors[at]), nil
}

func infoOf(t *weights.Loaded) TensorInfo {
	info := TensorInfo{
		DType: t.Type, Rank: uint32(len(t.Shape)), Tied: t.TiedTo != "", Address: t.Addr, SizeBytes: t.SizeBytes,
		Device: t.Device.String(),
	}
	copy(info.Shape[:], t.Shape)
	return info
}

// loadedTensor is the record of a tensor in JSON.
type loadedTensor struct {
	Name      string   `json:"name"`
	DType     string   `json:"dtype"`
	Shape     []uint64 `json:"shape"`
	Device    string   `json:"device"`
	Address   uint64   `json:"address"`
	SizeBytes uint64   `json:"size_bytes"`
	TiedTo    *string  `json:"tied_to"`
}

// TensorsJSON lists the tensors in their order, in the form that docs/weights.md documents.
func (s *TensorSet) TensorsJSON() ([]byte, error) {
	const op = "tensor_set.tensors_json"
	tensors, err := s.loaded(op)
	if err != nil {
		return nil, err
	}
	list := make([]loadedTensor, len(tensors))
	for at := range tensors {
		t := &tensors[at]
		list[at] = loadedTensor{
			Name: t.Name, DType: t.Type.String(), Shape: append([]uint64{}, t.Shape...), Device: t.Device.String(),
			Address: uint64(t.Addr), SizeBytes: t.SizeBytes,
		}
		if t.TiedTo != "" {
			list[at].TiedTo = &t.TiedTo
		}
	}
	return encode(op, map[string]any{"tensors": list})
}

// Check returns an error if a file of a mapped set has become shorter. Errors: CodeIO.
func (s *TensorSet) Check() error {
	if _, err := s.loaded("tensor_set.check"); err != nil {
		return err
	}
	s.using.RLock()
	defer s.using.RUnlock()
	if s.ended.Load() {
		return endedError(s)
	}
	return s.set.CheckMapped()
}
