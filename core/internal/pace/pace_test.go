package pace

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPaceRestsAfterItsTurn uses one processor, so another goroutine runs only while the
// work rests. Go's scheduler sometimes runs the goroutine that has just yielded again, but
// not twice.
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
