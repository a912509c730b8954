// Package virtual keeps the state of the virtual memory of one device whose runtime has
// handles of physical memory that are mapped whole: reserved addresses, pages, their
// mappings and their access rights. It makes no call of a runtime.
//
// A runtime breaks the context when work uses an unmapped address, so work is checked
// against this state first (Check). A call of a runtime can take long. Its pages are
// claimed by their state while it runs, with the lock released, and a second call for them
// returns CodeBusy. The caller that claimed pages ends the claim by reporting the result.
// Until then only this caller reads and writes their state.
//
// The lock of a Book is a leaf.
//
// # Files in reading order
//
// page.go, book.go, claim.go.
package virtual
