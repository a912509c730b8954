// Package installed calls the C library libferrum_mem of this product from a program that is
// built without cgo: the command, which has no engine of its own.
//
// It owns the search for the library, the check of its version, and the layout of the structs
// that it passes. Everything that the library does is documented in the header. A wrong layout
// is an error of the library, because each struct states its size.
//
// It never computes, and never loads the library before Open. The library stays loaded, and
// keeps its own Go runtime beside that of the program.
//
// Lock order: the package has no locks. A Library, a Backend and an Executor are for one
// goroutine at a time.
//
// # Files in reading order
//
// structs.go, open.go, tensor.go, executor.go, backend.go.
package installed
