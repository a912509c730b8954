package library

import (
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/notify"
)

// The levels of log messages in the C ABI.
const (
	LogDebug   int32 = 0
	LogInfo    int32 = 1
	LogWarning int32 = 2
	LogError   int32 = 3
)

var logLevelNames = [...]string{LogDebug: "debug", LogInfo: "info", LogWarning: "warning", LogError: "error"}

// logCapacity bounds the messages that wait for delivery. A forced stop queues up to
// leakReportEntries messages at once.
const logCapacity = 4 * leakReportEntries

// noReceiver is the threshold when there is no receiver.
const noReceiver = math.MaxInt32

// receiver is a receiver of messages.
type receiver struct {
	minimum int32
	deliver func(level int32, message string)
	// retired states that it must not be called any more. Messages queued for it go to
	// its successor.
	retired atomic.Bool
	// successor is the receiver that was chosen next. It is set before retired; nil: none
	// was chosen.
	successor *receiver
}

// logger delivers messages to the present receiver, in order, on a worker.
type logger struct {
	dispatcher *notify.Dispatcher
	// threshold is the minimum level of the present receiver, for a check without a
	// lock.
	threshold atomic.Int32

	// mu is held while a message is queued for the present receiver, so that a change
	// of receiver knows what was queued for the previous one.
	mu sync.Mutex
	// chosen was set by the caller, fallback by the environment.
	chosen, fallback *receiver

	// droppedReported is used only by deliveries, which run one at a time.
	droppedReported uint64
}

func newLogger() *logger {
	g := &logger{dispatcher: notify.New("log", logCapacity)}
	g.threshold.Store(noReceiver)
	return g
}

func (g *logger) present() *receiver {
	if g.chosen != nil {
		return g.chosen
	}
	return g.fallback
}

// printf queues a message. It formats nothing if no receiver would get it.
func (g *logger) printf(level int32, format string, args ...any) {
	if level >= g.threshold.Load() {
		g.print(level, fmt.Sprintf(format, args...))
	}
}

func (g *logger) print(level int32, message string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	to := g.present()
	if to == nil || level < to.minimum {
		return
	}
	g.dispatcher.Post(func() { g.deliver(to, level, message) })
}

func (g *logger) deliver(to *receiver, level int32, message string) {
	if to.retired.Load() {
		if to = g.successorOf(to); to == nil || level < to.minimum {
			return
		}
	}
	// Messages are dropped only while the queue is full, so at least one delivery
	// follows every drop and reports it.
	if dropped := g.dispatcher.Dropped(); dropped > g.droppedReported {
		to.deliver(max(LogWarning, to.minimum),
			fmt.Sprintf("%d log messages were dropped: they were sent faster than the callback received them",
				dropped-g.droppedReported))
		g.droppedReported = dropped
	}
	to.deliver(level, message)
}

// successorOf returns the receiver of messages that were queued for a retired receiver. A
// receiver that was chosen after it gets them even while it is being removed. Otherwise
// the present receiver gets them, if there is one.
func (g *logger) successorOf(to *receiver) *receiver {
	for to != nil && to.retired.Load() {
		to = to.successor
	}
	if to != nil {
		return to
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.present()
}

// choose sets the caller's receiver, or removes it with nil. With wait it returns when
// the previous receiver has received what was queued for it. Without wait the previous
// receiver is not called again after its running call has returned.
func (g *logger) choose(next *receiver, wait bool) {
	g.mu.Lock()
	former := g.chosen
	g.chosen = next
	g.setThreshold()
	g.mu.Unlock()
	if former == nil {
		return
	}
	if wait {
		g.dispatcher.Flush()
	}
	former.successor = next
	former.retired.Store(true)
}

// fallBack sets the receiver for the time when the caller has chosen none.
func (g *logger) fallBack(to *receiver) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fallback = to
	g.setThreshold()
}

func (g *logger) setThreshold() {
	if to := g.present(); to != nil {
		g.threshold.Store(to.minimum)
		return
	}
	g.threshold.Store(noReceiver)
}

// logEnvironment reads FERRUM_LOG; nil: no messages.
func logEnvironment(getenv func(string) string, stderr io.Writer) (*receiver, error) {
	const variable = "FERRUM_LOG"
	value := getenv(variable)
	if value == "" {
		return nil, nil
	}
	for level, name := range logLevelNames {
		if value != name {
			continue
		}
		return stderrReceiver(int32(level), stderr), nil
	}
	return nil, device.Errorf(device.CodeInvalidConfig, "library.init",
		"%s=%q: want debug, info, warning or error", variable, value)
}

// stderrReceiver writes messages of at least that level, one line each.
func stderrReceiver(minimum int32, stderr io.Writer) *receiver {
	return &receiver{minimum: minimum, deliver: func(level int32, message string) {
		fmt.Fprintf(stderr, "ferrum_mem: %s: %s\n", logLevelNames[level], message)
	}}
}
