// Package native reads what the machine says of its processor and its memory, in each
// system's own way. It builds on more systems than the host backend does.
//
// It owns nothing. What cannot be read is "" or 0, never an error and never a guess.
//
// Lock order: the package has no locks.
package native
