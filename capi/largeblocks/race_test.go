//go:build race

package largeblocks

// raced says that tables lie where the race detector sees them, and none is lent.
const raced = true
