// Package hostmemory reads what the kernel states about the memory that this process may use: the
// memory of the machine, and the limits of the control groups of the process.
//
// It changes nothing and keeps no reading, because the values change while the process runs. It has
// no lock. It finds the control groups once.
//
// # Files in reading order
//
// reading_unix.go, cgroup.go, reader.go.
package hostmemory
