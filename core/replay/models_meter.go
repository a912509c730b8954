package replay

// modelsMeter records the counters of a run of several models over time.
type modelsMeter struct {
	seats []blockSource
	// reserved returns the bytes that are held from the device now.
	reserved func() uint64

	first, interval int64
	started         bool
	now             int64
	each            []modelMeter
	// all is the sum of the models.
	all      gauges
	held     uint64
	peakHeld uint64
	heldArea float64
	points   []modelsPoint
}

// gauges has live and physical bytes: now, at the peak, and over time.
type gauges struct {
	live, physical         uint64
	peakLive, peakPhysical uint64
	liveArea, physicalArea float64
}

func (g *gauges) note() {
	g.peakLive, g.peakPhysical = max(g.peakLive, g.live), max(g.peakPhysical, g.physical)
}

func (g *gauges) pass(ns int64) {
	g.liveArea += float64(g.live) * float64(ns)
	g.physicalArea += float64(g.physical) * float64(ns)
}

type modelMeter struct {
	gauges
	allocations, failed uint64
	waits               histogram
	longest             int64
	reasons             map[string]uint64
	failures            []Failure
}

// modelsPoint is one interval of the series.
type modelsPoint struct {
	seen                     bool
	live, physical, reserved uint64
	eachLive, eachPhysical   []uint64
	failed                   []uint64
}

// newModelsMeter creates a meter whose series covers a demand; without a demand it has
// no series.
func newModelsMeter(seats []blockSource, reserved func() uint64, d *modelsDemand) *modelsMeter {
	m := &modelsMeter{seats: seats, reserved: reserved, each: make([]modelMeter, len(seats))}
	for i := range m.each {
		m.each[i].reasons = make(map[string]uint64)
	}
	if d != nil {
		m.first = d.first
		m.interval = max(1, (d.last-d.first)/(maxPoints-1)+1)
	}
	return m
}

// advance moves the time forward without other changes.
func (m *modelsMeter) advance(now int64) {
	if !m.started {
		m.started, m.now = true, now
		if m.interval == 0 {
			m.first = now
		}
	}
	if now == m.now {
		return
	}
	passed := now - m.now
	m.all.pass(passed)
	m.heldArea += float64(m.held) * float64(passed)
	for i := range m.each {
		m.each[i].pass(passed)
	}
	if m.interval != 0 {
		m.note()
		until := m.place(now)
		for i := m.place(m.now) + 1; i <= until; i++ {
			if m.first+int64(i)*m.interval < now {
				m.noteAt(i)
			}
		}
	}
	m.now = now
}

func (m *modelsMeter) place(now int64) int { return int((now - m.first) / m.interval) }

// note records the present state in the present interval.
func (m *modelsMeter) note() {
	if m.interval != 0 {
		m.noteAt(m.place(m.now))
	}
}

func (m *modelsMeter) noteAt(i int) {
	p := m.point(i)
	p.reserved = max(p.reserved, m.held)
	if p.seen && m.all.physical <= p.physical {
		return
	}
	p.seen, p.live, p.physical = true, m.all.live, m.all.physical
	for j := range m.each {
		p.eachLive[j], p.eachPhysical[j] = m.each[j].live, m.each[j].physical
	}
}

// point creates the intervals up to index i. With waits a run is longer than the
// demand.
func (m *modelsMeter) point(i int) *modelsPoint {
	for len(m.points) <= i {
		n := len(m.each)
		m.points = append(m.points, modelsPoint{
			eachLive: make([]uint64, n), eachPhysical: make([]uint64, n), failed: make([]uint64, n),
		})
	}
	return &m.points[i]
}

func (m *modelsMeter) allocated(model int, size uint64) {
	e := &m.each[model]
	e.allocations++
	e.live += size
	m.all.live += size
	m.sample(model)
	e.note()
	m.all.note()
	m.note()
}

func (m *modelsMeter) freed(model int, size uint64) {
	m.each[model].live -= size
	m.all.live -= size
	m.sample(model)
}

// sample reads the physical memory of a model and the bytes held from the device.
func (m *modelsMeter) sample(model int) {
	e := &m.each[model]
	m.all.physical -= e.physical
	e.physical = m.seats[model].physical()
	m.all.physical += e.physical
	m.sampleReserved()
}

func (m *modelsMeter) sampleReserved() {
	m.held = m.reserved()
	m.peakHeld = max(m.peakHeld, m.held)
}

func (m *modelsMeter) waited(model int, ns int64) {
	m.each[model].waits.add(ns)
	m.each[model].longest = max(m.each[model].longest, ns)
}

func (m *modelsMeter) refused(model int, f Failure) {
	e := &m.each[model]
	f.LiveBytes = e.live
	e.failed++
	e.reasons[f.Reason]++
	if m.interval != 0 {
		m.point(m.place(m.now)).failed[model]++
	}
	if len(e.failures) < MaxFailures {
		e.failures = append(e.failures, f)
	}
}

// usage returns a model's part of the result.
func (m *modelsMeter) usage(model int) Usage {
	e := &m.each[model]
	u := m.usageOf(e.gauges)
	u.Allocations, u.Failed, u.Waits = e.allocations, e.failed, e.waits.total
	u.WaitNSMedian, u.WaitNSP99, u.WaitNSMax = e.waits.quantile(0.5), e.waits.quantile(0.99), e.longest
	return u
}

// total returns the part of all models together.
func (m *modelsMeter) total() Usage {
	u := m.usageOf(m.all)
	var waits histogram
	for i := range m.each {
		e := &m.each[i]
		u.Allocations += e.allocations
		u.Failed += e.failed
		u.WaitNSMax = max(u.WaitNSMax, e.longest)
		waits.merge(&e.waits)
	}
	u.Waits, u.WaitNSMedian, u.WaitNSP99 = waits.total, waits.quantile(0.5), waits.quantile(0.99)
	return u
}

func (m *modelsMeter) usageOf(g gauges) Usage {
	u := Usage{PeakLiveBytes: g.peakLive, PhysicalPeakBytes: g.peakPhysical, PhysicalOverLiveArea: ratio(g.physicalArea, g.liveArea)}
	u.PhysicalMeanBytes = m.mean(g.physicalArea)
	return u
}

func (m *modelsMeter) mean(area float64) uint64 {
	return uint64(ratio(area, float64(m.now-m.first)))
}

func (m *modelsMeter) series(models []ModelTrace) ModelsSeries {
	m.note()
	s := ModelsSeries{Interval: m.interval}
	for i, p := range m.points {
		s.Time = append(s.Time, m.first+int64(i)*m.interval)
		s.LiveBytes = append(s.LiveBytes, p.live)
		s.PhysicalBytes = append(s.PhysicalBytes, p.physical)
		s.ReservedBytes = append(s.ReservedBytes, p.reserved)
	}
	for j, model := range models {
		each := ModelSeries{ID: model.ID}
		for _, p := range m.points {
			each.LiveBytes = append(each.LiveBytes, p.eachLive[j])
			each.PhysicalBytes = append(each.PhysicalBytes, p.eachPhysical[j])
			each.Failed = append(each.Failed, p.failed[j])
		}
		s.Models = append(s.Models, each)
	}
	return s
}
