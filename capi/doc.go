// Command capi is the C ABI: libferrum_mem.so, built with -buildmode=c-shared.
//
// The public functions are C (*.c): they refuse in a forked child or when
// poisoned, check pointers and structs, zero the outputs and call the hidden
// Go exports (fmgo_*), which decode, call core/library, encode, and turn a
// panic into FERRUM_ERROR_INTERNAL. There is no logic here: what a call means stands
// in core/library.
//
// Most of it is generated from the header: functions (*_gen.c), exports (export_*_gen.go)
// and the converters of structs (structs_*_gen.go), which are made of the small functions
// in structs.go. By hand are the start, callbacks and the calls of blocks.
//
// Three things are done without entering Go, each in a package of its own: the thread
// caches serve most allocations and frees of small blocks (capi/threadcache), larger ones
// are placed in the tables that a pool has lent (capi/largeblocks), and shown books are
// read (capi/mirrors). The shims of these calls ask there first (pools.c, monitor.c); a
// hit of the caches is inline in them. What the caches call of the library is in
// export_cache.go and guard.c.
//
// It owns the one Library of the process, the gate that refuses calls, and the
// threads' error records. It never returns memory, and holds no lock while it
// calls the caller.
//
// Lock order: the one lock is the mutex of the thread caches, see capi/threadcache.
package main
