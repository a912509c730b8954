package device

import (
	"math"
	"reflect"
	"runtime"

	"golang.org/x/sys/unix"
)

// FileSizeLimit returns the largest size of a file of this process (RLIMIT_FSIZE), in
// bytes. math.MaxUint64 means no limit, or an unknown one.
func FileSizeLimit() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) != nil || limit.Cur == unix.RLIM_INFINITY {
		return math.MaxUint64
	}
	return limit.Cur
}

// WithinFileSizeLimit runs call on the calling thread. call writes or resizes files.
// Above RLIMIT_FSIZE such a call fails with EFBIG, and the system sends SIGXFSZ to the
// thread, which ends a process that does not handle it. So the thread blocks the signal
// during the call, and a signal that the call caused is removed afterwards. A signal
// that was pending before stays pending.
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

// signalSet is a set of one signal, in the form of the system.
type signalSet struct {
	set  unix.Sigset_t
	word int
	bit  uint64
}

// kernelSetBytes is the size of the kernel's signal set in bytes.
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

// isPending reports whether the signal is pending for the calling thread or the
// process.
func (s *signalSet) isPending() bool {
	pending := new(unix.Sigset_t)
	_, _, errno := unix.RawSyscall(unix.SYS_RT_SIGPENDING, reflect.ValueOf(pending).Pointer(), kernelSetBytes, 0)
	runtime.KeepAlive(pending)
	return errno == 0 && s.isIn(pending)
}

// take removes the signal, which is blocked and pending, without waiting.
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
