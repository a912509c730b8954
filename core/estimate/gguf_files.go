package estimate

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"ferrum_mem/core/device"
)

// ggufEnding is the ending of the names of GGUF files.
const ggufEnding = ".gguf"

// openGGUF reads the headers of a GGUF file, or of all files of its model if it is one
// of several. It returns the header of the first file, which has the metadata.
func openGGUF(path string) (*Checkpoint, *ggufHeader, error) {
	first, err := readGGUFFile(path)
	if err != nil {
		return nil, nil, err
	}
	parts, err := first.whole("split.count", 1)
	if err != nil {
		return nil, nil, err
	}
	k := &Checkpoint{}
	headers := []*ggufHeader{first}
	if parts > 1 {
		if headers, err = readParts(path, first, parts); err != nil {
			return nil, nil, err
		}
	}
	placed := map[string]string{}
	for _, h := range headers {
		for _, t := range h.tensors {
			if other, twice := placed[t.Name]; twice {
				return nil, nil, malformed(opGGUF, h.name, "%s: the tensor is in %s too", quoteKey(t.Name), filepath.Base(other))
			}
			placed[t.Name] = h.name
		}
		if len(placed) > MaxTensors {
			return nil, nil, malformed(opGGUF, h.name, "with it there are more than %d tensors", MaxTensors)
		}
		if err := k.addGGUF(h.tensors); err != nil {
			return nil, nil, err
		}
	}
	total, err := headers[0].whole("split.tensors.count", uint64(k.Tensors))
	if err != nil {
		return nil, nil, err
	}
	if total != uint64(k.Tensors) {
		return nil, nil, headers[0].wrong("split.tensors.count", "is %d, and the files hold %d", total, k.Tensors)
	}
	k.WeightBytes = k.FloatBytes
	for name, rows := range joined(headers) {
		headers[0].rows[name] = rows
	}
	return k, headers[0], nil
}

// joined returns the second dimensions of the tensors of all files.
func joined(headers []*ggufHeader) map[string]uint64 {
	all := map[string]uint64{}
	for _, h := range headers {
		for _, t := range h.tensors {
			all[t.Name] = h.rows[t.Name]
		}
	}
	return all
}

// readParts reads the other files of a model in several files.
func readParts(path string, one *ggufHeader, parts uint64) ([]*ggufHeader, error) {
	if parts > maxShards {
		return nil, one.wrong("split.count", "is %d and not within 1 to %d", parts, maxShards)
	}
	base, total, ok := splitName(path)
	if !ok || total != parts {
		return nil, one.wrong("split.count", "is %d, where the name of the file does not end in -00001-of-%05d%s and the like", parts, parts, ggufEnding)
	}
	headers := make([]*ggufHeader, parts)
	for i := range parts {
		h, err := readGGUFFile(fmt.Sprintf("%s-%05d-of-%05d%s", base, i+1, parts, ggufEnding))
		if err != nil {
			return nil, err
		}
		for _, field := range []struct {
			key  string
			want uint64
		}{{"split.count", parts}, {"split.no", i}} {
			found, err := h.whole(field.key, 0)
			if err != nil {
				return nil, err
			}
			if found != field.want {
				return nil, h.wrong(field.key, "is %d and not %d", found, field.want)
			}
		}
		headers[i] = h
	}
	return headers, nil
}

// splitName splits the name of one of several files into the common part and the number
// of files.
func splitName(path string) (base string, parts uint64, ok bool) {
	rest, found := strings.CutSuffix(path, ggufEnding)
	const tail = len("-00001-of-00002")
	if !found || len(rest) <= tail {
		return "", 0, false
	}
	base, number := rest[:len(rest)-tail], rest[len(rest)-tail:]
	if number[0] != '-' || number[6:10] != "-of-" {
		return "", 0, false
	}
	if _, err := strconv.ParseUint(number[1:6], 10, 32); err != nil {
		return "", 0, false
	}
	parts, err := strconv.ParseUint(number[10:], 10, 32)
	return base, parts, err == nil
}

// onlyGGUF returns the one model in the GGUF files of a folder: a file, or the first of
// several files of one model.
func onlyGGUF(folder string, names []string) (string, error) {
	models := map[string]string{}
	for _, name := range names {
		if !strings.HasSuffix(name, ggufEnding) {
			continue
		}
		model := name
		if base, parts, ok := splitName(name); ok {
			model = fmt.Sprintf("%s of %d", base, parts)
		}
		if _, ok := models[model]; !ok {
			models[model] = name
		}
	}
	if len(models) > 1 {
		return "", device.Errorf(device.CodeInvalidArgument, opGGUF, "%s: holds %d models in GGUF files: name one of the files", folder, len(models))
	}
	for _, name := range models {
		return filepath.Join(folder, name), nil
	}
	return "", nil
}

func readGGUFFile(path string) (*ggufHeader, error) {
	file, size, err := openRegular(opGGUF, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readGGUF(path, file, size)
}

func (h *ggufHeader) wrong(key, format string, args ...any) error {
	return malformed(opGGUF, h.name, key+": "+format, args...)
}

// whole reads a whole number, with a default for a missing key.
func (h *ggufHeader) whole(key string, otherwise uint64) (uint64, error) {
	v, ok := h.values[key]
	if !ok {
		return otherwise, nil
	}
	if !v.isNumber() {
		return 0, h.wrong(key, "is not a whole number of at least 0")
	}
	return v.number, nil
}

func (v ggufValue) isNumber() bool {
	switch v.kind {
	case ggufFloat32, ggufFloat64, ggufString, ggufList, ggufBool:
		return false
	}
	return !v.negative
}
