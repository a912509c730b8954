package pool_test

import (
	"bytes"
	"reflect"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/rangealloc"
)

// streamsProgram uses blocks on several streams of a device that works at the same time.
// It waits only where the rules require it, so that memory that is reused too early has
// wrong bytes: each block is filled on its stream, and read there before it is freed.
type streamsProgram struct {
	*realBench
	t       *rapid.T
	pool    *pool.Pool
	streams []device.Stream
	live    []*streamsBlock
	looks   []*streamsLook
	next    byte
}

type streamsBlock struct {
	pool.Block
	stream device.Stream
	// others are the streams that have read it since it was filled.
	others []device.Stream
	value  byte
}

// streamsLook is a copy to the host that has run when all work has completed.
type streamsLook struct {
	copied []byte
	value  byte
}

func (p *streamsProgram) stream(what string) device.Stream {
	return p.streams[rapid.IntRange(0, len(p.streams)-1).Draw(p.t, what)]
}

func (p *streamsProgram) pick() *streamsBlock {
	if len(p.live) == 0 {
		p.t.Skip("nothing is live")
	}
	return p.live[rapid.IntRange(0, len(p.live)-1).Draw(p.t, "block")]
}

func (p *streamsProgram) alloc(t *rapid.T) {
	s := p.stream("stream")
	block, err := p.pool.Alloc(pool.Request{SizeBytes: rapid.Uint64Range(1, 3*p.page).Draw(t, "size"), Stream: s})
	require.NoError(t, err)
	b := &streamsBlock{Block: block, stream: s}
	p.live = append(p.live, b)
	p.fill(b, s)
}

func (p *streamsProgram) fill(b *streamsBlock, s device.Stream) {
	p.next++
	b.value = p.next
	require.NoError(p.t, s.Fill(b.Addr, device.Pattern{Value: uint64(b.value), WidthBytes: 1}, b.SizeBytes))
}

// look copies the ends of the block to the host, in the order of a stream.
func (p *streamsProgram) look(b *streamsBlock, s device.Stream) {
	size := min(b.SizeBytes, 2<<10)
	for _, at := range []uint64{0, b.SizeBytes - size} {
		l := &streamsLook{copied: make([]byte, size), value: b.value}
		p.looks = append(p.looks, l)
		to := device.HostAddr(reflect.ValueOf(l.copied).Pointer())
		require.NoError(p.t, s.CopyToHost(to, b.Addr+device.Addr(at), size))
	}
}

// order makes a stream wait for what another one has queued.
func (p *streamsProgram) order(after, before device.Stream) {
	e, err := before.RecordEvent()
	require.NoError(p.t, err)
	require.NoError(p.t, after.WaitEvent(e))
	require.NoError(p.t, e.Close())
}

func (p *streamsProgram) free(t *rapid.T) {
	b := p.pick()
	p.look(b, b.stream)
	require.NoError(t, p.pool.Free(b.Addr, b.stream))
	for i := range p.live {
		if p.live[i] == b {
			p.live = append(p.live[:i], p.live[i+1:]...)
			return
		}
	}
}

// elsewhere uses a block on another stream too, and records that stream.
func (p *streamsProgram) elsewhere(*rapid.T) {
	b, s := p.pick(), p.stream("other")
	if s == b.stream {
		return
	}
	p.order(s, b.stream)
	p.look(b, s)
	require.NoError(p.t, p.pool.RecordStream(b.Addr, s))
	b.others = append(b.others, s)
}

// move makes another stream the only user of a block.
func (p *streamsProgram) move(*rapid.T) {
	b, s := p.pick(), p.stream("new")
	for _, user := range append(b.others, b.stream) {
		p.order(s, user)
	}
	p.fill(b, s)
	b.stream, b.others = s, nil
}

// settle waits for everything and checks the copies.
func (p *streamsProgram) settle(t *rapid.T) {
	require.NoError(t, p.dev.Synchronize(device.Forever))
	for _, l := range p.looks {
		require.True(t, bytes.Equal(l.copied, bytes.Repeat([]byte{l.value}, len(l.copied))), "a block was filled with %d", l.value)
	}
	runtime.KeepAlive(p.looks)
	p.looks = nil
}

func TestOnDeviceStreamsNeverShareABlock(t *testing.T) {
	b := openReal(t)
	streams := []device.Stream{b.dev.DefaultStream()}
	for range 3 {
		s, err := b.dev.NewStream()
		require.NoError(t, err)
		streams = append(streams, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		c := pool.DefaultConfig()
		c.Strategy = rapid.SampledFrom([]string{rangealloc.Default, "best_fit", "buddy"}).Draw(t, "strategy")
		c.Paging, c.ReadyPages = pool.PagingOff, rapid.SampledFrom([]int{-1, 0}).Draw(t, "ready")
		c.InitialSizeBytes, c.GrowthIncrementBytes = 8*b.page, 8*b.page
		if rapid.Bool().Draw(t, "pages") {
			c.Paging, c.PhysicalPageBytes = pool.PagingOn, b.page
		}
		made, err := pool.New(b.engine, c)
		require.NoError(t, err)
		p := &streamsProgram{realBench: b, t: t, pool: made, streams: streams}
		defer func() {
			p.settle(t)
			require.NoError(t, made.Close(true))
		}()
		t.Repeat(map[string]func(*rapid.T){
			"alloc": p.alloc, "alloc 2": p.alloc, "free": p.free, "free 2": p.free,
			"elsewhere": p.elsewhere, "move": p.move,
			"trim": func(t *rapid.T) { _, err := made.Trim(0); require.NoError(t, err) },
			"settle": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "settle") == 0 {
					p.settle(t)
				}
			},
		})
	})
	for _, s := range streams[1:] {
		require.NoError(t, s.Close())
	}
	b.close(t)
}
