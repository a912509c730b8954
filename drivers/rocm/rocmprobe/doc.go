// Package rocmprobe looks for ROCm devices through the HIP runtime.
//
// It owns nothing after a call but the loaded library, whose own state of the
// devices stays. A process that must not be harmed by a broken driver runs it in a
// child.
//
// Lock order: the package has no locks.
package rocmprobe
