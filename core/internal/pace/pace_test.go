package pace

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWorkStandsBack has one processor only: another goroutine runs when the work rests.
func TestWorkStandsBack(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var ran atomic.Bool
	go ran.Store(true)
	over := Pace{since: time.Now().Add(-turn)}
	over.Rest()
	require.True(t, ran.Load())
}
