// Package cudaprobe looks for CUDA devices through the driver library, without the
// toolkit.
//
// It owns nothing after a call: contexts that it needs to read free memory are
// given back before it returns, and the library stays loaded. A process that must
// not be harmed by a broken driver runs it in a child.
//
// Lock order: the package has no locks.
package cudaprobe
