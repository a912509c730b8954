//go:build race

package largeblocks

// raced is set if tables are in memory that the race detector sees; then none is lent.
const raced = true
