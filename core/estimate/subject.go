package estimate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ferrum_mem/core/device"
)

// ConfigName is the usual name of a published configuration.
const ConfigName = "config.json"

// Subject is a model to serve: its configuration, the files of its weights, or both.
type Subject struct {
	// Name is the file or folder that it was read from.
	Name string
	// Model is nil if only weights are known, Checkpoint if only a configuration is
	// known.
	Model      *Model
	Checkpoint *Checkpoint
	// Notes states what the numbers do not include, and where the sources disagree.
	Notes []string
}

// Open reads the files at a path. For a folder it reads its config.json and its
// safetensors files, of which one may be missing, or the one model in its GGUF files.
// For a GGUF file it reads all files of its model. For a safetensors file or an index
// it reads these, and a config.json in the same folder if there is one. It reads any
// other file as a configuration alone. Errors: those of ReadConfigFile and
// OpenCheckpoint.
func Open(path string) (*Subject, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fileError(opConfig, path, err)
	}
	weights := strings.HasSuffix(path, ".safetensors") || strings.HasSuffix(path, ".index.json")
	x := &Subject{Name: path}
	switch {
	case info.IsDir():
		err = x.openFolder(path)
	case strings.HasSuffix(path, ggufEnding):
		err = x.openGGUF(path, filepath.Dir(path))
	case weights:
		if x.Checkpoint, err = OpenCheckpoint(path); err == nil {
			err = x.openConfig(filepath.Join(filepath.Dir(path), ConfigName))
		}
	default:
		x.Model, err = ReadConfigFile(path)
	}
	if err != nil {
		return nil, err
	}
	return x, x.compare()
}

// OpenConfig returns a subject from the text of a configuration alone.
func OpenConfig(name string, text []byte) (*Subject, error) {
	m, err := ReadConfig(name, text)
	if err != nil {
		return nil, err
	}
	x := &Subject{Name: name, Model: m}
	return x, x.compare()
}

func (x *Subject) openFolder(folder string) error {
	if err := x.openConfig(filepath.Join(folder, ConfigName)); err != nil {
		return err
	}
	var err error
	if x.Checkpoint, err = OpenCheckpoint(folder); device.CodeOf(err) != device.CodeNotFound {
		return err
	}
	if _, statErr := os.Stat(filepath.Join(folder, IndexName)); !os.IsNotExist(statErr) {
		return err
	}
	if ggufErr := x.openGGUF(folder, folder); ggufErr == nil || device.CodeOf(ggufErr) != device.CodeNotFound || hasGGUF(folder) {
		return ggufErr
	}
	if x.Model != nil {
		return nil
	}
	return err
}

// ggufEnding is the ending of the names of GGUF files.
const ggufEnding = ".gguf"

// hasGGUF reports whether a folder has a GGUF file, so that a file that is not there is one of
// several of a model.
func hasGGUF(folder string) bool {
	entries, _ := os.ReadDir(folder)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() && strings.HasSuffix(e.Name(), ggufEnding) })
}

// openGGUF reads GGUF files, whose metadata replace a configuration. It reads a
// configuration in their folder if their architecture is unknown.
func (x *Subject) openGGUF(path, folder string) error {
	k, h, err := openGGUF(path)
	if err != nil {
		return err
	}
	m, note, err := h.model()
	if err != nil {
		return err
	}
	x.Checkpoint = k
	if m != nil {
		x.Model = m
		return nil
	}
	if x.Model == nil {
		if err := x.openConfig(filepath.Join(folder, ConfigName)); err != nil {
			return err
		}
	}
	if x.Model == nil {
		x.Notes = append(x.Notes, note)
	}
	return nil
}

// openConfig reads a configuration if the file exists.
func (x *Subject) openConfig(path string) error {
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return nil
	}
	var err error
	x.Model, err = ReadConfigFile(path)
	return err
}

// compare adds notes about missing information, and about files that differ from the
// configuration.
func (x *Subject) compare() error {
	if x.Model == nil {
		if len(x.Notes) == 0 {
			x.Notes = append(x.Notes, "there is no "+ConfigName+": the numbers do not include KV cache and activations")
		}
		return nil
	}
	x.Notes = append(x.Notes, x.Model.Notes...)
	implied, err := x.Model.Parameters()
	if err != nil {
		return device.Errorf(device.CodeOverflow, opConfig, "%s: %w", x.Name, err)
	}
	if x.Checkpoint == nil || x.Checkpoint.Packed() {
		return nil
	}
	held := x.Checkpoint.FloatElements
	// Additional heads for training and similar tensors stay below a thousandth.
	if max(held, implied)-min(held, implied) > implied/1000 {
		says := "the configuration implies"
		if x.Checkpoint.GGUF {
			says = "their metadata imply"
		}
		x.Notes = append(x.Notes, fmt.Sprintf("the files hold %d parameters, %s %d", held, says, implied))
	}
	return nil
}
