// Package handle turns 64-bit words into objects of this process and back.
//
// A handle carries its kind in the top 8 bits, a generation in the next 24 and
// an index in the low 32. The index finds a slot; the generation says which
// tenant of the slot is meant. So a handle of 0, one of another kind, one whose
// object is gone and one that was made up are told apart from a live one, and
// from each other. No handle is ever given out twice: a slot whose generations
// are used up is retired.
//
// The package owns its tables and nothing that is put into them. It never
// calls what it holds. An object found by Get stays in memory as long as the
// caller has it, also when the handle is removed meanwhile; whether it is still
// to be used is for the object to say.
//
// Lock order: one mutex per table, held by Insert and Remove only, while
// nothing else is called. Get, Len and Each take no lock.
package handle
