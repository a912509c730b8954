package replay

import (
	"cmp"
	"slices"
	"time"
)

const (
	// maxPoints bounds the number of points of the time series.
	maxPoints = 1000
	// maxMoments bounds the table of peaks. Two peaks are at least 1/momentSpread of
	// the replay apart.
	maxMoments   = 10
	momentSpread = 40
)

// meter records the counters of a replay over time.
type meter struct {
	demand   demand
	reserved func() uint64
	// settle returns the reserved bytes from now on, and until when they hold.
	settle func(now, until int64) (reserved uint64, next int64)

	now     int64
	live    uint64
	held    uint64 // reserved bytes now, which are also the physical bytes
	running int

	peakLive, peakHeld uint64
	liveArea, heldArea float64

	failures []Failure
	failed   uint64
	reasons  map[string]uint64

	interval int64
	points   []point
}

// point is one interval of the series.
type point struct {
	held   uint64
	failed uint64
	// peak is the moment with the most live bytes.
	peak Moment
}

func newMeter(d demand, reserved func() uint64, settle func(now, until int64) (reserved uint64, next int64)) *meter {
	span := d.last - d.first
	m := &meter{demand: d, reserved: reserved, settle: settle, now: d.first, reasons: make(map[string]uint64)}
	m.interval = max(1, span/(maxPoints-1)+1)
	m.points = make([]point, span/m.interval+1)
	return m
}

// time returns the time for the pool's retention of idle pages.
func (m *meter) time() time.Duration { return time.Duration(m.now) }

// advance moves the time forward without other changes.
func (m *meter) advance(now int64) {
	for m.now < now {
		m.note()
		held, next := m.settle(m.now, now)
		m.held = held
		m.stay(next)
	}
}

// stay moves the time forward over a period in which nothing happens.
func (m *meter) stay(now int64) {
	m.liveArea += float64(m.live) * float64(now-m.now)
	m.heldArea += float64(m.held) * float64(now-m.now)
	until := m.place(now)
	for i := m.place(m.now) + 1; i <= until; i++ {
		start := m.demand.first + int64(i)*m.interval
		if start == now {
			break // the next event is the first state of this interval
		}
		m.points[i] = point{held: m.held, peak: m.moment(start)}
	}
	m.now = now
}

func (m *meter) place(now int64) int { return int((now - m.demand.first) / m.interval) }

func (m *meter) moment(at int64) Moment {
	return Moment{Time: at, LiveBytes: m.live, ReservedBytes: m.held, PhysicalBytes: m.held, Running: m.running}
}

// note records the present state in the present interval.
func (m *meter) note() {
	p := &m.points[m.place(m.now)]
	p.held = max(p.held, m.held)
	if m.live > p.peak.LiveBytes {
		p.peak = m.moment(m.now)
	}
}

func (m *meter) allocated(size uint64) {
	m.live += size
	m.held = m.reserved()
	m.peakLive = max(m.peakLive, m.live)
	m.peakHeld = max(m.peakHeld, m.held)
	m.note()
}

func (m *meter) freed(size uint64) { m.live -= size }

func (m *meter) requests(running int) { m.running = running }

func (m *meter) refused(f Failure) {
	// The reclaim path may have released or allocated segments.
	m.held = m.reserved()
	m.peakHeld = max(m.peakHeld, m.held)
	f.LiveBytes = m.live
	m.failed++
	m.reasons[f.Reason]++
	m.points[m.place(m.now)].failed++
	if len(m.failures) < MaxFailures {
		m.failures = append(m.failures, f)
	}
}

// fill writes all values of the meter to a result.
func (m *meter) fill(r *Result) {
	m.note()
	r.Failed = m.failed
	r.PeakLiveBytes = m.peakLive
	r.ReservedPeakBytes, r.PhysicalPeakBytes = m.peakHeld, m.peakHeld
	if m.liveArea > 0 {
		r.PhysicalOverLiveArea = m.heldArea / m.liveArea
	}
	r.Duration = m.demand.last - m.demand.first
	r.Failures = append([]Failure{}, m.failures...)
	r.FailuresByReason = countReasons(m.reasons)
	r.Moments = m.moments()
	s := &r.Series
	s.Interval = m.interval
	for i, p := range m.points {
		s.Time = append(s.Time, m.demand.first+int64(i)*m.interval)
		s.LiveBytes = append(s.LiveBytes, p.peak.LiveBytes)
		s.ReservedBytes = append(s.ReservedBytes, p.held)
		s.PhysicalBytes = append(s.PhysicalBytes, p.held)
		s.Failed = append(s.Failed, p.failed)
	}
}

func countReasons(reasons map[string]uint64) []ReasonCount {
	counts := []ReasonCount{}
	for _, reason := range []string{ReasonTooLarge, ReasonLimit, ReasonFragmentation} {
		if n := reasons[reason]; n > 0 {
			counts = append(counts, ReasonCount{Reason: reason, Count: n})
		}
	}
	return counts
}

// moments returns the highest peaks that are not on the slope of a higher one.
func (m *meter) moments() []Moment {
	var peaks []Moment
	for i, p := range m.points {
		live := p.peak.LiveBytes
		if live == 0 || i > 0 && m.points[i-1].peak.LiveBytes > live ||
			i+1 < len(m.points) && m.points[i+1].peak.LiveBytes > live {
			continue
		}
		peaks = append(peaks, p.peak)
	}
	slices.SortStableFunc(peaks, func(a, b Moment) int { return cmp.Compare(b.LiveBytes, a.LiveBytes) })
	apart := (m.demand.last - m.demand.first) / momentSpread
	chosen := []Moment{}
	for _, peak := range peaks {
		near := slices.ContainsFunc(chosen, func(c Moment) bool {
			return max(c.Time-peak.Time, peak.Time-c.Time) < apart
		})
		if !near && len(chosen) < maxMoments {
			chosen = append(chosen, peak)
		}
	}
	return chosen
}
