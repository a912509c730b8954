package weights

import (
	"errors"
	"io"
	"sync/atomic"
)

// FailRead makes one read of a source's files fail, and returns how many there were.
func FailRead(s *Source, n int) (reads func() int) {
	count := &atomic.Int64{}
	for _, f := range s.files {
		f.reader = &watched{ReaderAt: f.reader, count: count, fails: int64(n)}
	}
	return func() int { return int(count.Load()) }
}

// CountBytes counts the bytes that are read of a source.
func CountBytes(s *Source) (bytes func() uint64) {
	total := &atomic.Uint64{}
	for _, f := range s.files {
		f.reader = &watched{ReaderAt: f.reader, count: &atomic.Int64{}, bytes: total}
	}
	return total.Load
}

type watched struct {
	io.ReaderAt
	count *atomic.Int64
	fails int64
	bytes *atomic.Uint64
}

func (w *watched) ReadAt(out []byte, at int64) (int, error) {
	if w.count.Add(1) == w.fails {
		return 0, errors.New("the disk is broken")
	}
	if w.bytes != nil {
		w.bytes.Add(uint64(len(out)))
	}
	return w.ReaderAt.ReadAt(out, at)
}

func (w *watched) Close() error { return w.ReaderAt.(io.Closer).Close() }
