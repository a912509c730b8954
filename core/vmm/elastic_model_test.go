package vmm

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/pageset"
)

// naiveElastic is the reference model of an elastic pool: for each model its ranges, in
// order of allocation. Its callbacks free the oldest ones first.
type naiveElastic struct {
	*party
	stream *devicetest.Stream
	limit  uint64
	models []*naiveModel
	// calls guards the ranges while a callback runs.
	calls sync.Mutex
	// blocked states that threads may not wait, because they would wait for held work.
	blocked atomic.Bool
}

type naiveModel struct {
	real   *Model
	limits ModelLimits
	// effective is the number of pages of its guarantee that are in effect.
	effective uint64
	ranges    []naiveRange
	retiring  []pageset.Run
	willing   bool
	failures  uint64
}

type naiveRange struct{ offset, size uint64 }

const spacePages = 20

func (r naiveRange) run() pageset.Run {
	end := (r.offset + r.size + page - 1) / page
	return pageset.Run{Start: r.offset / page, Pages: end - r.offset/page}
}

// cells reports which pages of a model are not free.
func (m *naiveModel) cells() (cells [spacePages]bool) {
	for _, r := range m.ranges {
		for at := r.run().Start; at < r.run().End(); at++ {
			cells[at] = true
		}
	}
	for _, r := range m.retiring {
		for at := r.Start; at < r.End(); at++ {
			cells[at] = true
		}
	}
	return cells
}

func (m *naiveModel) used() (used uint64) {
	for _, taken := range m.cells() {
		if taken {
			used++
		}
	}
	return used
}

func (m *naiveModel) owed() uint64 { return m.guaranteed() - min(m.used(), m.guaranteed()) }

func (m *naiveModel) guaranteed() uint64 { return m.effective }

// asked returns the requested guarantee.
func (m *naiveModel) asked() uint64 { return m.limits.GuaranteedBytes / page }

// committed returns the sum of max(used, guaranteed) over the models.
func (n *naiveElastic) committed() uint64 {
	return n.sum(func(m *naiveModel) uint64 { return max(m.used(), m.guaranteed()) })
}

// raise increases a guarantee page by page as far as it was requested and pages back
// it.
func (n *naiveElastic) raise(m *naiveModel) {
	for m.effective < m.asked() {
		m.effective++
		if m.effective > m.used() && n.committed() > n.limit {
			m.effective--
			return
		}
	}
}

// raiseAll raises the waiting guarantees: the highest priority first.
func (n *naiveElastic) raiseAll() {
	order := slices.Clone(n.models)
	slices.SortStableFunc(order, func(a, b *naiveModel) int { return cmp.Compare(b.limits.Priority, a.limits.Priority) })
	for _, m := range order {
		n.raise(m)
	}
}

func (m *naiveModel) excess() uint64 { return m.used() - min(m.used(), m.guaranteed()) }

func (m *naiveModel) most() uint64 {
	if m.limits.MaxBytes == 0 {
		return 1 << 40
	}
	return m.limits.MaxBytes / page
}

func (m *naiveModel) firstFit(pages uint64) (uint64, bool) {
	cells := m.cells()
	for start := uint64(0); start+pages <= spacePages; start++ {
		if !slices.Contains(cells[start:start+pages], true) {
			return start, true
		}
	}
	return 0, false
}

func (n *naiveElastic) sum(of func(*naiveModel) uint64) (sum uint64) {
	for _, m := range n.models {
		sum += of(m)
	}
	return sum
}

// missing returns the number of pages that the pool lacks if a model grows by pages.
func (n *naiveElastic) missing(m *naiveModel, pages uint64) uint64 {
	need := n.sum((*naiveModel).used) + n.sum((*naiveModel).owed) - m.owed() + pages
	return need - min(need, n.limit)
}

// give frees the oldest ranges of a model, as its callback does.
func (m *naiveModel) give(pages uint64) {
	if !m.willing {
		return
	}
	for freed := uint64(0); freed < pages && len(m.ranges) > 0; {
		freed += m.ranges[0].run().Pages
		m.ranges = m.ranges[1:]
	}
}

// admit reports whether a model can grow by pages, after others have freed pages for
// it.
func (n *naiveElastic) admit(m *naiveModel, pages uint64) bool {
	others := n.sum((*naiveModel).guaranteed) - m.guaranteed()
	if pages > m.most() || pages > n.limit-min(others, n.limit) {
		return false
	}
	ask := !n.blocked.Load()
	if over := m.used() + pages; over > m.most() && ask {
		m.give(over - m.most())
		n.raiseAll()
	}
	if m.used()+pages > m.most() {
		return false
	}
	if n.missing(m, pages) == 0 {
		return true
	}
	if !ask {
		return false
	}
	order := slices.Clone(n.models)
	slices.SortStableFunc(order, func(a, b *naiveModel) int {
		return cmp.Or(cmp.Compare(a.limits.Priority, b.limits.Priority), cmp.Compare(b.excess(), a.excess()))
	})
	for _, giver := range order {
		giver.give(min(n.missing(m, pages), giver.excess()))
		n.raiseAll()
		if n.missing(m, pages) == 0 {
			return true
		}
	}
	return false
}

// notBacked checks the error for a guarantee of which that many pages are backed.
func notBacked(t *rapid.T, err error, pages uint64) {
	require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
	require.ErrorContains(t, err, "pages back "+sized(pages*page)+" of them")
}

func (n *naiveElastic) pick(t *rapid.T) *naiveModel {
	if len(n.models) == 0 {
		t.Skip("no model")
	}
	return rapid.SampledFrom(n.models).Draw(t, "model")
}

func (n *naiveElastic) register(t *rapid.T) {
	id := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "id")
	m := &naiveModel{willing: rapid.Bool().Draw(t, "willing"), limits: n.drawLimits(t)}
	c := ModelConfig{
		VirtualBytes: spacePages * page, GuaranteedBytes: m.limits.GuaranteedBytes, MaxBytes: m.limits.MaxBytes,
		Priority: m.limits.Priority, GuaranteeMayWait: m.limits.GuaranteeMayWait,
	}
	real, err := n.shared.Register(id, c)
	exists := slices.ContainsFunc(n.models, func(other *naiveModel) bool { return other.real.id == id })
	switch {
	case m.asked() > m.most():
		require.ErrorIs(t, err, device.CodeInvalidConfig)
		return
	case exists:
		require.ErrorIs(t, err, device.CodeModelAlreadyExists)
		return
	case n.sum((*naiveModel).asked)+m.asked() > n.limit:
		require.ErrorIs(t, err, device.CodeInvalidConfig)
		return
	}
	n.models = append(n.models, m)
	if n.raise(m); m.effective < m.asked() && !m.limits.GuaranteeMayWait {
		n.models = n.models[:len(n.models)-1]
		notBacked(t, err, m.effective)
		return
	}
	require.NoError(t, err)
	m.real = real
	if !m.willing {
		return
	}
	_, err = n.shared.OnReclaim(id, patient, func(needed uint64) uint64 { return n.callback(m, needed) })
	require.NoError(t, err)
}

// callback frees the oldest ranges of the real model.
func (n *naiveElastic) callback(m *naiveModel, needed uint64) (freed uint64) {
	n.calls.Lock()
	defer n.calls.Unlock()
	for _, r := range m.ranges {
		// Ranges that an earlier call of the same allocation has freed are missing.
		if freed < needed && m.real.Free(r.offset, r.size, nil) == nil {
			freed += r.run().Pages * page
		}
	}
	return freed
}

func (n *naiveElastic) drawLimits(t *rapid.T) ModelLimits {
	few := rapid.Uint64Range(0, 6)
	l := ModelLimits{
		GuaranteedBytes: few.Draw(t, "guaranteed") * page, Priority: rapid.Int32Range(0, 2).Draw(t, "priority"),
		GuaranteeMayWait: rapid.Bool().Draw(t, "may wait"),
	}
	if most := few.Draw(t, "most"); most > 0 {
		l.MaxBytes = most * 3 * page
	}
	return l
}

func (n *naiveElastic) unregister(t *rapid.T) {
	m, force := n.pick(t), rapid.Bool().Draw(t, "force")
	if len(m.retiring) > 0 || (n.blocked.Load() && force) {
		t.Skip("it would wait for held work")
	}
	err := n.shared.Unregister(m.real.id, force)
	if len(m.ranges) > 0 && !force {
		require.ErrorIs(t, err, device.CodeBusy)
		return
	}
	require.NoError(t, err)
	n.models = slices.DeleteFunc(n.models, func(other *naiveModel) bool { return other == m })
}

func (n *naiveElastic) allocate(t *rapid.T) {
	m := n.pick(t)
	size := rapid.OneOf(rapid.Map(rapid.Uint64Range(1, 8), func(p uint64) uint64 { return p * page }),
		rapid.Uint64Range(1, (spacePages+2)*page)).Draw(t, "size")
	pages := (size + page - 1) / page
	got, err := m.real.Alloc(size)
	n.calls.Lock()
	defer n.calls.Unlock()
	if _, fits := m.firstFit(pages); !fits {
		require.ErrorIs(t, err, device.CodeOutOfVirtualMemory)
		m.failures++
		return
	}
	if !n.admit(m, pages) {
		require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
		m.failures++
		return
	}
	require.NoError(t, err)
	start, _ := m.firstFit(pages)
	require.Equal(t, naiveRange{start * page, size}, naiveRange{got.OffsetBytes, got.SizeBytes})
	m.ranges = append(m.ranges, naiveRange{start * page, size})
}

func (n *naiveElastic) allocateAt(t *rapid.T) {
	m := n.pick(t)
	r := naiveRange{rapid.Uint64Range(0, spacePages*page-1).Draw(t, "offset"), rapid.Uint64Range(1, 5*page).Draw(t, "size")}
	if r.offset+r.size > spacePages*page {
		require.ErrorIs(t, second(m.real.AllocAt(r.offset, r.size)), device.CodeInvalidOffset)
		return
	}
	for _, retiring := range m.retiring {
		if retiring.Start < r.run().End() && r.run().Start < retiring.End() {
			t.Skip("it would wait for held work")
		}
	}
	got, err := m.real.AllocAt(r.offset, r.size)
	n.calls.Lock()
	defer n.calls.Unlock()
	cells := m.cells()
	if slices.Contains(cells[r.run().Start:r.run().End()], true) {
		require.ErrorIs(t, err, device.CodeAlreadyMapped)
		return
	}
	if !n.admit(m, r.run().Pages) {
		require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
		m.failures++
		return
	}
	require.NoError(t, err)
	require.Equal(t, r, naiveRange{got.OffsetBytes, got.SizeBytes})
	m.ranges = append(m.ranges, r)
}

func (n *naiveElastic) deallocate(t *rapid.T) {
	m := n.pick(t)
	if len(m.ranges) == 0 {
		t.Skip("nothing is live")
	}
	at := rapid.IntRange(0, len(m.ranges)-1).Draw(t, "range")
	r := m.ranges[at]
	stream := device.Stream(n.dev.Default())
	if rapid.Bool().Draw(t, "queued") {
		require.NoError(t, n.stream.HostFunction(func() {}))
		stream = n.stream
		m.retiring = append(m.retiring, r.run())
		n.blocked.Store(true)
	}
	require.NoError(t, m.real.Free(r.offset, r.size, stream))
	m.ranges = slices.Delete(m.ranges, at, at+1)
}

func (n *naiveElastic) finish(*rapid.T) {
	n.stream.Step(1 << 20)
	for _, m := range n.models {
		m.retiring = nil
	}
	n.blocked.Store(false)
}

func (n *naiveElastic) setLimit(t *rapid.T) {
	limit := rapid.Uint64Range(1, 40).Draw(t, "limit")
	err := n.shared.SetLimit(limit * page)
	if limit < n.sum((*naiveModel).asked) {
		require.ErrorIs(t, err, device.CodeInvalidConfig)
		return
	}
	require.NoError(t, err)
	n.limit = limit
	used := n.sum((*naiveModel).used)
	require.LessOrEqual(t, n.dev.HeldBytes(), max(limit, used)*page, "free pages above the limit are released at once")
}

func (n *naiveElastic) setModel(t *rapid.T) {
	m, l := n.pick(t), n.drawLimits(t)
	err := n.shared.SetModelLimits(m.real.id, l)
	old := *m
	m.limits, m.effective = l, min(old.effective, l.GuaranteedBytes/page)
	n.raise(m)
	switch {
	case m.asked() > m.most() || n.sum((*naiveModel).asked) > n.limit:
		*m = old
		require.ErrorIs(t, err, device.CodeInvalidConfig)
	case m.effective < m.asked() && !l.GuaranteeMayWait:
		backed := m.effective
		*m = old
		notBacked(t, err, backed)
	default:
		require.NoError(t, err)
	}
}

func (n *naiveElastic) compare(t *rapid.T) {
	n.shared.physical.CompleteFrees()
	n.raiseAll()
	require.NoError(t, n.audit())
	stats := n.shared.Stats()
	require.EqualValues(t, n.sum((*naiveModel).used)*page, stats.PhysicalBytes)
	require.EqualValues(t, n.sum((*naiveModel).guaranteed)*page, stats.GuaranteedBytes)
	require.Len(t, stats.Each, len(n.models))
	for i, m := range n.models {
		each := stats.Each[i]
		require.Equal(t, m.real.id, each.ID)
		require.Equal(t, m.used()*page, each.PhysicalBytes)
		require.Equal(t, m.failures, each.Failures)
		require.Equal(t, []uint64{m.guaranteed() * page, m.asked() * page}, []uint64{each.GuaranteedBytes, each.RequestedGuaranteeBytes})
		have := n.limit - min(n.missing(m, n.limit), n.limit)
		require.Equal(t, min(have, m.most()-min(m.used(), m.most()))*page, each.AvailableBytes)
		require.Equal(t, m.limits.Priority, each.Priority)
	}
}

func TestRandomProgramsOnAElasticPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &naiveElastic{limit: 24}
		n.party = newPartyWith(t, devicetest.Config{}, engine.Options{MayNotWait: n.blocked.Load},
			ElasticConfig{LimitBytes: n.limit * page, ReadyPages: rapid.SampledFrom([]int{-1, 3}).Draw(t, "ready")}, false)
		stream, err := n.dev.NewStream()
		require.NoError(t, err)
		n.stream = stream.(*devicetest.Stream)
		n.stream.Hold()
		t.Repeat(map[string]func(*rapid.T){
			"register": n.register, "unregister": n.unregister, "allocate": n.allocate, "allocate2": n.allocate,
			"allocateAt": n.allocateAt, "allocateAnywhere": n.allocateAnywhere, "deallocate": n.deallocate, "finish": n.finish, "limit": n.setLimit,
			"model": n.setModel, "settle": func(*rapid.T) { n.shared.physical.Settle() },
			"tick": func(*rapid.T) { n.shared.physical.tick() }, "": n.compare,
		})
		n.finish(t)
		require.NoError(t, n.stream.Close())
		n.quit(t)
	})
}
