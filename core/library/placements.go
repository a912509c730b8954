package library

import (
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/placement"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/pressure"
)

// PlacementRequest is a request with the handles of its devices.
type PlacementRequest struct {
	placement.Request
	// Preferred has handles and replaces the field of Request.
	Preferred []uint64
	// Devices are the candidates; nil: all open devices.
	Devices []uint64
	Profile pressure.Profile
	// Strategy is the handle of the strategy that chooses, and the token of its
	// callback.
	Strategy uint64
}

// PlacementOption is a candidate with the handle of its device.
type PlacementOption struct {
	placement.Option
	Device uint64
}

// PlacementChooser is a strategy of the caller.
type PlacementChooser func(r PlacementRequest, options []PlacementOption) (int, error)

// PlacementCreate creates a built-in placement strategy.
func (l *Library) PlacementCreate(name string) (uint64, error) {
	return l.addPlacement("placement.create", func(*Placement) (*placement.Strategy, error) {
		return placement.New(name)
	})
}

// PlacementCreateOwn creates a strategy of the caller, which is called on the thread of
// the selection.
func (l *Library) PlacementCreateOwn(name string, choose PlacementChooser) (uint64, error) {
	const op = "placement.create_own"
	if choose == nil {
		return 0, device.Errorf(device.CodeNullPointer, op, "callback is nil")
	}
	return l.addPlacement(op, func(p *Placement) (*placement.Strategy, error) {
		return placement.NewOwn(name, func(r placement.Request, options []placement.Option) (int, error) {
			if !p.calls.enter() {
				return placement.None, device.Errorf(device.CodeInvalidHandle, op, "the strategy has been destroyed")
			}
			defer p.calls.exit()
			given, shown := l.registry.withHandles(r, options)
			given.Strategy = p.handle.Load()
			chosen := placement.None
			var err error
			l.running.during(nil, func() { chosen, err = choose(given, shown) })
			return chosen, err
		})
	})
}

func (l *Library) addPlacement(op string, build func(*Placement) (*placement.Strategy, error)) (uint64, error) {
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	entry := &Placement{calls: newGate()}
	made, err := build(entry)
	if err != nil {
		return 0, err
	}
	entry.strategy = made
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	return insert(l, l.registry.placements, entry)
}

// Destroy destroys the strategy. It waits for running calls of a strategy of the
// caller, unless it is called from one: running, the tokens of the callbacks that the
// calling thread runs, then has the handle of the strategy.
func (p *Placement) Destroy(running []uint64) error {
	if _, err := p.library.registry.placements.Remove(p.id()); err != nil {
		return err
	}
	p.end(slices.Contains(running, p.id()))
	return nil
}

// PlacementGetName returns the name of a strategy.
func (l *Library) PlacementGetName(id uint64) (string, error) {
	if l.current.Load() != nil {
		if entry, ok := l.registry.placements.Near(id); ok {
			return entry.strategy.Name(), nil
		}
	}
	entry, err := l.Placement("placement.name", id)
	if err != nil {
		return "", err
	}
	return entry.strategy.Name(), nil
}

// recentReading is the maximum age of the readings for a choice.
const recentReading = 100 * time.Millisecond

// Select chooses a device for a request. It returns CodeNotFound, with the reason for
// each device, if none can serve the request.
func (p *Placement) Select(r PlacementRequest) (uint64, error) {
	request, devices, candidates, err := p.library.registry.candidates(r)
	if err != nil {
		return 0, err
	}
	d, err := p.strategy.Select(request, candidates)
	if err != nil {
		return 0, CallError(err, r.asked(p, devices)...)
	}
	return devices[d.Chosen].handle.Load(), nil
}

// asked lists the objects that the caller has named.
func (r *PlacementRequest) asked(p *Placement, devices []*Device) []member {
	objects := []member{p}
	if r.Devices != nil {
		for _, d := range devices {
			objects = append(objects, d)
		}
	}
	return objects
}

// candidates finds the devices of a request and reads their memory. A device whose
// query fails is a candidate with unknown memory.
func (g *registry) candidates(r PlacementRequest) (placement.Request, []*Device, []placement.Candidate, error) {
	request := r.Request
	request.Preferred = nil
	if err := r.Profile.Check("placement.select"); err != nil {
		return request, nil, nil, err
	}
	for _, handle := range r.Preferred {
		d, err := g.devices.Get(handle)
		if err != nil {
			return request, nil, nil, err
		}
		request.Preferred = append(request.Preferred, d.Engine.ID())
	}
	var devices []*Device
	if r.Devices == nil {
		devices = g.listDevices()
	}
	for _, handle := range r.Devices {
		d, err := g.devices.Get(handle)
		if err != nil {
			return request, nil, nil, err
		}
		devices = append(devices, d)
	}
	candidates := make([]placement.Candidate, len(devices))
	for i, d := range devices {
		candidates[i] = candidateOf(d.Engine, r.Profile)
	}
	return request, devices, candidates, nil
}

func candidateOf(e *engine.Engine, profile pressure.Profile) placement.Candidate {
	c := placement.Candidate{
		Device: e.ID(), Profile: profile,
		// A block has the alignment of its pool, unless it requests a larger one.
		AlignmentBytes: min(pool.DefaultConfig().AlignmentBytes, e.Info().AlignmentBytes),
		Lacks:          func(kind manager.MemoryType) bool { return !kind.SupportedOn(e) },
	}
	info, err := e.RecentMemoryInfo(recentReading)
	if err != nil {
		return c
	}
	c.Known = true
	c.TotalBytes, c.UsedBytes, c.FreeBytes = info.TotalBytes, info.UsedBytes, info.FreeBytes
	c.LargestFreeBytes = info.LargestFreeBytes
	return c
}

// withHandles converts a request and its options from ids to handles.
func (g *registry) withHandles(r placement.Request, options []placement.Option) (PlacementRequest, []PlacementOption) {
	handles := map[device.ID]uint64{}
	for _, d := range g.listDevices() {
		handles[d.Engine.ID()] = d.handle.Load()
	}
	given := PlacementRequest{Request: r}
	for _, id := range r.Preferred {
		given.Preferred = append(given.Preferred, handles[id])
	}
	found := make([]PlacementOption, len(options))
	for i, o := range options {
		found[i] = PlacementOption{Option: o, Device: handles[o.Device]}
		given.Profile = o.Profile
	}
	return given, found
}
