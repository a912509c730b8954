package streamtest

import (
	"reflect"
	"runtime"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// A program is a sequence of operations on several streams of some devices. Two
// operations on the same memory are ordered: by their stream, or by an event that is
// recorded after the first and waited for before the second. So the result equals that
// of running the operations one after the other, as the model does. If a driver omits a
// wait, a device that works while the program continues shows wrong bytes.

const (
	slotBytes       = 6 << 10
	slotsDevice     = 3
	streamsOfDevice = 2
)

// slot is a part of a segment, or a buffer of the process (owner -1). One operation at
// a time uses it.
type slot struct {
	owner int
	addr  device.Addr
	bytes []byte
	model []byte
	// last is the last stream that used the slot, or -1.
	last int
}

type program struct {
	t       *rapid.T
	devices []device.Device
	streams []device.Stream
	owners  []int
	slots   []*slot
}

// use orders an operation on a stream after the slot's last use.
func (p *program) use(stream int, used *slot) {
	if used.last >= 0 && used.last != stream {
		e, err := p.streams[used.last].RecordEvent()
		require.NoError(p.t, err)
		require.NoError(p.t, p.streams[stream].WaitEvent(e))
		require.NoError(p.t, e.Close())
	}
	used.last = stream
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

// part draws a range of a slot in units.
func (p *program) part(unit int) (from, size int) {
	size = rapid.IntRange(1, slotBytes/unit).Draw(p.t, "units") * unit
	from = rapid.IntRange(0, (slotBytes-size)/unit).Draw(p.t, "from") * unit
	return from, size
}

func (p *program) transfer(stream int, dst, src *slot, queue func(to, from int, size uint64) error) {
	p.use(stream, src)
	p.use(stream, dst)
	to, size := p.part(1)
	from := rapid.IntRange(0, slotBytes-size).Draw(p.t, "source from")
	require.NoError(p.t, queue(to, from, uint64(size)))
	copy(dst.model[to:to+size], src.model[from:from+size])
}

func (p *program) step() {
	stream := rapid.IntRange(0, len(p.streams)-1).Draw(p.t, "stream")
	s, owner := p.streams[stream], p.owners[stream]
	own := p.pick("own", func(x *slot) bool { return x.owner == owner })
	host := func(x *slot) device.HostAddr { return device.HostAddr(reflect.ValueOf(x.bytes).Pointer()) }
	switch rapid.IntRange(0, 6).Draw(p.t, "what") {
	case 6:
		p.batch(stream, own, p.pick("source", func(x *slot) bool { return x.owner == owner }))
	case 0:
		src := p.pick("source", func(x *slot) bool { return x.owner == owner })
		p.transfer(stream, own, src, func(to, from int, size uint64) error {
			return s.Copy(own.addr+device.Addr(to), src.addr+device.Addr(from), size)
		})
	case 1:
		src := p.pick("buffer", func(x *slot) bool { return x.owner < 0 })
		p.transfer(stream, own, src, func(to, from int, size uint64) error {
			return s.CopyFromHost(own.addr+device.Addr(to), host(src)+device.HostAddr(from), size)
		})
	case 2:
		dst := p.pick("buffer", func(x *slot) bool { return x.owner < 0 })
		p.transfer(stream, dst, own, func(to, from int, size uint64) error {
			return s.CopyToHost(host(dst)+device.HostAddr(to), own.addr+device.Addr(from), size)
		})
	case 3:
		p.fill(stream, own)
	case 4:
		src := p.pick("other", func(x *slot) bool { return x.owner >= 0 })
		peer, ok := p.devices[owner].(device.Peer)
		if !ok || !peer.CanCopyFrom(p.devices[src.owner]) {
			return
		}
		p.transfer(stream, own, src, func(to, from int, size uint64) error {
			return peer.CopyFromPeer(s, own.addr+device.Addr(to), p.devices[src.owner], src.addr+device.Addr(from), size)
		})
	case 5:
		// These calls only wait. They do not change the order of the other operations.
		_, err := s.Idle()
		require.NoError(p.t, err)
		if rapid.IntRange(0, 3).Draw(p.t, "synchronize") == 0 {
			require.NoError(p.t, s.Synchronize(device.Forever))
		}
	}
}

// batch copies from the front halves of parts of one slot to the back halves of parts
// of another or the same slot. No destination overlaps another copy.
func (p *program) batch(stream int, dst, src *slot) {
	p.use(stream, src)
	p.use(stream, dst)
	n := rapid.IntRange(1, 8).Draw(p.t, "copies")
	half := slotBytes / n / 2
	before := append([]byte(nil), src.model...)
	var copies []device.Move
	for i := range n {
		from := 2*half*rapid.IntRange(0, n-1).Draw(p.t, "piece") + rapid.IntRange(0, half-1).Draw(p.t, "from")
		to := 2*half*i + half + rapid.IntRange(0, half-1).Draw(p.t, "to")
		size := rapid.IntRange(1, min(2*half*(from/(2*half))+half-from, 2*half*(i+1)-to)).Draw(p.t, "size")
		copies = append(copies, device.Move{
			Dst: dst.addr + device.Addr(to), Src: src.addr + device.Addr(from), SizeBytes: uint64(size),
		})
		copy(dst.model[to:to+size], before[from:from+size])
	}
	require.NoError(p.t, p.streams[stream].CopyBatch(copies))
}

func (p *program) fill(stream int, dst *slot) {
	p.use(stream, dst)
	width := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(p.t, "width")
	value := rapid.Uint64().Draw(p.t, "value") & (uint64(1)<<(8*width) - 1)
	at, size := p.part(width)
	pattern := device.Pattern{Value: value, WidthBytes: width}
	require.NoError(p.t, p.streams[stream].Fill(dst.addr+device.Addr(at), pattern, uint64(size)))
	for i := range size {
		dst.model[at+i] = byte(value >> (8 * (i % width)))
	}
}

// end waits for all streams and compares the bytes.
func (p *program) end() {
	for _, s := range p.streams {
		require.NoError(p.t, s.Synchronize(device.Forever))
	}
	for i, x := range p.slots {
		got := x.bytes
		if x.owner >= 0 {
			got = make([]byte, slotBytes)
			s := p.devices[x.owner].DefaultStream()
			require.NoError(p.t, s.CopyToHost(device.HostAddr(reflect.ValueOf(got).Pointer()), x.addr, slotBytes))
			require.NoError(p.t, s.Synchronize(device.Forever))
		}
		require.Equal(p.t, x.model, got, "slot %d of device %d", i, x.owner)
		runtime.KeepAlive(x.bytes)
	}
}
