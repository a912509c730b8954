// Package openclprobe looks for OpenCL devices through the loader library, in all
// platforms that it knows.
//
// It owns nothing after a call but the loaded libraries. It makes no context. A
// process that must not be harmed by a broken driver runs it in a child.
//
// Lock order: the package has no locks.
package openclprobe
