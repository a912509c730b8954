package host

import (
	"testing"

	"ferrum_mem/core/device"
)

func BenchmarkQueueAndWait(b *testing.B) {
	o := openOne(b)
	addr := allocate(b, o, 64<<10)
	s := newQueue(b, o)
	b.ReportAllocs()
	for b.Loop() {
		_ = s.Copy(addr, addr+4096, 64)
		_ = s.Synchronize(device.Forever)
	}
}

func BenchmarkQueue(b *testing.B) {
	o := openOne(b)
	addr := allocate(b, o, 64<<10)
	s := newQueue(b, o)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_ = s.Copy(addr, addr+4096, 64)
		if i%1024 == 1023 {
			_ = s.Synchronize(device.Forever)
		}
	}
}

func BenchmarkHostFunction(b *testing.B) {
	s := newQueue(b, openOne(b))
	b.ReportAllocs()
	for b.Loop() {
		_ = s.HostFunction(func() {})
		_ = s.Synchronize(device.Forever)
	}
}

func BenchmarkIdle(b *testing.B) {
	s := newQueue(b, openOne(b))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = s.Idle()
	}
}

func BenchmarkRecordOnIdleStream(b *testing.B) {
	s := newQueue(b, openOne(b))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = s.RecordEvent()
	}
}

func BenchmarkMemory(b *testing.B) {
	o := openOne(b)
	for b.Loop() {
		_, _ = o.Memory()
	}
}

func BenchmarkAllocAndFree(b *testing.B) {
	o := openOne(b)
	for b.Loop() {
		addr, _ := o.Alloc(2 << 20)
		_ = o.Free(addr, 2<<20)
	}
}

func BenchmarkCopy64MiB(b *testing.B) {
	o := openOne(b)
	addr := allocate(b, o, 128<<20)
	s := newQueue(b, o)
	b.SetBytes(64 << 20)
	for b.Loop() {
		_ = s.Copy(addr, addr+64<<20, 64<<20)
		_ = s.Synchronize(device.Forever)
	}
}

func BenchmarkFill64MiB(b *testing.B) {
	o := openOne(b)
	addr := allocate(b, o, 64<<20)
	s := newQueue(b, o)
	b.SetBytes(64 << 20)
	for b.Loop() {
		_ = s.Fill(addr, device.Pattern{Value: 0x01020304, WidthBytes: 4}, 64<<20)
		_ = s.Synchronize(device.Forever)
	}
}
