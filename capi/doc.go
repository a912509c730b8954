// Command capi is the C ABI: libferrum_mem.so, built with -buildmode=c-shared.
//
// The public functions are C (*.c): they refuse in a forked child or when
// poisoned, check pointers and structs, zero the outputs and call the hidden
// Go exports (fmgo_*), which decode, call core/library, encode, and turn a
// panic into FERRUM_ERROR_INTERNAL. There is no logic here: what a call means
// stands in core/library.
//
// It owns the one Library of the process, the gate that refuses calls, and the
// threads' error records. It never returns memory, and holds no lock while it
// calls the caller.
//
// Lock order: the package has no locks.
package main
