// Package hostpages maps ordinary memory of the process for a runtime that then page-locks it. That
// takes a fraction of the time of the runtimes' own page-locked memory: the kernel clears huge pages,
// several threads at once, and the runtime has few large pages to lock.
//
// The kernel counts ordinary memory against the limits of the control groups, and ends a process that
// exceeds one. So the pages of a Mapper are at most half of the memory that the process can use. For
// more, the caller takes memory of the runtime, which the kernel does not count.
//
// A child made by fork() does not have the pages: a fork must not move pages that a device uses.
//
// The lock of a Mapper guards its counters, and is held while it reads how much memory is available.
//
// # Files in reading order
//
// system_linux.go, pages.go.
package hostpages
