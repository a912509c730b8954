// Package cpu computes the operations of language models on the processors of this machine.
//
// An Engine has one set of kernels, which it chooses when it opens: the best instruction set
// of the machine, or the one of FERRUM_CPU_INSTRUCTIONS. Run computes one request, such as a
// MatMul. A request names memory by addresses; the caller owns that memory, and keeps it until
// Run returns. The package never allocates for a request: Workspace states how many bytes a
// request needs besides, and the caller gives them.
//
// The package knows no tensors, no operators and no shapes. It trusts the addresses, strides
// and sizes of a request, and checks only what costs nothing: types, counts and the workspace.
//
// # Threads
//
// An engine has a fixed number of threads, the caller among them. A request has up to two parts
// for each thread, and a thread that has completed one takes another. The division into parts
// depends only on the request and the number of threads, so the same number of threads gives the
// same bits. After a fork the child has no threads of the engine: a call there computes all parts
// alone, with the same bits.
//
// A thread without work tries again for up to 0.1 ms, and then sleeps. It sleeps at once if the
// process may use fewer processors than the engine has threads. Up to 8 threads leave the
// processor of the caller: on some virtual machines the system would wake them there.
//
// # Instruction sets
//
// Package kernels has one source. Packages sse2, avx2, avx512 and neon compile it. A build
// without cgo, or for another processor, has no kernels: Open returns CodeUnsupported.
//
// Lock order: the package has no locks in Go. The mutex of the threads (lock in threads.c) is
// the only one in C; nothing is called while it is held.
//
// # Files in reading order
//
// config.go, request.go, elementwise.go, attention.go, data.go, reduce.go, rotary.go,
// sets.go, sets_amd64.go, sets_arm64.go, sets_other.go, processors.go,
// threads.h, threads.c, parts.go, engine.go, engine_other.go, kept.go.
package cpu
