// Package extent computes where the pages of a piece of address space lie: the page at an
// address, the pages that a range of bytes touches, and the text of the error for a range
// that touches no page or wrong pages. It knows nothing of the contents of pages and never
// calls a device.
//
// # Lock order
//
// It has no lock: an Extent does not change once it is in use.
package extent
