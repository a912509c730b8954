package library

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// When a receiver is replaced, its queued messages go to the next one. This also holds
// if the next one is being removed by a call that waits for it, before it has received
// a message.
func TestNextReceiverGetsQueuedMessages(t *testing.T) {
	g := newLogger()
	entered, goOn, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
	g.choose(&receiver{minimum: LogInfo, deliver: func(int32, string) {
		close(entered)
		<-goOn
	}}, false)
	var heard []string
	second := &receiver{minimum: LogInfo, deliver: func(_ int32, message string) { heard = append(heard, message) }}
	g.print(LogInfo, "one")
	<-entered
	g.print(LogInfo, "two")
	g.choose(second, false)
	go func() {
		g.choose(nil, true)
		close(gone)
	}()
	for g.threshold.Load() != noReceiver {
		runtime.Gosched()
	}
	close(goOn)
	<-gone
	require.Equal(t, []string{"two"}, heard)
	g.print(LogInfo, "nobody hears this")
	g.dispatcher.Close()
	require.Len(t, heard, 1)
}
