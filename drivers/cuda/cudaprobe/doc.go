// Package cudaprobe finds CUDA devices through the driver library, without the toolkit.
//
// It owns nothing after a call. NVML reports free memory without a context. Where NVML is
// missing, the package creates a context and releases it before the call returns. The
// libraries stay loaded. A process that must not be harmed by a broken driver runs it in a
// child process.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// meters.go, probe.go.
package cudaprobe
