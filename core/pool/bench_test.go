package pool

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// quickDevice is a test device whose default stream can be queried as cheaply as that of
// a real device: two loads, no lock.
type quickDevice struct {
	*devicetest.Device
	stream *quickStream
}

type quickStream struct {
	device.Stream
	submitted, completed atomic.Uint64
}

func (d *quickDevice) DefaultStream() device.Stream { return d.stream }

func (s *quickStream) Idle() (bool, error) {
	return s.completed.Load() == s.submitted.Load(), nil
}

func quickPool(b *testing.B, change func(*Config)) *Pool {
	dev := devicetest.Open(devicetest.Config{TotalBytes: 1 << 40})
	e := engine.New(&quickDevice{Device: dev, stream: &quickStream{Stream: dev.DefaultStream()}}, engine.Options{})
	c := DefaultConfig()
	c.InitialSizeBytes, c.Paging = 4<<30, kind(PagingOff, PagingOn)
	if change != nil {
		change(&c)
	}
	p, err := New(e, c)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func pair(b *testing.B, p *Pool, size uint64) {
	block, err := p.Alloc(Request{SizeBytes: size})
	if err != nil {
		b.Fatal(err)
	}
	if err := p.Free(block.Addr, nil); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkHotPair measures an allocation and its free on an idle stream, beside one live
// block.
func BenchmarkHotPair(b *testing.B) {
	for _, size := range []uint64{256, 4 << 10, 2 << 20, 1 << 30} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			p := quickPool(b, nil)
			mustAlloc(b, p, 256)
			b.ReportAllocs()
			for b.Loop() {
				pair(b, p, size)
			}
		})
	}
	b.Run("address", func(b *testing.B) {
		p := quickPool(b, nil)
		mustAlloc(b, p, 256)
		for b.Loop() {
			addr, err := p.AllocAddr(&Request{SizeBytes: 2 << 20})
			if err != nil {
				b.Fatal(err)
			}
			if err := p.Free(addr, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tracking", func(b *testing.B) {
		p := quickPool(b, func(c *Config) { c.Tracking = true })
		mustAlloc(b, p, 256)
		for b.Loop() {
			pair(b, p, 2<<20)
		}
	})
	b.Run("two pools", func(b *testing.B) {
		p := quickPool(b, nil)
		other, err := New(p.heap.engine, p.heap.config)
		if err != nil {
			b.Fatal(err)
		}
		mustAlloc(b, other, 256)
		for b.Loop() {
			pair(b, p, 2<<20)
		}
	})
}

// heldStream is never idle, and its events never complete.
type heldStream struct{ device.Stream }

type heldEvent struct{ device.Event }

func (heldStream) Idle() (bool, error)                { return false, nil }
func (heldStream) RecordEvent() (device.Event, error) { return heldEvent{}, nil }
func (heldEvent) Done() (bool, error)                 { return false, nil }
func (heldEvent) Close() error                        { return nil }

// BenchmarkBusyStream measures a block that is freed and reused on a busy stream.
func BenchmarkBusyStream(b *testing.B) {
	p := quickPool(b, nil)
	var s device.Stream = heldStream{}
	b.ReportAllocs()
	for b.Loop() {
		block, err := p.Alloc(Request{SizeBytes: 2 << 20, Stream: s})
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Free(block.Addr, s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplace replaces a random one of many live blocks of 256 B to 1 MiB,
// log-uniform.
func BenchmarkReplace(b *testing.B) {
	for _, live := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(live), func(b *testing.B) { replace(b, live) })
	}
}

func replace(b *testing.B, live int) {
	p := quickPool(b, func(c *Config) { c.InitialSizeBytes = 32 << 30 })
	r := rand.New(rand.NewPCG(1, 2))
	sizes := make([]uint64, 1<<14)
	for i := range sizes {
		sizes[i] = uint64(256 * math.Exp(r.Float64()*math.Log(4096)))
	}
	addrs := make([]device.Addr, live)
	for i := range addrs {
		addrs[i] = mustAlloc(b, p, sizes[i%len(sizes)]).Addr
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		at := int(uint32(i)*2654435761>>8) % len(addrs)
		if err := p.Free(addrs[at], nil); err != nil {
			b.Fatal(err)
		}
		block, err := p.Alloc(Request{SizeBytes: sizes[i%len(sizes)]})
		if err != nil {
			b.Fatal(err)
		}
		addrs[at] = block.Addr
	}
}

// BenchmarkLarge replaces a random one of 16 live blocks of 2 MiB to 1 GiB, log-uniform,
// in a pool that has grown to hold them and in one with one segment.
func BenchmarkLarge(b *testing.B) {
	for name, initial := range map[string]uint64{"grown": 0, "one segment": 48 << 30} {
		b.Run(name, func(b *testing.B) {
			p := quickPool(b, func(c *Config) {
				if c.InitialSizeBytes = DefaultConfig().InitialSizeBytes; initial != 0 {
					c.InitialSizeBytes = initial
				}
			})
			r := rand.New(rand.NewPCG(1, 2))
			sizes := make([]uint64, 1<<14)
			for i := range sizes {
				sizes[i] = uint64(2 << 20 * math.Exp(r.Float64()*math.Log(512)))
			}
			var addrs [16]device.Addr
			for i := range addrs {
				addrs[i] = mustAlloc(b, p, sizes[len(sizes)-1-i]).Addr
			}
			step := func(i int) {
				at := uint32(i) * 2654435761 >> 28
				if err := p.Free(addrs[at], nil); err != nil {
					b.Fatal(err)
				}
				addr, err := p.AllocAddr(&Request{SizeBytes: sizes[i%len(sizes)]})
				if err != nil {
					b.Fatal(err)
				}
				addrs[at] = addr
			}
			for i := range 1 << 15 {
				step(i)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				step(i)
			}
			b.ReportMetric(float64(len(p.heap.segments)), "segments")
		})
	}
}

// BenchmarkBatch allocates and frees 256 blocks at once.
func BenchmarkBatch(b *testing.B) {
	for _, c := range []Config{
		{Strategy: "best_fit"},
		{Strategy: "fixed", FixedBlockBytes: 64 << 10},
	} {
		b.Run(c.Strategy, func(b *testing.B) {
			p := quickPool(b, func(settings *Config) {
				settings.Strategy, settings.FixedBlockBytes = c.Strategy, c.FixedBlockBytes
			})
			var addrs [256]device.Addr
			var freeing time.Duration
			b.ReportAllocs()
			for b.Loop() {
				if err := p.AllocBatch(Request{SizeBytes: 64 << 10}, addrs[:]); err != nil {
					b.Fatal(err)
				}
				start := time.Now()
				if err := p.FreeBatch(addrs[:], nil); err != nil {
					b.Fatal(err)
				}
				freeing += time.Since(start)
			}
			b.ReportMetric(float64(b.Elapsed()-freeing)/float64(b.N)/256, "ns/block-alloc")
			b.ReportMetric(float64(freeing)/float64(b.N)/256, "ns/block-free")
		})
	}
}

// BenchmarkLease leases and returns 32 blocks as a thread cache does.
func BenchmarkLease(b *testing.B) {
	p := quickPool(b, nil)
	// Lease never grows the pool.
	mustAlloc(b, p, 256)
	var addrs [32]device.Addr
	for b.Loop() {
		n, err := p.Lease(4<<10, nil, addrs[:], nil)
		if err != nil || n != len(addrs) {
			b.Fatal(n, err)
		}
		if err := p.ReturnLeased(addrs[:], nil, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/32, "ns/block-pair")
}
