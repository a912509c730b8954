package weights

import (
	"errors"
	"io"
	"sync/atomic"
)

// FailRead makes one read of a source's files fail, and returns how many reads there were.
func FailRead(s *Source, n int) (reads func() int) {
	count := &atomic.Int64{}
	for _, f := range s.files {
		f.reader = &watched{ReaderAt: f.reader, count: count, fails: int64(n)}
	}
	return func() int { return int(count.Load()) }
}

// OnRead calls a function before one read of a source's files, and returns how many reads there
// were.
func OnRead(s *Source, n int, call func()) (reads func() int) {
	count := &atomic.Int64{}
	for _, f := range s.files {
		f.reader = &watched{ReaderAt: f.reader, count: count, calls: int64(n), call: call}
	}
	return func() int { return int(count.Load()) }
}

// NewToy returns a decoder of a format for tests.
func NewToy(name Format) Decoder { return &toy{name: name} }

// CountBytes counts the bytes that are read from a source.
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
	// call is the number of the read at which the function is called.
	calls int64
	call  func()
	bytes *atomic.Uint64
}

func (w *watched) ReadAt(out []byte, at int64) (int, error) {
	number := w.count.Add(1)
	if number == w.fails {
		return 0, errors.New("the disk is broken")
	}
	if number == w.calls {
		w.call()
	}
	if w.bytes != nil {
		w.bytes.Add(uint64(len(out)))
	}
	return w.ReaderAt.ReadAt(out, at)
}

func (w *watched) Close() error { return w.ReaderAt.(io.Closer).Close() }
