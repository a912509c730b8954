// Package mappedfiles keeps the process alive when a page of a mapped file is gone.
//
// A page is gone when the file became shorter, or when the disk cannot be read. The use of
// the page is a signal SIGBUS, on the thread that uses it. The default action, and the
// handler of the Go runtime for C code, end the process. This package watches the mappings
// of core/weights/diskfile. Its handler puts zeros in the place of the page and marks the
// mapping, which core/weights reports as an error. Every other signal SIGBUS goes to the
// handler that was installed before, as without this package.
//
// The handler is C: it may run on any thread and at any instruction, so it takes no lock,
// allocates nothing and does not enter Go. The first watched mapping installs it, and it
// stays until the process ends. mapped.h is the interface, mapped.c the handler.
//
// Lock order: the mutex in mapped.c is a leaf.
package mappedfiles
