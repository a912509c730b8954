// Package metalprobe finds Metal devices. Metal is part of macOS; on other systems the
// result is that it is not supported.
//
// It owns nothing after a call except the loaded framework. A process that must not be
// harmed by a broken driver runs it in a child process.
//
// Lock order: the package has no locks.
package metalprobe
