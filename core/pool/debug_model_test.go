package pool

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/memcheck"
)

// marked is a live block. All its bytes have the value mark at any time.
type marked struct {
	Block
	mark byte
}

// debugProgram is a correct program.
type debugProgram struct {
	*debugBench
	p       *Pool
	streams []*devicetest.Stream
	live    []marked
	marks   byte
}

// enter adds a new block of a stream. With call sites alone, its memory may be that of a
// block in flight on this stream. The program writes without the stream, so it waits first.
func (d *debugProgram) enter(t *rapid.T, block Block, on *devicetest.Stream) {
	d.marks++
	if d.p.heap.config.Debug == DebugCallSites {
		on.Release()
		on.Hold()
	}
	require.GreaterOrEqual(t, block.SizeBytes, block.RequestedBytes)
	if d.p.heap.config.Debug&DebugPoison != 0 {
		require.Equal(t, bytes.Repeat([]byte{memcheck.FreshByte}, int(block.RequestedBytes)),
			d.dev.Bytes(block.Addr, block.RequestedBytes))
	}
	require.NoError(t, d.dev.SetBytes(block.Addr, bytes.Repeat([]byte{d.marks}, int(block.SizeBytes))))
	d.live = append(d.live, marked{block, d.marks})
}

func (d *debugProgram) pick(t *rapid.T) (at int, block marked) {
	if len(d.live) == 0 {
		t.Skip("nothing is live")
	}
	at = rapid.IntRange(0, len(d.live)-1).Draw(t, "block")
	return at, d.live[at]
}

func (d *debugProgram) drop(at int) {
	d.live = append(d.live[:at], d.live[at+1:]...)
}

func (d *debugProgram) actions() map[string]func(*rapid.T) {
	stream := func(t *rapid.T) *devicetest.Stream { return rapid.SampledFrom(d.streams).Draw(t, "stream") }
	size := rapid.Uint64Range(1, 20*kib)
	alloc := func(t *rapid.T) {
		on := stream(t)
		block, err := d.p.Alloc(Request{
			SizeBytes: size.Draw(t, "size"), Stream: on,
			AlignmentBytes: rapid.SampledFrom([]uint64{0, 1, 512, 8 * kib}).Draw(t, "align"),
		})
		require.NoError(t, err)
		d.enter(t, block, on)
	}
	free := func(t *rapid.T) {
		at, block := d.pick(t)
		d.drop(at)
		on := stream(t)
		if on.Queued() > 0 {
			// Queued work still writes its mark. Poison written before that would look
			// like a write after the free.
			require.NoError(t, on.Fill(block.Addr, device.Pattern{Value: uint64(block.mark), WidthBytes: 1}, block.RequestedBytes))
		}
		require.NoError(t, d.p.FreeSized(block.Addr, block.RequestedBytes, on))
	}
	return map[string]func(*rapid.T){
		"alloc": alloc, "alloc2": alloc, "free": free, "free2": free,
		"batch": func(t *rapid.T) {
			addrs := make([]device.Addr, rapid.IntRange(1, 6).Draw(t, "count"))
			n := size.Draw(t, "size")
			on := stream(t)
			require.NoError(t, d.p.AllocBatch(Request{SizeBytes: n, Stream: on}, addrs))
			for _, addr := range addrs {
				block, ok := d.p.Lookup(addr)
				require.True(t, ok)
				require.Equal(t, n, block.RequestedBytes)
				d.enter(t, block, on)
			}
			if rapid.Bool().Draw(t, "keep") {
				return
			}
			d.live = d.live[:len(d.live)-len(addrs)]
			require.NoError(t, d.p.FreeBatch(addrs, stream(t)))
		},
		"work": func(t *rapid.T) {
			_, block := d.pick(t)
			on := stream(t)
			require.NoError(t, d.p.RecordStream(block.Addr, on))
			require.NoError(t, on.Fill(block.Addr, device.Pattern{Value: uint64(block.mark), WidthBytes: 1}, block.SizeBytes))
		},
		"step":           func(t *rapid.T) { stream(t).Step(rapid.IntRange(1, 4).Draw(t, "pieces")) },
		"complete frees": func(*rapid.T) { d.p.CompleteFrees() },
		"trim": func(t *rapid.T) {
			_, err := d.p.Trim(rapid.Uint64Range(0, 2*mib).Draw(t, "keep"))
			require.NoError(t, err)
		},
		"look": func(t *rapid.T) { require.NoError(t, d.p.Check()) },
		"": func(t *rapid.T) {
			require.NoError(t, d.p.audit())
			require.Empty(t, d.reports())
			stats := d.p.Statistics()
			requested := uint64(0)
			for _, block := range d.live {
				requested += block.RequestedBytes
				require.Equal(t, bytes.Repeat([]byte{block.mark}, int(block.SizeBytes)), d.dev.Bytes(block.Addr, block.SizeBytes))
			}
			require.EqualValues(t, len(d.live), stats.LiveBlocks.Current)
			require.Equal(t, requested, stats.Requested.Current)
		},
	}
}

// With any checks, a correct program keeps its bytes, has exact counters, and gets no
// report.
func TestDebugReportsNothingForCorrectPrograms(t *testing.T) {
	devicetest.OneThread(t)
	rapid.Check(t, func(t *rapid.T) {
		flags := DebugFlags(rapid.Uint32Range(1, uint32(DebugAll)).Draw(t, "flags"))
		strategy := rapid.SampledFrom([]string{"best_fit", "tlsf", "buddy", "size_class", "arena"}).Draw(t, "strategy")
		b := newDebugBench(devicetest.Config{Manual: true, TotalBytes: 1 << 30})
		d := &debugProgram{debugBench: b, p: b.pool(t, func(c *Config) { c.Debug, c.Strategy = flags, strategy }),
			streams: []*devicetest.Stream{b.dev.Default()}}
		for range 2 {
			made, err := b.dev.NewStream()
			require.NoError(t, err)
			d.streams = append(d.streams, made.(*devicetest.Stream))
		}
		t.Repeat(d.actions())
		for _, stream := range d.streams {
			stream.Release()
		}
		require.NoError(t, d.p.Reset(nil))
		_, err := d.p.Trim(0)
		require.NoError(t, err)
		require.Zero(t, d.p.Statistics().Reserved.Current, "nothing stays in quarantine")
		for _, stream := range d.streams[1:] {
			require.NoError(t, stream.Close())
		}
		b.closeAll(t, d.p)
		require.Empty(t, b.reports())
		require.Zero(t, b.watched)
	})
}

// The n-th call of the device fails, for every n of a program: counters and memory are
// exact after each step, and a check that could not be made is not reported as damage.
func TestDebugWithEveryDeviceCallFailing(t *testing.T) {
	for n := 1; ; n++ {
		b := newDebugBench(devicetest.Config{Manual: true})
		p, err := New(b.engine, Config{Name: "p", InitialSizeBytes: mib, GrowthIncrementBytes: mib,
			AutoExpansion: true, Stats: true, ReleaseThresholdBytes: NeverRelease, Debug: DebugAll})
		require.NoError(t, err)
		b.dev.FailNth(devicetest.Any, n, nil)
		debugScript(t, b, p, fmt.Sprintf("failure %d", n))
		left := b.dev.ClearFaults()
		text := b.reports()
		require.NotContains(t, text, "overrun")
		require.NotContains(t, text, "write after")
		b.check(t, p)
		b.closeAll(t, p)
		if left > 0 {
			require.Greater(t, n, 30, "the program makes that many calls")
			return
		}
	}
}

// debugScript is a program with work in flight. A failed call leaves everything as it
// was, and is repeated.
func debugScript(t *testing.T, b *debugBench, p *Pool, name string) {
	stream := b.dev.Default()
	insist := func(step string, call func() error) {
		for try := 0; ; try++ {
			before := p.Statistics().LiveBlocks.Current
			err := call()
			require.NoError(t, p.audit(), "%s, %s", name, step)
			if err == nil {
				return
			}
			require.Zero(t, try, "%s, %s: one failure only: %v", name, step, err)
			require.True(t, errors.Is(err, device.CodeDevice), "%s, %s: %v", name, step, err)
			require.Equal(t, before, p.Statistics().LiveBlocks.Current, "%s, %s", name, step)
		}
	}
	var one Block
	var many [4]device.Addr
	for round := range 2 {
		insist("alloc", func() (err error) {
			one, err = p.Alloc(Request{SizeBytes: 1000})
			return err
		})
		insist("batch", func() error { return p.AllocBatch(Request{SizeBytes: 300}, many[:]) })
		insist("work", func() error { return stream.Fill(one.Addr, device.Pattern{Value: 1, WidthBytes: 1}, 1000) })
		insist("free", func() error { return p.Free(one.Addr, stream) })
		insist("free batch", func() error { return p.FreeBatch(many[:2], stream) })
		if round == 0 {
			stream.Release()
			stream.Hold()
		}
		p.CompleteFrees()
		insist("check", p.Check)
		insist("reset", func() error { return p.Reset(stream) })
		stream.Release()
		p.CompleteFrees()
		insist("trim", func() error {
			_, err := p.Trim(0)
			return err
		})
		stream.Hold()
	}
}
