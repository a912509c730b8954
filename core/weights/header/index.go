package header

import (
	"strings"
	"unicode/utf8"

	"ferrum_mem/core/device"
)

// Bounds of an index of several files.
const (
	// MaxIndexBytes is the longest index that is read.
	MaxIndexBytes = 64 << 20
	// MaxShards is the most files that an index may name.
	MaxShards = 1 << 14
)

// Index states which tensors are in which file.
type Index struct {
	// Files are the names of the files, in the order in which the index first names them.
	Files []string
	// FileOf gives for each tensor the index in Files of its file.
	FileOf map[string]int
}

// ReadIndex reads an index in the form of Hugging Face: a JSON object with weight_map, which gives
// the file name for each tensor. The files lie beside the index. ReadIndex rejects a name that is a
// path.
func ReadIndex(in Input) (*Index, error) {
	if in.Size > MaxIndexBytes {
		return nil, in.wrong("the index of %v is longer than %v", device.Size(in.Size), device.Size(MaxIndexBytes))
	}
	text, err := in.Read(0, in.Size)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return nil, in.wrong("the index is not UTF-8")
	}
	r := indexReader{scanner: scanner{in: in, text: string(text)}, places: map[string]int{}}
	r.read()
	switch {
	case r.err != nil:
		return nil, r.err
	case r.index == nil:
		return nil, in.wrong("weight_map is missing")
	case len(r.index.Files) == 0:
		return nil, in.wrong("weight_map names no file")
	}
	return r.index, nil
}

type indexReader struct {
	scanner
	index  *Index
	places map[string]int
}

func (r *indexReader) read() {
	const where = "the index"
	r.expect('{', where)
	for first := true; r.next('}', first, where); first = false {
		key := r.string(where)
		r.expect(':', where)
		switch {
		case key != "weight_map":
			r.skip(quote(key), 0)
		case r.index != nil:
			r.fail("weight_map occurs twice")
		default:
			r.weights()
		}
	}
	r.spaces()
	if r.err == nil && r.at != len(r.text) {
		r.fail("something follows the JSON object of the index")
	}
}

func (r *indexReader) weights() {
	const where = "weight_map"
	r.index = &Index{FileOf: map[string]int{}}
	r.expect('{', where)
	for first := true; r.next('}', first, where); first = false {
		name := r.string(where)
		r.expect(':', where)
		file := r.string(where)
		if r.err != nil {
			return
		}
		_, twice := r.index.FileOf[name]
		place, known := r.places[file]
		switch {
		case twice:
			r.fail("weight_map.%s: the key occurs twice", quote(name))
		case len(r.index.FileOf) >= MaxTensors:
			r.fail("weight_map names more than %d tensors", MaxTensors)
		case file == "" || file == "." || file == ".." || strings.ContainsAny(file, "/\\\x00"):
			r.fail("weight_map.%s: %s is not the name of a file beside the index", quote(name), quote(file))
		case known:
			r.index.FileOf[name] = place
		case len(r.index.Files) >= MaxShards:
			r.fail("weight_map names more than %d files", MaxShards)
		default:
			r.places[file] = len(r.index.Files)
			r.index.FileOf[name] = len(r.index.Files)
			r.index.Files = append(r.index.Files, file)
		}
	}
}
