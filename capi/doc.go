// Command capi is the C ABI: libferrum_mem.so, built with -buildmode=c-shared.
//
// The public functions are C (*.c). Each of them rejects calls in a forked child or in a
// poisoned library, checks pointers and structs, zeroes the outputs, and calls a hidden Go
// export (fmgo_*). The export decodes the arguments, calls core/library, encodes the
// result, and turns a panic into FERRUM_ERROR_INTERNAL. This package has no logic of its
// own.
//
// Most of it is generated from the header: functions (*_gen.c), exports (export_*_gen.go)
// and the converters of structs (structs_*_gen.go), which use the small functions in
// structs.go. Start-up, callbacks and the calls of blocks are written by hand.
//
// Three tasks run without entering Go, each in a package of its own. The thread caches serve most
// allocations and frees of small blocks (capi/threadcache). Larger blocks are placed in the tables
// that a pool has lent (capi/largeblocks). Published counters are read in C (capi/mirrors). The
// functions of these calls (pools.c, monitor.c) try these packages first; a hit of the caches is
// inline in them. export_cache.go and guard.c have the functions of the library that the caches
// call. A fourth package, capi/mappedfiles, handles the signal of a lost page of a mapped
// file, on the thread that uses the page.
//
// The package owns the one Library of the process, the gate that rejects calls, and the
// error records of the threads. It never returns memory to the caller, and holds no lock
// while it calls a callback.
//
// Lock order: the mutex of the thread caches (capi/threadcache), and the leaf of capi/mappedfiles.
package main
