package estimate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ferrum_mem/core/device"
)

// The bounds of a checkpoint of several files.
const (
	maxIndexBytes = 64 << 20
	maxIndexed    = 1 << 21
	maxShards     = 1 << 14
)

// IndexName is the file that states which tensors are in which file.
const IndexName = "model.safetensors.index.json"

// Checkpoint has the sums over the headers of safetensors or GGUF files.
type Checkpoint struct {
	Files   int
	Tensors int
	// GGUF states that the files have the GGUF format.
	GGUF bool
	// FloatElements and FloatBytes count the floating-point weights, including those
	// that GGUF stores in blocks.
	FloatElements uint64
	FloatBytes    uint64
	// PackedBytes counts weights stored as integers, as quantisation does.
	PackedBytes uint64
	// WeightBytes is the sum of FloatBytes and PackedBytes.
	WeightBytes uint64
	// BufferElements and BufferBytes count tensors that are not weights: positions,
	// masks, frequencies.
	BufferElements uint64
	BufferBytes    uint64
}

// Packed reports whether most of the weights are stored as integers, so that the number
// of elements is not the number of parameters.
func (c *Checkpoint) Packed() bool { return c.PackedBytes > c.FloatBytes }

// OpenCheckpoint reads the headers of a safetensors file, of the files of an index (a
// name that ends in .index.json), or of a folder: its index, otherwise
// model.safetensors, otherwise every file that ends in .safetensors. Errors:
// CodeNotFound for a missing file; CodeInvalidFormat for an invalid header or index,
// for a tensor in two files, and for one that is not in the file that the index names.
func OpenCheckpoint(path string) (*Checkpoint, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fileError(opSafetensors, path, err)
	}
	switch {
	case info.IsDir():
		return openFolder(path)
	case strings.HasSuffix(path, ".index.json"):
		return openIndex(path)
	}
	return openFiles([]string{path}, nil)
}

func openFolder(folder string) (*Checkpoint, error) {
	for _, name := range []string{IndexName, "model.safetensors"} {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			return OpenCheckpoint(path)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fileError(opSafetensors, folder, err)
	}
	var paths []string
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".safetensors") && !entry.IsDir() {
			paths = append(paths, filepath.Join(folder, entry.Name()))
		}
	}
	if len(paths) == 0 {
		return nil, device.Errorf(device.CodeNotFound, opSafetensors, "%s: there is no safetensors file", folder)
	}
	return openFiles(paths, nil)
}

// openIndex reads an index and the files that it names, which are in the same folder.
func openIndex(path string) (*Checkpoint, error) {
	text, err := readSmallFile(opSafetensors, path, maxIndexBytes)
	if err != nil {
		return nil, err
	}
	in, err := readIndex(path, text)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, file := range in.files {
		paths = append(paths, filepath.Join(filepath.Dir(path), file))
	}
	return openFiles(paths, in)
}

// index states which tensors are in which file.
type index struct {
	name   string
	files  []string
	fileOf map[string]string
}

func readIndex(name string, text []byte) (*index, error) {
	p := parserLimits{bytes: maxIndexBytes, values: 2 * maxIndexed}
	top, err := p.parseObject(opSafetensors, name, text)
	if err != nil {
		return nil, err
	}
	weights, err := top.objectOr("weight_map")
	if err != nil {
		return nil, err
	}
	if weights == nil {
		return nil, top.wrong("weight_map", "is missing")
	}
	in := &index{name: name, fileOf: map[string]string{}}
	seen := map[string]bool{}
	for tensor := range weights.fields {
		file, err := weights.textOr(tensor, "")
		if err != nil {
			return nil, err
		}
		if file == "" || file == "." || file == ".." || strings.ContainsAny(file, "/\\\x00") {
			return nil, weights.wrong(quoteKey(tensor), "%s is not the name of a file beside the index", quote(file))
		}
		in.fileOf[tensor] = file
		if !seen[file] {
			seen[file] = true
			in.files = append(in.files, file)
		}
	}
	if len(in.files) == 0 {
		return nil, top.wrong("weight_map", "names no file")
	}
	if len(in.files) > maxShards {
		return nil, top.wrong("weight_map", "names more than %d files", maxShards)
	}
	slices.Sort(in.files)
	return in, nil
}

// openFiles reads the headers of files and compares them with the index, if there is
// one.
func openFiles(paths []string, in *index) (*Checkpoint, error) {
	if len(paths) > maxShards {
		return nil, malformed(opSafetensors, filepath.Dir(paths[0]), "has more than %d safetensors files", maxShards)
	}
	k := &Checkpoint{}
	placed := map[string]string{}
	for _, path := range paths {
		tensors, err := readHeaderFile(path)
		if err != nil {
			return nil, err
		}
		for _, t := range tensors {
			if other, twice := placed[t.Name]; twice {
				return nil, malformed(opSafetensors, path, "%s: the tensor is in %s too", quoteKey(t.Name), other)
			}
			if len(placed) >= MaxTensors {
				return nil, malformed(opSafetensors, path, "with it there are more than %d tensors", MaxTensors)
			}
			placed[t.Name] = filepath.Base(path)
		}
		if err := k.add(tensors); err != nil {
			return nil, err
		}
	}
	if in != nil {
		for tensor, file := range in.fileOf {
			if placed[tensor] != file {
				return nil, malformed(opSafetensors, in.name, "weight_map.%s: the tensor is not in %s", quoteKey(tensor), file)
			}
		}
	}
	k.WeightBytes = k.FloatBytes + k.PackedBytes
	return k, nil
}

func readHeaderFile(path string) ([]Tensor, error) {
	file, size, err := openRegular(opSafetensors, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadHeader(path, file, size)
}

// add adds the tensors of a file to the sums.
func (k *Checkpoint) add(tensors []Tensor) error {
	k.Files++
	k.Tensors += len(tensors)
	var c calculation
	for _, t := range tensors {
		bytes := t.End - t.Begin
		switch {
		case t.isBuffer():
			k.BufferElements = c.sum(k.BufferElements, t.Elements)
			k.BufferBytes = c.sum(k.BufferBytes, bytes)
		case strings.Contains(t.DType, "F") || t.DType == "C64":
			k.FloatElements = c.sum(k.FloatElements, t.Elements)
			k.FloatBytes = c.sum(k.FloatBytes, bytes)
		default:
			k.PackedBytes = c.sum(k.PackedBytes, bytes)
		}
	}
	c.sum(k.FloatBytes, k.PackedBytes, k.BufferBytes)
	return c.err(opSafetensors, "the size of all tensors")
}

// bufferNames has the endings of names of tensors that are derived and not learned.
var bufferNames = []string{
	"position_ids", "token_type_ids", "rotary_emb.inv_freq", "attn.masked_bias", "attention.masked_bias", "num_batches_tracked",
}

// isBuffer reports whether a tensor is not a weight. Flags and 64-bit integers are
// positions, shapes and counters. A four-dimensional "bias" of an attention is its
// mask.
func (t Tensor) isBuffer() bool {
	switch t.DType {
	case "BOOL", "I64", "U64":
		return true
	}
	for _, name := range bufferNames {
		if strings.HasSuffix(t.Name, name) {
			return true
		}
	}
	mask := strings.HasSuffix(t.Name, "attn.bias") || strings.HasSuffix(t.Name, "attention.bias")
	return mask && t.Dimensions == 4
}
