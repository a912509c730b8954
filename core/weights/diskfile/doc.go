// Package diskfile reads large files without changing what the page cache holds.
//
// A model that is read once should not push other files out of the page cache, and reading it
// through the cache copies every byte twice. So a part of a file that the cache holds is read
// from there and stays there; a part that it does not hold is read around the cache, straight
// into its place, with O_DIRECT. Where the file system has no such reads, the part is read through
// the cache, and its pages are given back.
//
// Direct reads have whole blocks: place in the file, length and memory are multiples of Block. A
// read whose place and memory are equally far from a multiple is direct except for its ends. In other
// reads whole blocks are read beside their place and moved. Ends and short reads go through a buffer.
//
// Which parts the cache holds is asked with mincore on a mapping that nobody reads through, so a
// file that becomes shorter is an error of reading and never a fault. The system answers truly
// only to the owner of a file and those who may write it; for others a read that must not wait
// (RWF_NOWAIT) tells.
//
// Warm reads a part of a file into the page cache, and Forget gives its pages back. A Mapping is a whole
// file in the address space. A page of it that is gone is a fault of the process, unless a hook of OnMap
// watches the mapping; the package has no handler of signals itself.
//
// The package owns its descriptor for direct reads and its mapping until Close. Lock order: the
// package has no locks. ReadAt may be called from any number of threads at a time.
//
// # Files in reading order
//
// diskfile.go, cache_linux.go, diskfile_linux.go, warm_linux.go, watch.go, mapping.go.
package diskfile
