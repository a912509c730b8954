package diskfile

// Block is what direct reads are multiples of. Disks have blocks of 512 or 4096 bytes.
const Block = 4096

// windowBytes is how much of a file is looked up in the page cache at a time.
const windowBytes = 4 << 20

// Counts says how bytes were read, for tests and reports.
type Counts struct {
	// Cached bytes came from the page cache, Direct bytes around it, and Through bytes through
	// it although they were not there.
	Cached, Direct, Through uint64
}
