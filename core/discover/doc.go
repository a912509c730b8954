// Package discover knows the backends of this build: which can be used here, why
// not, with what devices and memory; which of them a model of some size fits; and how
// to open one by its id.
//
// It owns the list of drivers that the caller gives, what was found last, and the
// short-lived processes in which the libraries of vendors are asked: a driver that
// crashes or hangs takes such a process with it and not this one. It never imports a
// driver, never loads a vendor's library unless it is told to do so in this process,
// and keeps no device open.
//
// A process that cannot even be killed, because it hangs inside the kernel, is left
// behind with the one goroutine that will take its status; the caller has its answer
// in time.
//
// Lock order: Registry.discovering, then Registry.mu. The first is held while
// libraries are asked, the second never.
//
// # Files in reading order
//
// group_unix.go, kind.go, backends_gen.go, choose.go, isolation.go, child.go, found.go,
// registry.go, naming.go, summary.go.
package discover
