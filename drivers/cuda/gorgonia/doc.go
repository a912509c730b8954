// Package gorgonia lets Go programs on gorgonia.org/cu use the pools of ferrum_mem: it
// opens a device on a context of cu, and takes in a stream of cu.
//
// It is a module of its own and behind the build tag gorgonia: cu needs the vendor's
// header and library to build, is linked with the library, and ends the process where
// there is no device. scripts/gorgonia.sh says how it is built and tested.
//
// It owns nothing: contexts and streams are the program's, and the device is closed by
// whoever opened it.
//
// Lock order: the package has no locks.
package gorgonia
