package library_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
)

// listener records the messages that it receives.
type listener struct {
	mu    sync.Mutex
	heard []string
}

func (r *listener) hear(level int32, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = append(r.heard, fmt.Sprintf("%d %s", level, message))
}

func (r *listener) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.heard...)
}

func TestLogWorksBeforeInitAndAfterShutdown(t *testing.T) {
	b := newBench(t)
	var r listener
	require.NoError(t, b.SetLog(library.LogInfo, r.hear, true))
	b.Log(library.LogDebug, "too fine")
	b.Log(library.LogWarning, "before")
	require.NoError(t, b.Init(nil))
	b.open("test:0")
	require.NoError(t, b.Shutdown(true))
	b.Log(77, "after")
	require.NoError(t, b.SetLog(library.LogDebug, nil, true), "setting a callback waits for queued messages")
	b.Log(library.LogError, "to nobody")
	heard := r.all()
	require.Equal(t, "2 before", heard[0])
	require.Equal(t, "3 after", heard[len(heard)-1], "a level that is none is an error")
	text := strings.Join(heard, "\n")
	for _, part := range []string{"1 started", "1 test:0: opened: test device", "2 test:0: shutdown: freed device",
		"1 test:0: closed", "1 stopped"} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, text, "too fine")
	require.NotContains(t, text, "to nobody")
}

func TestLogRefusesALevelThatIsNone(t *testing.T) {
	b := newBench(t)
	for _, level := range []int32{-1, 4, 1 << 30} {
		requireCode(t, device.CodeInvalidArgument, b.SetLog(level, nil, true))
	}
}

func TestLogGoesToStderrIfTheEnvironmentAsks(t *testing.T) {
	var stderr bytes.Buffer
	b := newBench(t, func(o *library.Options) { o.Stderr = &stderr })
	require.NoError(t, b.Init(nil))
	require.NoError(t, b.Shutdown(false))
	require.Empty(t, stderr.String(), "nothing is printed without FERRUM_LOG")

	b.env["FERRUM_LOG"] = "warning"
	require.NoError(t, b.Init(nil))
	b.Log(library.LogInfo, "fine")
	b.Log(library.LogWarning, "bad")
	var r listener
	require.NoError(t, b.SetLog(library.LogDebug, r.hear, true))
	b.Log(library.LogError, "to the receiver")
	require.NoError(t, b.SetLog(library.LogDebug, nil, true))
	b.Log(library.LogError, "worse")
	require.NoError(t, b.Shutdown(false), "a shutdown delivers what is queued")
	require.Equal(t, "ferrum_mem: warning: bad\nferrum_mem: error: worse\n", stderr.String())
	require.Equal(t, []string{"3 to the receiver"}, r.all())
}

// A receiver that sets another one inside its call is not called again: messages queued
// for it go to the other.
func TestLogReceiverReplacesItself(t *testing.T) {
	b := newBench(t)
	var second listener
	entered, goOn, replaced := make(chan struct{}), make(chan struct{}), make(chan struct{})
	calls := 0
	require.NoError(t, b.SetLog(library.LogDebug, func(int32, string) {
		calls++
		close(entered)
		<-goOn
		if err := b.SetLog(library.LogInfo, second.hear, false); err != nil {
			panic(err)
		}
		close(replaced)
	}, true))
	b.Log(library.LogInfo, "one")
	<-entered
	b.Log(library.LogDebug, "too fine for the second")
	b.Log(library.LogInfo, "two")
	close(goOn)
	<-replaced
	b.Log(library.LogInfo, "three")
	require.NoError(t, b.SetLog(library.LogInfo, nil, true))
	require.Equal(t, []string{"1 two", "1 three"}, second.all())
	require.Equal(t, 1, calls)
}

func TestLogFloodIsCutAndCounted(t *testing.T) {
	b := newBench(t)
	var r listener
	entered, goOn := make(chan struct{}), make(chan struct{})
	require.NoError(t, b.SetLog(library.LogError, func(level int32, message string) {
		if message == "first" {
			close(entered)
			<-goOn
		}
		r.hear(level, message)
	}, true))
	b.Log(library.LogError, "first")
	<-entered
	const flood = 10000
	for range flood {
		b.Log(library.LogError, "flood")
	}
	close(goOn)
	require.NoError(t, b.SetLog(library.LogError, nil, true))
	heard := r.all()
	delivered, dropped := 0, 0
	for _, line := range heard {
		if line == "3 flood" {
			delivered++
		}
		var n int
		if _, err := fmt.Sscanf(line, "3 %d log messages were dropped", &n); err == nil {
			dropped += n
		}
	}
	require.Positive(t, dropped)
	require.Equal(t, flood, delivered+dropped, "every message is delivered or counted")
}

func TestReportDefectNamesWhatRan(t *testing.T) {
	b := newBench(t)
	var r listener
	require.NoError(t, b.SetLog(library.LogError, r.hear, true))
	b.ReportDefect("worker x", "index out of range", []byte("stack of x"))
	require.NoError(t, b.SetLog(library.LogError, nil, true))
	require.Len(t, r.all(), 1)
	for _, part := range []string{"worker x", "index out of range", "stack of x"} {
		require.Contains(t, r.all()[0], part)
	}
}

func TestForcedDestructionIsLogged(t *testing.T) {
	b := startBench(t)
	p, m, _ := b.fill("test:0")
	var r listener
	require.NoError(t, b.SetLog(library.LogWarning, r.hear, true))
	require.NoError(t, at(b.Pool, p).Destroy(true))
	require.NoError(t, at(b.Manager, m).Destroy(true))
	require.NoError(t, b.SetLog(library.LogWarning, nil, true))
	text := strings.Join(r.all(), "\n")
	require.Equal(t, 1, strings.Count(text, "freed block of 1000 bytes"))
	require.Contains(t, text, `tag "small"`)
	require.Equal(t, 1, strings.Count(text, "freed memory of 2000 bytes"))
	require.Contains(t, text, `tag "weights"`)
}

// The log has each object that a forced stop or close frees once, whichever call frees
// it.
func TestForcedStopLogsEachLeakOnce(t *testing.T) {
	for name, stop := range map[string]func(b *bench) error{
		"shutdown": func(b *bench) error { return b.Shutdown(true) },
		"close":    func(b *bench) error { return at(b.Device, b.leaks().Leaks[0].Handle).Close(true) },
	} {
		t.Run(name, func(t *testing.T) {
			b := startBench(t)
			b.fill("test:0")
			var r listener
			require.NoError(t, b.SetLog(library.LogWarning, r.hear, true))
			require.NoError(t, stop(b))
			require.NoError(t, b.SetLog(library.LogWarning, nil, true))
			text := strings.Join(r.all(), "\n")
			for _, kind := range []string{"block", "memory", "pool", "manager", "stream", "event", "registration"} {
				require.Equal(t, 1, strings.Count(text, "freed "+kind), "%s in %s", kind, text)
			}
		})
	}
}
