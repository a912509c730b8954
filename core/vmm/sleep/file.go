package sleep

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"sync/atomic"
	"syscall"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/extent"
)

// The file format of sleeping pages. All numbers are little-endian. The head has the
// magic (16 bytes), the version (4), the CRC-32C of the rest of the head (4), the page
// size (8), the number of chunks (8). For each chunk follow its offset in the file (8),
// its length (8), the first of its pages (8), the CRC-32C of its bytes (4) and 0 (4).
// Then the chunks follow, the first at a multiple of fileAlign. The magic is written
// when the file is created, the rest of the head after all chunks.
const (
	// FileMagic is the start of every file of sleeping pages.
	FileMagic   = "\x89FERRUM-SLEEP\r\n\x1a"
	fileVersion = 2
	fileSum     = len(FileMagic) + 4
	fileFixed   = fileSum + 4 + 8 + 8
	fileEntry   = 8 + 8 + 8 + 4 + 4
	fileAlign   = 4096
)

// castagnoli creates the table at the first call and keeps it, because creating it at
// load time would make loading the library slower.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// File is the interface of a file that keeps contents.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Name() string
	// Remove removes the file, if its name still leads to it.
	Remove() error
}

// savedFile is the file of one Sleep. It exists until none of its chunks is needed.
type savedFile struct {
	extent  *extent.Extent
	file    File
	head    []byte
	entries []fileChunk
	users   atomic.Int64
}

// fileChunk is the entry of one chunk in a file.
type fileChunk struct {
	offset, size, page uint64
	sum                uint32
}

// newFile creates the file for the chunks of jobs, and makes them its users.
func newFile(e *extent.Extent, k *Keepers, dir string, jobs []Job) (*savedFile, error) {
	f := &savedFile{extent: e, entries: make([]fileChunk, len(jobs))}
	at := uint64(fileFixed + fileEntry*len(jobs))
	at += (fileAlign - at%fileAlign) % fileAlign
	for i, j := range jobs {
		f.entries[i] = fileChunk{offset: at, size: j.Chunk.Run.Pages * e.PageBytes, page: j.Chunk.Run.Start}
		at += f.entries[i].size
	}
	if most := device.FileSizeLimit(); at > most {
		return nil, e.Fault(device.CodeResourceExhausted, "sleep",
			"%s: requested a file of %v in the directory %q, available %v: that is the process's limit for the size of files (RLIMIT_FSIZE)",
			e.Title(), device.Size(at), dir, device.Size(most)).Stating(device.FactRequestedBytes, at).Stating(device.FactAvailableBytes, most).
			WithNative(int64(syscall.EFBIG))
	}
	var err error
	if f.file, err = k.OpenFile(dir); err != nil {
		return nil, f.fault("sleep", err, "a file in the directory %q", dir)
	}
	f.users.Store(int64(len(jobs)))
	for i, j := range jobs {
		j.Chunk.file, j.Chunk.index = f, i
	}
	return f, nil
}

// fault returns the error of a call on a file.
func (f *savedFile) fault(op string, err error, format string, args ...any) error {
	code := device.CodeIO
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EMFILE),
		errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.EFBIG):
		code = device.CodeResourceExhausted
	case errors.Is(err, fs.ErrPermission):
		code = device.CodePermissionDenied
	}
	native := int64(0)
	var number syscall.Errno
	if errors.As(err, &number) {
		native = int64(number)
	}
	return f.extent.Fault(code, op, "%s: "+format+": %w", append(append([]any{f.extent.Title()}, args...), err)...).
		WithNative(native)
}

// write writes bytes of a chunk to the file, from an offset in the chunk on. The calls
// for a chunk come in the order of the offsets.
func (f *savedFile) write(c *Chunk, offset uint64, bytes []byte) error {
	entry := &f.entries[c.index]
	entry.sum = crc32.Update(entry.sum, castagnoli(), bytes)
	if _, err := f.file.WriteAt(bytes, int64(entry.offset+offset)); err != nil {
		return f.fault("sleep", err, "chunk %d, %v at %d of the file %q", c.index, device.Size(entry.size), entry.offset, f.file.Name())
	}
	return nil
}

// seal writes the head after all chunks were written.
func (f *savedFile) seal() error {
	head := append(make([]byte, 0, fileFixed+fileEntry*len(f.entries)), FileMagic...)
	head = binary.LittleEndian.AppendUint32(head, fileVersion)
	head = binary.LittleEndian.AppendUint32(head, 0)
	head = binary.LittleEndian.AppendUint64(head, f.extent.PageBytes)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(f.entries)))
	for _, e := range f.entries {
		head = binary.LittleEndian.AppendUint64(head, e.offset)
		head = binary.LittleEndian.AppendUint64(head, e.size)
		head = binary.LittleEndian.AppendUint64(head, e.page)
		head = binary.LittleEndian.AppendUint32(head, e.sum)
		head = binary.LittleEndian.AppendUint32(head, 0)
	}
	binary.LittleEndian.PutUint32(head[fileSum:], crc32.Checksum(head[fileSum+4:], castagnoli()))
	if _, err := f.file.WriteAt(head, 0); err != nil {
		return f.fault("sleep", err, "the header of the file %q", f.file.Name())
	}
	f.head = head
	return nil
}

// checkedRead reads a chunk of a file, and compares its checksum.
type checkedRead struct {
	file  *savedFile
	chunk *Chunk
	sum   uint32
}

func (f *savedFile) check(c *Chunk) *checkedRead { return &checkedRead{file: f, chunk: c} }

// read reads bytes of the chunk, from an offset in the chunk on. The calls come in the
// order of the offsets. The last one compares the checksum.
func (r *checkedRead) read(offset uint64, to []byte) error {
	f, index := r.file, r.chunk.index
	entry := f.entries[index]
	n, err := f.file.ReadAt(to, int64(entry.offset+offset))
	if n < len(to) && !errors.Is(err, io.EOF) {
		return f.fault("wake", err, "chunk %d, %v at %d of the file %q", index, device.Size(entry.size), entry.offset, f.file.Name())
	}
	if n < len(to) {
		return f.extent.Fault(device.CodeCorrupted, "wake", "%s: the file %q ends within chunk %d, after %d of %v", f.extent.Title(),
			f.file.Name(), index, offset+uint64(n), device.Size(entry.size))
	}
	r.sum = crc32.Update(r.sum, castagnoli(), to)
	if offset+uint64(len(to)) == entry.size && r.sum != entry.sum {
		return f.extent.Fault(device.CodeCorrupted, "wake",
			"%s: chunk %d of the file %q, %v at %d, has CRC-32C %#08x and was written with %#08x", f.extent.Title(), index,
			f.file.Name(), device.Size(entry.size), entry.offset, r.sum, entry.sum)
	}
	return nil
}

// checkHead compares the head of a file with the head that was written.
func (f *savedFile) checkHead() error {
	found := make([]byte, len(f.head))
	n, err := f.file.ReadAt(found, 0)
	if n < len(found) && !errors.Is(err, io.EOF) {
		return f.fault("wake", err, "the header of the file %q", f.file.Name())
	}
	if string(found) != string(f.head) {
		return f.extent.Fault(device.CodeCorrupted, "wake", "%s: the header of the file %q is not the one that was written", f.extent.Title(), f.file.Name())
	}
	return nil
}

// release ends the use by a chunk. The last chunk removes and closes the file.
func (f *savedFile) release() error {
	if f.users.Add(-1) > 0 {
		return nil
	}
	return errors.Join(f.file.Remove(), f.file.Close())
}
