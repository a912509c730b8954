package streams

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The bound of a queue counts the copies of a batch, whatever happens to the batch.
func TestCopiesOfABatchCountInTheQueue(t *testing.T) {
	var r ring
	of := func(n int) operation { return operation{kind: kindMoves, dstHeld: make(moves, n)} }
	r.push(of(5))
	r.push(operation{kind: kindFill})
	r.push(of(1))
	r.push(of(3))
	require.Equal(t, 4+2, r.batched)
	r.cancel(r.at(3))
	require.Equal(t, 4, r.batched)
	first := r.pop()
	require.Equal(t, 5, first.weight())
	require.Zero(t, r.batched)
	for r.count > 0 {
		r.pop()
	}
	require.Zero(t, r.batched)
}
