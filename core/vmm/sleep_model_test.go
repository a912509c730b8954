package vmm

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/sleep"
)

// sleepCell is the expected state of a page; allocation 0: it has none.
type sleepCell struct {
	allocation    int
	tag           string
	value         byte
	asleep, empty bool
}

const (
	sleepPages = 24
	sleepLimit = 20
)

// sleeperModel is the expected state of a model.
type sleeperModel struct {
	*Model
	cells [sleepPages]sleepCell
	// all, tags and awake are as in sleep.Tags.
	all         bool
	tags, awake map[string]bool
}

func (n *sleeperModel) name(tag string) string {
	if tag == "" {
		return n.id
	}
	return tag
}

func (n *sleeperModel) sleeps(tag string) bool {
	if n.all {
		return !n.awake[tag]
	}
	return n.tags[tag]
}

func (n *sleeperModel) count(is func(sleepCell) bool) (pages uint64) {
	for _, c := range n.cells {
		if c.allocation != 0 && is(c) {
			pages++
		}
	}
	return pages
}

func (n *sleeperModel) live() uint64 { return n.count(func(c sleepCell) bool { return !c.asleep }) }

// sleepNaive is two models with their expected state.
type sleepNaive struct {
	*party
	models []*sleeperModel
	dir    string
	ids    int
	// limit is in pages; the pages that are awake may exceed it.
	limit uint64
	// meanwhile runs in the middle of the next Sleep: when host memory is allocated for
	// it.
	meanwhile func()
}

func (n *sleepNaive) available() uint64 {
	return n.limit - min(n.limit, n.models[0].live()+n.models[1].live())
}

func (n *sleepNaive) setLimit(t *rapid.T) {
	n.limit = rapid.Uint64Range(1, sleepLimit+4).Draw(t, "limit")
	require.NoError(t, n.shared.SetLimit(n.limit*page))
}

// trouble is a change that another thread makes in the middle of a Sleep.
type trouble struct {
	limit, first, pages uint64
	other               *sleeperModel
	cancels, happened   bool
	limitErr, takeErr   error
	freeErrs            []error
}

// plan draws what is to happen: the limit changes, the other model requests pages,
// ranges that are falling asleep are freed, and the call may be cancelled.
func (n *sleepNaive) plan(t *rapid.T, m *sleeperModel, cancel func()) *trouble {
	p := &trouble{
		limit: rapid.Uint64Range(1, sleepLimit+4).Draw(t, "limit meanwhile"),
		first: rapid.Uint64Range(0, sleepPages-1).Draw(t, "first meanwhile"), pages: 1,
		other: n.models[0], cancels: rapid.Bool().Draw(t, "cancels"),
	}
	if m == p.other {
		p.other = n.models[1]
	}
	n.meanwhile = func() {
		n.meanwhile = nil
		p.happened = true
		p.limitErr = n.shared.SetLimit(p.limit * page)
		_, p.takeErr = p.other.AllocTaggedAt(AllocRequest{OffsetBytes: p.first * page, SizeBytes: page})
		for at, ok := m.space.table.shifting.Next(0); ok; at, ok = m.space.table.shifting.Next(at + 1) {
			p.freeErrs = append(p.freeErrs, m.Free(at*page, page, nil))
			if at+1 == sleepPages {
				break
			}
		}
		if p.cancels {
			cancel()
		}
	}
	return p
}

// settle compares what happened in the middle with the expected state; nothing that was
// awake before is asleep yet.
func (n *sleepNaive) settle(t *rapid.T, p *trouble) {
	n.meanwhile = nil
	if !p.happened {
		return
	}
	require.NoError(t, p.limitErr)
	n.limit = p.limit
	want, cell := device.CodeOK, &p.other.cells[p.first]
	switch {
	case p.other.sleeps(p.other.id), cell.allocation != 0 && cell.asleep:
		want = device.CodeInvalidState
	case cell.allocation != 0:
		want = device.CodeAlreadyMapped
	case n.available() == 0:
		want = device.CodeOutOfPhysicalMemory
	}
	require.Equal(t, want, device.CodeOf(p.takeErr), "%v", p.takeErr)
	if p.takeErr == nil {
		n.ids++
		*cell = sleepCell{allocation: n.ids, tag: p.other.id, value: byte(1 + n.ids%255)}
		addr := p.other.BaseAddress() + device.Addr(p.first*page)
		require.NoError(t, n.dev.FillNow(addr, cell.value, page))
	}
	require.NotEmpty(t, p.freeErrs)
	for _, err := range p.freeErrs {
		require.ErrorIs(t, err, device.CodeBusy)
	}
}

var sleepTags = []string{"", "weights", "kv"}

func (n *sleepNaive) allocate(t *rapid.T, m *sleeperModel) {
	first := rapid.Uint64Range(0, sleepPages-1).Draw(t, "first")
	pages := rapid.Uint64Range(1, min(6, sleepPages-first)).Draw(t, "pages")
	tag := rapid.SampledFrom(sleepTags).Draw(t, "tag")
	cells := m.cells[first : first+pages]
	want := device.CodeOK
	if pages > n.available() {
		want = device.CodeOutOfPhysicalMemory
	}
	for _, c := range cells {
		if c.allocation != 0 && !c.asleep {
			want = device.CodeAlreadyMapped
		}
	}
	for _, c := range cells {
		if m.sleeps(m.name(tag)) || c.asleep {
			want = device.CodeInvalidState
		}
	}
	got, err := m.AllocTaggedAt(AllocRequest{OffsetBytes: first * page, SizeBytes: pages * page, Tag: tag})
	require.Equal(t, want, device.CodeOf(err), "%v", err)
	if err != nil {
		return
	}
	require.Equal(t, m.BaseAddress()+device.Addr(first*page), got.Addr)
	n.ids++
	value := byte(1 + n.ids%255)
	require.NoError(t, n.dev.FillNow(got.Addr, value, pages*page))
	for i := range cells {
		cells[i] = sleepCell{allocation: n.ids, tag: m.name(tag), value: value}
	}
}

func (n *sleepNaive) deallocate(t *rapid.T, m *sleeperModel) {
	first := rapid.Uint64Range(0, sleepPages-1).Draw(t, "first")
	pages := rapid.Uint64Range(1, min(6, sleepPages-first)).Draw(t, "pages")
	cells := m.cells[first : first+pages]
	want, asleep := device.CodeOK, 0
	for _, c := range cells {
		if c.allocation == 0 {
			want = device.CodeNotMapped
		}
		if c.asleep {
			asleep++
		}
	}
	if want == device.CodeOK && asleep != 0 && asleep != len(cells) {
		want = device.CodeInvalidState
	}
	err := m.Free(first*page, pages*page, nil)
	require.Equal(t, want, device.CodeOf(err), "%v", err)
	if err == nil {
		clear(cells)
	}
}

func (n *sleepNaive) sleep(t *rapid.T, m *sleeperModel) {
	r := SleepRequest{
		Tag:     rapid.SampledFrom(append(sleepTags, m.id)).Draw(t, "tag"),
		Backing: SleepBacking(rapid.IntRange(0, 2).Draw(t, "backing")), Streams: rapid.IntRange(0, 3).Draw(t, "streams"),
	}
	if r.Backing == SleepToFile {
		r.Dir = n.dir
	}
	chosen := func(c sleepCell) bool { return !c.asleep && (r.Tag == "" || c.tag == r.Tag) }
	pages, want := m.count(chosen), device.CodeOK
	switch {
	case r.Tag == "" && m.all && len(m.awake) == 0, r.Tag != "" && m.sleeps(r.Tag):
		want = device.CodeInvalidState
	case r.Tag != "" && pages == 0:
		want = device.CodeNotFound
	}
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	p := n.plan(t, m, cancel)
	report, err := m.Sleep(ctx, r)
	n.settle(t, p)
	if p.happened && p.cancels {
		want = device.CodeCancelled
	}
	require.Equal(t, want, device.CodeOf(err), "%v", err)
	if err != nil {
		return
	}
	require.Equal(t, pages*page, report.Bytes)
	for i, c := range m.cells {
		if c.allocation != 0 && chosen(c) {
			m.cells[i].asleep, m.cells[i].empty = true, r.Backing == SleepDiscard
		}
	}
	switch {
	case r.Tag == "":
		m.all, m.tags, m.awake = true, map[string]bool{}, map[string]bool{}
	case m.all:
		delete(m.awake, r.Tag)
	default:
		m.tags[r.Tag] = true
	}
}

func (n *sleepNaive) wake(t *rapid.T, m *sleeperModel) {
	tag := rapid.SampledFrom(append(sleepTags, m.id)).Draw(t, "tag")
	chosen := func(c sleepCell) bool { return c.asleep && (tag == "" || c.tag == tag) }
	pages, want := m.count(chosen), device.CodeOK
	switch {
	case tag == "" && !m.all && len(m.tags) == 0, tag != "" && !m.sleeps(tag):
		want = device.CodeInvalidState
	case pages > n.available():
		want = device.CodeOutOfPhysicalMemory
	}
	armed := 0
	if rapid.IntRange(0, 2).Draw(t, "fails") == 0 {
		armed = 1
		call := rapid.SampledFrom([]devicetest.Call{devicetest.CopyFromHost, devicetest.Map, devicetest.MapKept, devicetest.SetAccess}).Draw(t, "call")
		n.dev.FailNth(call, rapid.IntRange(1, 4).Draw(t, "nth"), nil)
	}
	report, err := m.Wake(background, WakeRequest{Tag: tag, Streams: rapid.IntRange(0, 3).Draw(t, "streams")})
	if left := n.dev.ClearFaults(); left < armed {
		want = device.CodeDevice
	}
	require.Equal(t, want, device.CodeOf(err), "%v", err)
	if err != nil {
		return
	}
	require.Equal(t, pages*page, report.Bytes)
	for i, c := range m.cells {
		if c.allocation != 0 && chosen(c) {
			m.cells[i].asleep = false
			if c.empty {
				m.cells[i].value = 0
			}
		}
	}
	switch {
	case tag == "":
		m.all, m.tags, m.awake = false, map[string]bool{}, map[string]bool{}
	case m.all:
		m.awake[tag] = true
	default:
		delete(m.tags, tag)
	}
	if m.all && m.count(func(c sleepCell) bool { return c.asleep }) == 0 {
		m.all, m.awake = false, map[string]bool{}
	}
}

// look compares everything.
func (n *sleepNaive) look(t *rapid.T) {
	n.check(t)
	var asleep uint64
	for _, m := range n.models {
		stats := m.Stats()
		require.Equal(t, m.count(func(c sleepCell) bool { return c.asleep }), stats.AsleepPages)
		require.Equal(t, m.live()*page, stats.PhysicalBytes)
		asleep += stats.AsleepHostBytes + stats.AsleepFileBytes + stats.AsleepDiscardedBytes
		for _, tag := range sleepTags {
			require.Equal(t, m.sleeps(m.name(tag)), m.IsAsleep(m.name(tag)))
		}
		for at, c := range m.cells {
			live := c.allocation != 0 && !c.asleep
			require.Equal(t, live, m.IsMapped(uint64(at)*page, page))
			if live {
				other, differs, err := n.dev.FirstOther(m.BaseAddress()+device.Addr(uint64(at)*page), c.value, page)
				require.NoError(t, err)
				require.False(t, differs, "%s page %d: %+v", m.id, at, other)
			}
		}
	}
	all := n.engine.Asleep()
	require.Equal(t, asleep, all.HostBytes+all.FileBytes+all.DiscardedBytes)
}

// Random programs over two models under a changing limit, compared with slices of
// pages. Bytes and addresses are as before, whatever slept, whatever happened in the
// middle of a call and whether it failed. Nothing is left behind.
func TestSleepMatchesReferenceModel(t *testing.T) {
	devicetest.OneThread(t)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		backing := rapid.SampledFrom([]device.Backing{device.BackingMovable, device.BackingPrivate}).Draw(t, "backing")
		place := rapid.SampledFrom(hostPlaces).Draw(t, "place")
		n := &sleepNaive{party: newPartyIn(t, backing, sleepLimit, place), dir: dir, limit: sleepLimit}
		kept := keep(n.shared.physical, n.dev)
		place.set(n.shared.physical)
		n.interrupt()
		n.shared.physical.keepers.ChunkBytes = rapid.Uint64Range(1, 4).Draw(t, "chunk") * page
		for i := range 2 {
			m, err := n.shared.Register(fmt.Sprint("m", i), ModelConfig{VirtualBytes: sleepPages * page})
			require.NoError(t, err)
			n.models = append(n.models, &sleeperModel{Model: m, tags: map[string]bool{}, awake: map[string]bool{}})
		}
		any := func(do func(*rapid.T, *sleeperModel)) func(*rapid.T) {
			return func(t *rapid.T) { do(t, rapid.SampledFrom(n.models).Draw(t, "model")) }
		}
		t.Repeat(map[string]func(*rapid.T){
			"allocate": any(n.allocate), "allocate more": any(n.allocate), "deallocate": any(n.deallocate),
			"sleep": any(n.sleep), "wake": any(n.wake), "limit": n.setLimit, "": n.look,
		})
		n.quit(t)
		require.Zero(t, kept.taken)
		require.Zero(t, kept.bytes)
		requireNothingLocked(t, n.dev)
		require.Zero(t, n.engine.Asleep())
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, files)
	})
}

// interrupt runs the plan at the first use of host memory.
func (n *sleepNaive) interrupt() {
	keepers := &n.shared.physical.keepers
	var one sync.Mutex
	interrupted := func(take func(uint64) (*sleep.Block, error)) func(uint64) (*sleep.Block, error) {
		return func(size uint64) (*sleep.Block, error) {
			one.Lock()
			defer one.Unlock()
			if n.meanwhile != nil {
				n.meanwhile()
			}
			return take(size)
		}
	}
	keepers.TakeBlock = interrupted(keepers.TakeBlock)
	if keepers.TakePinned != nil {
		keepers.TakePinned = interrupted(keepers.TakePinned)
	}
}

func newPartyBacked(t require.TestingT, backing device.Backing, limit uint64) *party {
	return newPartyIn(t, backing, limit, hostPlaces[0])
}

func newPartyIn(t require.TestingT, backing device.Backing, limit uint64, place hostPlace) *party {
	return newPartyWith(t, place.config(), engine.Options{},
		ElasticConfig{LimitBytes: limit * page, Backing: backing}, false)
}
