package host

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/streams"
)

// A program is a sequence of operations on several streams of two devices. Two operations
// that use the same memory are ordered: by their stream, or by an event that the program
// records after the first and waits for before the second. The result is then the same as
// if the operations ran one after the other, as in the model. A missing or
// misplaced wait shows as wrong bytes: the streams are blocked at first and released in an
// order of their own, and host functions make some of them slower than others.

const slotBytes = 512

// slot is a part of a segment, or a host buffer, that one operation at a time uses.
type slot struct {
	owner int // device, or -1 for host memory
	addr  device.Addr
	model []byte
	// last is the stream that used the slot last, or -1.
	last int
}

type program struct {
	t       *rapid.T
	devices []*openDevice
	streams []*streams.Stream
	owners  []int
	slots   []*slot
	// waits counts the waits between streams.
	waits int
}

// use orders an operation on a stream after the last use of the slot.
func (p *program) use(index int, used *slot) {
	if used.last >= 0 && used.last != index {
		e, err := p.streams[used.last].RecordEvent()
		require.NoError(p.t, err)
		require.NoError(p.t, p.streams[index].WaitEvent(e))
		if rapid.Bool().Draw(p.t, "close event") {
			require.NoError(p.t, e.Close())
		}
		p.waits++
	}
	used.last = index
}

func (p *program) pick(what string, fits func(*slot) bool) *slot {
	var candidates []*slot
	for _, s := range p.slots {
		if fits(s) {
			candidates = append(candidates, s)
		}
	}
	return candidates[rapid.IntRange(0, len(candidates)-1).Draw(p.t, what)]
}

// part draws a range of a slot.
func (p *program) part(unit int) (from, size int) {
	size = rapid.IntRange(1, slotBytes/unit).Draw(p.t, "units") * unit
	from = rapid.IntRange(0, (slotBytes-size)/unit).Draw(p.t, "from") * unit
	return from, size
}

func (p *program) step() {
	index := rapid.IntRange(0, len(p.streams)-1).Draw(p.t, "stream")
	s, owner := p.streams[index], p.owners[index]
	own := func(x *slot) bool { return x.owner == owner }
	host := func(x *slot) bool { return x.owner < 0 }
	switch rapid.SampledFrom([]string{"copy", "within", "fill", "in", "out", "peer", "call", "yield"}).Draw(p.t, "what") {
	case "copy":
		p.transfer(index, p.pick("to", own), p.pick("source", own), s.Copy)
	case "within":
		x := p.pick("slot", own)
		p.transfer(index, x, x, s.Copy)
	case "fill":
		p.fill(index, p.pick("to", own))
	case "in":
		p.transfer(index, p.pick("to", own), p.pick("source", host), func(dst, src device.Addr, size uint64) error {
			return s.CopyFromHost(dst, device.HostAddr(src), size)
		})
	case "out":
		p.transfer(index, p.pick("to", host), p.pick("source", own), func(dst, src device.Addr, size uint64) error {
			return s.CopyToHost(device.HostAddr(dst), src, size)
		})
	case "peer":
		src := p.devices[1-owner]
		p.transfer(index, p.pick("to", own), p.pick("source", func(x *slot) bool { return x.owner == 1-owner }),
			func(dst, srcAddr device.Addr, size uint64) error {
				return p.devices[owner].CopyFromPeer(s, dst, src, srcAddr, size)
			})
	case "call":
		// All calls read and write one byte of a slot, in the order of the model.
		x := p.pick("slot", func(*slot) bool { return true })
		p.use(index, x)
		bytes := view(x.addr, slotBytes)
		require.NoError(p.t, s.HostFunction(func() { bytes[0] = bytes[0]*3 + 1 }))
		x.model[0] = x.model[0]*3 + 1
	case "yield":
		require.NoError(p.t, s.HostFunction(func() {
			for range 50 {
				runtime.Gosched()
			}
		}))
	}
}

func (p *program) transfer(index int, dst, src *slot, queue func(dst, src device.Addr, size uint64) error) {
	p.use(index, src)
	p.use(index, dst)
	to, size := p.part(1)
	from := rapid.IntRange(0, slotBytes-size).Draw(p.t, "source from")
	require.NoError(p.t, queue(dst.addr+device.Addr(to), src.addr+device.Addr(from), uint64(size)))
	copy(dst.model[to:to+size], src.model[from:from+size])
}

func (p *program) fill(index int, dst *slot) {
	p.use(index, dst)
	width := rapid.SampledFrom([]int{1, 2, 4}).Draw(p.t, "width")
	value := rapid.Uint32().Draw(p.t, "value") & uint32(1<<(8*width)-1)
	at, size := p.part(width)
	require.NoError(p.t, p.streams[index].Fill(dst.addr+device.Addr(at), device.Pattern{Value: uint64(value), WidthBytes: width}, uint64(size)))
	for i := range size {
		dst.model[at+i] = byte(value >> (8 * (i % width)))
	}
}

func TestRandomProgramsEqualTheSequentialModel(t *testing.T) {
	devices := openSome(t, Config{Devices: 2, MemoryBytes: 1 << 30})
	hostAddr, _ := hostBuffer(t, 64<<10)
	bases := []device.Addr{allocate(t, devices[0], 64<<10), allocate(t, devices[1], 64<<10), device.Addr(hostAddr)}
	waits := 0
	rapid.Check(t, func(t *rapid.T) {
		p := &program{t: t, devices: devices}
		for i, base := range bases {
			owner := i
			if i == 2 {
				owner = -1
			}
			for n := range 3 {
				x := &slot{owner: owner, addr: base + device.Addr(n*slotBytes), model: make([]byte, slotBytes), last: -1}
				scramble(x.model, uint64(len(p.slots)))
				copy(view(x.addr, slotBytes), x.model)
				p.slots = append(p.slots, x)
			}
		}
		var gates []*barrier
		for i := range rapid.IntRange(2, 5).Draw(t, "streams") {
			s, err := devices[i%2].NewStream()
			require.NoError(t, err)
			p.streams, p.owners = append(p.streams, s.(*streams.Stream)), append(p.owners, i%2)
			g := newBarrier()
			require.NoError(t, s.HostFunction(g.hold))
			gates = append(gates, g)
		}
		// This also runs when a check fails half-way, so that the search for a smaller
		// program can continue.
		defer func() {
			openGates(gates)
			for _, s := range p.streams {
				require.NoError(t, s.Close())
			}
		}()
		steps := rapid.IntRange(1, 60).Draw(t, "steps")
		release := rapid.IntRange(0, steps).Draw(t, "release")
		order := rapid.Permutation(gates).Draw(t, "release order")
		for i := range steps {
			if i == release {
				openGates(order)
			}
			p.step()
		}
		if release == steps {
			openGates(order)
		}
		for _, s := range p.streams {
			require.NoError(t, s.Synchronize(device.Forever))
		}
		for i, x := range p.slots {
			require.Equal(t, x.model, view(x.addr, slotBytes), fmt.Sprintf("slot %d", i))
		}
		waits += p.waits
	})
	require.NotZero(t, waits, "the programs must order streams by events")
}

func openGates(gates []*barrier) {
	for _, g := range gates {
		g.open()
		runtime.Gosched()
	}
}
