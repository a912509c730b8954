// Package handle maps 64-bit words to objects of this process.
//
// A handle has its kind in the top 8 bits, a generation in the next 24 bits and an index
// in the low 32 bits. The index selects a slot. The generation tells apart the objects
// that used the slot one after the other. So the package detects 0, a handle of another
// kind, a handle whose object has ended, and an invented number. No handle is issued
// twice: a slot whose generations are used up is retired.
//
// The package owns its tables and nothing that is stored in them. It never calls the
// stored objects. An object that Get returned stays in memory as long as the caller refers
// to it, also when its handle is removed meanwhile. The object itself decides whether it
// can still be used.
//
// Lock order: one mutex per table, held only by Insert and Remove, which call nothing
// else. Get, Len and Each take no lock.
//
// # Files in reading order
//
// id.go, store.go, table.go.
package handle
