// Package similar finds the known names that are most similar to an unknown one, so that an error can
// suggest them.
//
// Lock order: the package has no locks and keeps nothing.
//
// # Files in reading order
//
// similar.go.
package similar
