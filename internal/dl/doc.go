// Package dl opens shared libraries of vendors at run time and calls functions in them,
// without cgo. Drivers and engines use it.
//
// It owns the rule for finding a library: the first of its versioned names that loads,
// with every required symbol or none. Libraries are never unloaded, because their threads
// and exit handlers would lose their code.
//
// It never decides what a missing library means, and knows no vendor.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// rights_linux.go, variable.go, names.go, text.go, load_unix.go, open.go, callback_unix.go, table.go,
// structs_stack.go, structs.go, signals_unix.go.
package dl
