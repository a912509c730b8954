package diskfile

// Block is the unit of direct reads: their offset, length and memory are multiples of it. Disks
// have blocks of 512 or 4096 bytes.
const Block = 4096

// windowBytes is the size of the part of a file that one query of the page cache and one request
// cover. A read is split at multiples of it. A part may be longer than a multiple by slackBytes
// at each end, because a short request waits behind the long ones that the disk has.
const (
	windowBytes = 4 << 20
	slackBytes  = 256 << 10
)

// Counts states how bytes were read, for tests and reports.
type Counts struct {
	// Cached bytes came from the page cache. Direct bytes were read around it. Through bytes were
	// missing in the page cache and were read through it.
	Cached, Direct, Through uint64
}
