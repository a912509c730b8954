// Package metalprobe looks for Metal devices. Metal is part of macOS; elsewhere the
// answer is that it is not supported.
//
// It owns nothing after a call but the loaded framework. A process that must not be
// harmed by a broken driver runs it in a child.
//
// Lock order: the package has no locks.
package metalprobe
