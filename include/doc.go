// Package include is the headers of the C interface. A C program includes ferrum_mem.h.
//
// The package embeds the headers. An embedded file is a part of what the packages that import
// this one are built from, so a change of a header builds these again, and no others. The linker
// drops the text.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// ferrum_mem.h, which includes the headers of the families, and source.go.
package include
