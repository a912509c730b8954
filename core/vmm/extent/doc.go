// Package extent says where the pages of a piece of address space lie: which page is at
// which address, which pages a range of bytes touches, and what the error of a range reads
// like that touches none, or the wrong ones. It knows nothing of what is in the pages, and
// never calls a device.
//
// # Lock order
//
// It has no lock: an Extent is not changed once it is in use.
package extent
