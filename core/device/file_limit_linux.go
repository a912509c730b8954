package device

import (
	"math"
	"reflect"
	"runtime"

	"golang.org/x/sys/unix"
)

// FileSizeLimit is how large a file of this process may become (RLIMIT_FSIZE), in
// bytes; math.MaxUint64: there is no bound, or it is not known.
func FileSizeLimit() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) != nil || limit.Cur == unix.RLIM_INFINITY {
		return math.MaxUint64
	}
	return limit.Cur
}

// WithinFileSizeLimit makes a call that writes or sizes files, of any kind, on the
// calling thread. Beyond RLIMIT_FSIZE such a call fails with EFBIG, and the system sends
// SIGXFSZ to the thread, which ends a process that has not provided for it. So the
// thread does not take that signal during the call, and what the call has brought of it
// is gone afterwards; one that was pending before stays.
func WithinFileSizeLimit(call func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signal := newSignalSet(unix.SIGXFSZ)
	var before unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &signal.set, &before); err != nil {
		return err
	}
	stale := signal.isPending()
	defer func() {
		if !stale && signal.isPending() {
			signal.take()
		}
		if !signal.isIn(&before) {
			_ = unix.PthreadSigmask(unix.SIG_UNBLOCK, &signal.set, nil)
		}
	}()
	return call()
}

// signalSet is the set of one signal, as the system has it.
type signalSet struct {
	set  unix.Sigset_t
	word int
	bit  uint64
}

// kernelSetBytes is the length of the system's own sets.
const kernelSetBytes = 8

func newSignalSet(signal unix.Signal) *signalSet {
	s := &signalSet{}
	width := 8 * int(reflect.TypeOf(s.set.Val[0]).Size())
	number := int(signal) - 1
	s.word, s.bit = number/width, 1<<(number%width)
	s.set.Val[s.word] |= 1 << (number % width)
	return s
}

func (s *signalSet) isIn(set *unix.Sigset_t) bool { return uint64(set.Val[s.word])&s.bit != 0 }

// isPending says whether the signal waits for the calling thread, or for any.
func (s *signalSet) isPending() bool {
	pending := new(unix.Sigset_t)
	_, _, errno := unix.RawSyscall(unix.SYS_RT_SIGPENDING, reflect.ValueOf(pending).Pointer(), kernelSetBytes, 0)
	runtime.KeepAlive(pending)
	return errno == 0 && s.isIn(pending)
}

// take takes the signal, which is blocked and pending, without waiting.
func (s *signalSet) take() {
	now := new(unix.Timespec)
	for {
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGTIMEDWAIT, reflect.ValueOf(&s.set).Pointer(), 0,
			reflect.ValueOf(now).Pointer(), kernelSetBytes, 0, 0)
		runtime.KeepAlive(now)
		if errno != unix.EINTR {
			return
		}
	}
}
