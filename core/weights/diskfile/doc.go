// Package diskfile reads large files without changing what the page cache holds.
//
// A model that is read once should not push other files out of the page cache, and a read through
// the cache copies every byte twice. So a part of a file that the cache holds is read from the
// cache and stays there. A part that the cache does not hold is read around the cache with
// O_DIRECT, straight into the caller's memory. If the file system has no direct reads, the part is
// read through the cache, and the package then releases its pages.
//
// Direct reads have whole blocks: offset and length are multiples of Block, and the memory address is a
// multiple of what the disk needs (4 for many disks, 512 for others; Block if the system does not report
// it). A read of at most a few megabytes is one request. Its whole blocks go to the memory of the caller.
// They are moved there if the alignment of their place does not suffice. Blocks at the ends go through a
// buffer.
//
// The package queries the parts in the cache with cachestat, and before Linux 6.5 with mincore. For that
// it has a mapping that nothing reads through, so a file that becomes shorter is a read error and never
// a fault. Only the owner of a file and users who may write it may query the cache. For other users, the
// package tries a read that fails instead of waiting for the disk (RWF_NOWAIT).
//
// Warm reads a part of a file into the page cache, and Forget releases its pages. A Mapping is a
// whole file in the address space. Reading a lost page of a mapping is a fault of the process,
// unless a hook of OnMap watches the mapping. The package itself has no signal handler.
//
// The package owns its descriptor for direct reads and its mapping until Close. Lock order: the
// package has no locks. ReadAt may be called from any number of threads at a time.
//
// # Files in reading order
//
// diskfile.go, cache_linux.go, diskfile_linux.go, warm_linux.go, watch.go, mapping.go.
package diskfile
