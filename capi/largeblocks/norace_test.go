//go:build !race

package largeblocks

const raced = false
