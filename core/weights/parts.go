package weights

import (
	"fmt"
	"strconv"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights/header"
)

// A GGUF model can be in several files. Their names end in -00001-of-00003.gguf and so on. The
// metadata of each file states its number and the number of files.

const (
	partEnding = ".gguf"
	partKeys   = "split."
	partCount  = "split.count"
	partNumber = "split.no"
	partTotal  = "split.tensors.count"
)

// openParts opens a file. If the file is one of several files of a model, it opens all of them.
func (s *Source) openParts(path string) error {
	base, parts, isPart := partName(path)
	if !isPart {
		f, h, err := s.read(path)
		if err != nil {
			return err
		}
		count, err := whole(h, path, partCount, 1)
		if err == nil && count > 1 {
			err = device.Errorf(device.CodeInvalidFormat, opOpen, "%s: %s: is %d, where the name of the file does not end in -00001-of-%05d%s and the like", path, partCount, count, count, partEnding)
		}
		if err != nil {
			return err
		}
		return s.addTensors(f, h, nil)
	}
	if parts > header.MaxShards {
		return device.Errorf(device.CodeInvalidFormat, opOpen, "%s: %d files are more than %d", path, parts, header.MaxShards)
	}
	stated := uint64(0)
	for i := range parts {
		part := fmt.Sprintf("%s-%05d-of-%05d%s", base, i+1, parts, partEnding)
		f, h, err := s.read(part)
		if err != nil {
			return err
		}
		// A model in one file may lack these keys.
		for _, field := range []struct {
			key             string
			want, otherwise uint64
		}{{partCount, parts, min(parts, 1)}, {partNumber, i, 0}} {
			found, err := whole(h, part, field.key, field.otherwise)
			if err != nil {
				return err
			}
			if found != field.want {
				return device.Errorf(device.CodeInvalidFormat, opOpen, "%s: %s: is %d: want %d", part, field.key, found, field.want)
			}
		}
		total, err := whole(h, part, partTotal, stated)
		if err != nil {
			return err
		}
		stated = total
		if err := s.addTensors(f, h, nil); err != nil {
			return err
		}
	}
	if stated != 0 && stated != uint64(len(s.tensors)) {
		return device.Errorf(device.CodeInvalidFormat, opOpen, "%s: %s: is %d, and the files hold %d", path, partTotal, stated, len(s.tensors))
	}
	return nil
}

// whole returns a whole number from the metadata of a file.
func whole(h *header.Header, path, key string, otherwise uint64) (uint64, error) {
	v, ok := h.Values[key]
	switch {
	case !ok:
		return otherwise, nil
	case !v.IsWhole():
		return 0, device.Errorf(device.CodeInvalidFormat, opOpen, "%s: %s: is not a whole number of at least 0", path, key)
	}
	return v.Number, nil
}

// partName splits the name of one of several files: it returns the common part of the names and the
// number of files.
func partName(path string) (base string, parts uint64, isPart bool) {
	rest, found := strings.CutSuffix(path, partEnding)
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
	return base, parts, err == nil && parts > 0
}

// openOnlyModel opens the only GGUF model in a folder, in one file or in several.
func (s *Source) openOnlyModel(folder string, files []string) error {
	models := map[string]bool{}
	for _, file := range files {
		model := file
		if base, parts, ok := partName(file); ok {
			model = fmt.Sprintf("%s of %d", base, parts)
		}
		models[model] = true
	}
	if len(models) > 1 {
		return device.Errorf(device.CodeInvalidArgument, opOpen, "%s: holds %d models in GGUF files: name one of the files", folder, len(models))
	}
	return s.openParts(files[0])
}
