// Package rocmprobe finds ROCm devices through the HIP runtime.
//
// It owns nothing after a call except the loaded library, which keeps its own state of the
// devices. A process that must not be harmed by a broken driver runs it in a child
// process.
//
// Lock order: the package has no locks.
package rocmprobe
