// Package engines is the list of the engines of this product: the only place that names every engine.
// A new engine is its folder and its line in the list.
//
// It owns nothing. Using the package starts no engine and loads no library: an engine starts when a
// backend is opened.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// list.go.
package engines
