package header

import (
	"archive/zip"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
)

// archive is a zip file whose directory was read and checked.
type archive struct {
	in      Input
	members []member
	byName  map[string]int
}

// member is a file in an archive.
type member struct {
	file *zip.File
	name string
	// begin is the offset of the member's data in the archive, stored or deflated.
	begin uint64
}

// openArchive reads the directory of a zip file. It rejects two members with one name, members that
// share bytes, encrypted members, and members with a method other than stored and deflated. So
// every byte of the archive can be inflated at most once.
func openArchive(in Input) (*archive, error) {
	reader, err := zip.NewReader(in.Bytes, int64(in.Size))
	if err != nil {
		return nil, in.zipError("", err)
	}
	if len(reader.File) > MaxTensors {
		return nil, in.wrong("has more than %d members", MaxTensors)
	}
	a := &archive{in: in, byName: map[string]int{}}
	for _, file := range reader.File {
		label := quote(file.Name)
		begin, err := file.DataOffset()
		if err != nil {
			return nil, in.zipError(label+": ", err)
		}
		m := member{file: file, name: file.Name, begin: uint64(begin)}
		_, twice := a.byName[m.name]
		switch {
		case twice:
			return nil, in.wrong("%s: the member occurs twice", label)
		case len(m.name) > maxName:
			return nil, in.wrong("%s: the name is longer than %v", label, device.Size(maxName))
		case file.Flags&1 != 0:
			return nil, in.unsupported("%s: the member is encrypted", label)
		case file.Method != zip.Store && file.Method != zip.Deflate:
			return nil, in.unsupported("%s: the member is compressed by method %d, and only stored and deflated ones are read", label, file.Method)
		case begin < 0 || m.begin > in.Size || file.CompressedSize64 > in.Size-m.begin:
			return nil, in.wrong("%s: the member goes beyond the end of the file", label)
		case file.Method == zip.Store && file.CompressedSize64 != file.UncompressedSize64:
			return nil, in.wrong("%s: a stored member has two different sizes", label)
		}
		a.byName[m.name] = len(a.members)
		a.members = append(a.members, m)
	}
	return a, a.checkLayout()
}

func (a *archive) checkLayout() error {
	sorted := slices.Clone(a.members)
	sorting.By(sorted, func(x, y member) int { return cmp.Compare(x.begin, y.begin) })
	end := uint64(0)
	for _, m := range sorted {
		if m.begin < end {
			return a.in.wrong("%s: the member shares bytes with another one", quote(m.name))
		}
		end = m.begin + m.file.CompressedSize64
	}
	return nil
}

// zipError converts an error of the package that reads archives.
func (in Input) zipError(label string, err error) error {
	if errors.Is(err, zip.ErrAlgorithm) {
		return in.unsupported("%sthe compression is not known", label)
	}
	var typed *device.Error
	if errors.As(err, &typed) {
		return err
	}
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrChecksum) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return in.wrong("%sis not a complete zip archive: %s", label, strings.TrimPrefix(err.Error(), "zip: "))
	}
	return in.failed(err)
}

// content reads the first bytes of a member. The caller has bounded size.
func (a *archive) content(m member, size uint64) ([]byte, error) {
	if size > m.file.UncompressedSize64 {
		return nil, a.in.wrong("%s: has %v: want %d", quote(m.name), device.Size(m.file.UncompressedSize64), size)
	}
	reader, err := m.file.Open()
	if err != nil {
		return nil, a.in.zipError(quote(m.name)+": ", err)
	}
	defer reader.Close()
	// A damaged member may state more bytes than it has: the buffer grows with the bytes that are
	// read.
	data, err := io.ReadAll(io.LimitReader(reader, int64(size)))
	if err != nil {
		return nil, a.in.zipError(quote(m.name)+": ", err)
	}
	if uint64(len(data)) != size {
		return nil, a.in.wrong("%s: ends after %v: want %d", quote(m.name), device.Size(len(data)), size)
	}
	return data, nil
}

// place returns where bytes of a member are in the archive.
func (m member) place(t *Tensor, skip uint64) {
	if m.file.Method == zip.Store {
		t.Offset = m.begin + skip
		return
	}
	t.Offset = m.begin
	t.Compressed = &Compressed{Bytes: m.file.CompressedSize64, Inflated: m.file.UncompressedSize64, Skip: skip}
}

// npySuffix is the ending of the members of an archive of NumPy arrays.
const npySuffix = ".npy"

// readNPZ reads an archive of arrays. The name of an array is the name of its member without the
// ending.
func readNPZ(a *archive) (*Header, error) {
	h := &Header{Format: NumPy}
	for _, m := range a.members {
		name := strings.TrimSuffix(m.name, npySuffix)
		if name == m.name {
			return nil, a.in.wrong("%s: the member is not a NumPy array", quote(m.name))
		}
		t, err := readNPY(a.in, quote(name)+": ", m.file.UncompressedSize64, func(_, size uint64) ([]byte, error) {
			return a.content(m, size)
		})
		if err != nil {
			return nil, err
		}
		t.Name = name
		m.place(&t, t.Offset)
		h.Tensors = append(h.Tensors, t)
	}
	return h, nil
}
