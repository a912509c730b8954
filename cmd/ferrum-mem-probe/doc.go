// Command ferrum-mem-probe asks the library of one vendor for its devices and ends.
// libferrum_mem starts it, so that a driver that crashes or hangs takes this process
// with it and not the program that uses the library. It is of no use by itself.
//
// Lock order: the package has no locks.
package main
