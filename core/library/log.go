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

// The weights of log messages in the C ABI.
const (
	LogDebug   int32 = 0
	LogInfo    int32 = 1
	LogWarning int32 = 2
	LogError   int32 = 3
)

var logLevelNames = [...]string{LogDebug: "debug", LogInfo: "info", LogWarning: "warning", LogError: "error"}

// logCapacity bounds the messages that wait for delivery. A forced stop reports
// up to leakReportEntries at once.
const logCapacity = 4 * leakReportEntries

// nobody is the threshold when no message is wanted.
const nobody = math.MaxInt32

// receiver is somebody who hears messages.
type receiver struct {
	minimum int32
	deliver func(level int32, message string)
	// retired says that it may not be called any more; what was queued for it
	// goes to the one that follows it.
	retired atomic.Bool
	// heir is that one, and is set before retired; nil: nobody was chosen then.
	heir *receiver
}

// logger brings messages to the present receiver, in order, on a worker.
type logger struct {
	dispatcher *notify.Dispatcher
	// threshold is the minimum of the present receiver, for a quick answer.
	threshold atomic.Int32

	// mu is held while a message is queued for the receiver of that moment, so
	// that a change of receiver knows what was queued for the former one.
	mu sync.Mutex
	// chosen was set by the caller, fallback by the environment.
	chosen, fallback *receiver

	// droppedReported is touched by deliveries only, which come one at a time.
	droppedReported uint64
}

func newLogger() *logger {
	g := &logger{dispatcher: notify.New("log", logCapacity)}
	g.threshold.Store(nobody)
	return g
}

func (g *logger) present() *receiver {
	if g.chosen != nil {
		return g.chosen
	}
	return g.fallback
}

// printf queues a message. It formats nothing when nobody would hear it.
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
		if to = g.heirOf(to); to == nil || level < to.minimum {
			return
		}
	}
	// Drops happen while the queue is full, so at least one delivery follows
	// every drop and reports it.
	if dropped := g.dispatcher.Dropped(); dropped > g.droppedReported {
		to.deliver(max(LogWarning, to.minimum),
			fmt.Sprintf("%d log messages were dropped: they came faster than they were received",
				dropped-g.droppedReported))
		g.droppedReported = dropped
	}
	to.deliver(level, message)
}

// heirOf is who hears what was queued for a receiver that is retired. One that was
// chosen after it, and is being taken away just now, still hears that; else it is the
// present one, if any.
func (g *logger) heirOf(to *receiver) *receiver {
	for to != nil && to.retired.Load() {
		to = to.heir
	}
	if to != nil {
		return to
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.present()
}

// choose sets the caller's receiver, or takes it away with nil. With wait it
// returns when the former one has heard what was queued for it; without, the
// former one is not called again once a call of it that runs now has returned.
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
	former.heir = next
	former.retired.Store(true)
}

// fallBack sets who hears messages while the caller has chosen nobody.
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
	g.threshold.Store(nobody)
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

// stderrReceiver writes messages of at least that level, a line each.
func stderrReceiver(minimum int32, stderr io.Writer) *receiver {
	return &receiver{minimum: minimum, deliver: func(level int32, message string) {
		fmt.Fprintf(stderr, "ferrum_mem: %s: %s\n", logLevelNames[level], message)
	}}
}
