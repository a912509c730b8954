package pool

import (
	"math"
	"math/rand/v2"
	"testing"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// BenchmarkHotPair is an allocation and its free, on an idle stream.
func BenchmarkHotPair(b *testing.B) {
	bench := newBench(devicetest.Config{TotalBytes: 64 << 30}, engine.Options{})
	p := bench.pool(b, func(c *Config) { c.InitialSizeBytes = 1 << 30 })
	mustAlloc(b, p, 256)
	b.ReportAllocs()
	for b.Loop() {
		block, err := p.Alloc(Request{SizeBytes: 4096})
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Free(block.Addr, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplace1000 replaces a random one of 1000 live blocks of 256 B to
// 1 MiB, log-uniform.
func BenchmarkReplace1000(b *testing.B) {
	bench := newBench(devicetest.Config{TotalBytes: 64 << 30}, engine.Options{})
	p := bench.pool(b, func(c *Config) { c.InitialSizeBytes = 4 << 30 })
	r := rand.New(rand.NewPCG(1, 2))
	sizes := make([]uint64, 1<<14)
	for i := range sizes {
		sizes[i] = uint64(256 * math.Exp(r.Float64()*math.Log(4096)))
	}
	addrs := make([]device.Addr, 1000)
	for i := range addrs {
		addrs[i] = mustAlloc(b, p, sizes[i]).Addr
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
