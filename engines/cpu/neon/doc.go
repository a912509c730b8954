// Package neon has the kernels of the CPU engine, compiled for NEON. The source is in
// package kernels. A separate package can have its own compiler flags.
//
// It owns nothing and starts nothing.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// table.go and kept.go; kernels.c includes the source.
package neon
