// Command weights measures how fast core/weights loads files. In the same process, alternately, it
// measures how fast the system itself reads the same bytes. tests/bench/weights.py starts it.
//
//	weights resident FILE THREADS ROUNDS   load from the page cache, and pread into fresh memory
//	weights warm     FILE THREADS ROUNDS   the same into memory that was written before
//	weights cold     FILE THREADS ROUNDS   load what the page cache lacks, and the best read around it
//
// It prints one JSON object.
//
// It owns the memory that it measures with, and changes no file. Lock order: it has no locks.
//
// # Files in reading order
//
// main.go.
package main
