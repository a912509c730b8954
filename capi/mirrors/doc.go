// Package mirrors holds the published counters of devices in C memory, where the core
// writes them (core/mirror), and the call that reads them without entering Go.
//
// It owns a record for each device, by the slot of the device's handle, and decides
// whether the record may be read. It never writes counters. A call that finds them invalid
// or too old returns that, and the caller then enters Go. mirror.h is the interface,
// mirror.c the reader.
//
// The package takes no lock, and no caller waits for it. For the bytes that thread caches hold
// it calls the thread caches, which take their mutex for that.
package mirrors
