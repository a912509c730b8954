package pace

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPaceRestsAfterItsTurn has one processor only: another goroutine runs when the work rests.
// Now and then Go's scheduler takes up first what has just stood back, but not twice.
func TestPaceRestsAfterItsTurn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var ran atomic.Bool
	go ran.Store(true)
	for range 2 {
		over := Pace{since: time.Now().Add(-turn)}
		over.Rest()
	}
	require.True(t, ran.Load())
}
