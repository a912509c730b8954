// Command ferrum-mem-probe queries the library of one vendor for its devices and ends.
// libferrum_mem starts it, so that a driver that crashes or hangs ends this process and
// not the program that uses the library. It has no use by itself.
//
// Lock order: the package has no locks.
package main
