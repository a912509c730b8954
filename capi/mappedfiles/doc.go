// Package mappedfiles keeps the process running when it uses a lost page of a mapped file.
//
// A page is lost when the file became shorter, or when the disk cannot be read. The use of
// the page raises the signal SIGBUS on the thread that uses it. The default action, and the
// handler of the Go runtime for C code, end the process. This package watches the mappings
// of core/weights/diskfile. Its handler replaces the page by zeros and marks the mapping.
// core/weights reports a marked mapping as an error. The handler passes every other SIGBUS
// to the handler that was installed before.
//
// The handler is C: it may run on any thread and at any instruction, so it takes no lock,
// allocates nothing and does not enter Go. The first watched mapping installs it, and it
// stays until the process ends. mapped.h is the interface, mapped.c the handler.
//
// Lock order: the mutex in mapped.c is a leaf.
package mappedfiles
