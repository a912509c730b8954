// Package virtual is the books of the virtual memory of one device whose runtime has handles
// of physical memory that are mapped whole: which addresses are reserved, which pages there
// are, where they are mapped and with which access. It makes no call of a runtime.
//
// A runtime spoils the context where work touches what is not mapped, so work is held
// against these books first (Check). A call of a runtime can take long: pages that one works
// on are claimed by their state with the lock let go of, and a second call that names them
// meanwhile is CodeBusy. Who has claimed pages ends that by telling what became of them, and
// until then alone reads and writes what they are.
//
// The lock of a Book is a leaf.
//
// # Files in reading order
//
// page.go, book.go, claim.go.
package virtual
