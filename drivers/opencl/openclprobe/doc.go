// Package openclprobe finds OpenCL devices through the loader library, in all platforms
// that the loader knows.
//
// It owns nothing after a call except the loaded libraries. It creates no context. A
// process that must not be harmed by a broken driver runs it in a child process.
//
// Lock order: the package has no locks.
package openclprobe
