package host

import (
	"encoding/binary"
	"fmt"
	"runtime"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// chunkBytes bounds a single fill: the Go runtime cannot interrupt one, so a
// long one would hold up the collector and with it every thread.
const chunkBytes = 4 << 20

// moveBytes is how much is moved at a time. From 1 MiB on Go's move writes past the
// caches; 256 MiB took, in ms, on an Intel Xeon of 2.5 GHz:
//
//	into                              4 MiB each   512 KiB each
//	a file of memory, first touch            320            280
//	huge pages, first touch                  147             92
//	memory that was written before            89             51
const moveBytes = 512 << 10

// patternBytes is how much of a pattern is laid out before it is copied on: it
// stays in the first-level cache.
const patternBytes = 16 << 10

func (s *stream) workerName() string {
	return fmt.Sprintf("%s stream %d", s.set.id, s.number)
}

// execute runs an operation on the worker.
func (s *stream) execute(o *operation) error {
	if o.kind == kindHost {
		defer s.dropHostThread()
	}
	if err := o.check(); err != nil {
		return err
	}
	switch o.kind {
	case kindMove:
		move(o.dst, o.src, o.size)
	case kindFill:
		fill(mapping.Bytes(o.dst, o.size), device.Pattern{Value: o.value, WidthBytes: int(o.width)})
	case kindRecord:
		o.mark.pass()
	case kindWait:
		<-o.mark.signalled()
	case kindHost:
		return s.callHost(o.function)
	case kindPrefetch:
		s.set.memory.Populate(o.dst, o.size)
	case kindNothing:
	}
	return nil
}

// move has the meaning of memmove: where the destination overlaps the source
// from above, the chunks go from the end to the start.
func move(dst, src, size uint64) {
	backwards := dst > src && dst-src < size
	for done := uint64(0); done < size; {
		n := min(size-done, moveBytes)
		at := done
		if backwards {
			at = size - done - n
		}
		copy(mapping.Bytes(dst+at, n), mapping.Bytes(src+at, n))
		done += n
	}
}

func fill(dst []byte, pattern device.Pattern) {
	if pattern.Value == 0 {
		for len(dst) > 0 {
			n := min(len(dst), chunkBytes)
			clear(dst[:n])
			dst = dst[n:]
		}
		return
	}
	var value [4]byte
	switch pattern.WidthBytes {
	case 1:
		value[0] = byte(pattern.Value)
	case 2:
		binary.NativeEndian.PutUint16(value[:], uint16(pattern.Value))
	default:
		binary.NativeEndian.PutUint32(value[:], pattern.Value)
	}
	laid, cached := copy(dst, value[:pattern.WidthBytes]), min(len(dst), patternBytes)
	for laid < cached {
		laid += copy(dst[laid:cached], dst[:laid])
	}
	for at := laid; at < len(dst); at += laid {
		copy(dst[at:], dst[:laid])
	}
}

// callHost runs a host function on a worker of its own, which a panic ends
// instead of the stream's. The thread is locked, so that a wait for this stream
// from inside the function can be told from one of another thread.
func (s *stream) callHost(function func()) error {
	returned := false
	<-device.Go(s.workerName()+" host function", func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		s.hostThread.Store(threadID())
		defer s.hostThread.Store(0)
		function()
		returned = true
	})
	if !returned {
		return s.errorf(device.CodeInternal, "host.host_function",
			"a host function of stream %d panicked or ended its goroutine", s.number)
	}
	return nil
}

// holdHostThread reserves one thread for all host functions that are queued.
func (s *stream) holdHostThread(op string) error {
	s.hostMu.Lock()
	defer s.hostMu.Unlock()
	if s.hostQueued == 0 {
		release, err := device.ReserveThread(op)
		if err != nil {
			return device.About(s.set.id, err)
		}
		s.hostRelease = release
	}
	s.hostQueued++
	return nil
}

// dropHostThread counts one of them as done.
func (s *stream) dropHostThread() {
	s.hostMu.Lock()
	defer s.hostMu.Unlock()
	s.hostQueued--
	if s.hostQueued == 0 {
		s.hostRelease()
	}
}
