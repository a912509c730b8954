// Package cudaprobe looks for CUDA devices through the driver library, without the
// toolkit.
//
// It owns nothing after a call: NVML tells of free memory without a context, and a
// context that is needed where it does not is given back before the call returns. The
// libraries stay loaded. A process that must
// not be harmed by a broken driver runs it in a child.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// rights_linux.go, library_path.go, meters.go, probe.go.
package cudaprobe
