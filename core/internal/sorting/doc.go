// Package sorting sorts slices with little code. The compiler repeats slices.SortFunc for each type of
// elements, which adds about 20 kB to the library each time. Here all types share the algorithm of
// package sort. It takes up to twice the time of package slices for long lists, and it allocates three
// small objects; short lists cost the same. Long lists whose time matters use package slices.
//
// Lock order: the package has no locks and keeps nothing.
//
// # Files in reading order
//
// sorting.go.
package sorting
