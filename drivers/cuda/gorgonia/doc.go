// Package gorgonia lets Go programs on gorgonia.org/cu use the pools of ferrum_mem: it
// opens a device on a context of cu, and adopts a stream of cu.
//
// It is a module of its own, behind the build tag gorgonia. cu needs the vendor's header
// and library to build, links the library, and ends the process where there is no device.
// scripts/gorgonia.sh builds and tests it.
//
// It owns nothing: contexts and streams belong to the program, and the caller that opened
// the device closes it.
//
// Lock order: the package has no locks.
package gorgonia
