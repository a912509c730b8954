package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/installed"
)

// The command has no engine, because it is built without cgo. Models are planned and run by the
// library, which is loaded for them only.

// computing is the loaded library with a backend that computes.
type computing struct {
	library *installed.Library
	*installed.Backend
}

func openComputing(settings installed.Settings) (*computing, error) {
	library, err := installed.Open()
	if err != nil {
		return nil, err
	}
	e := &computing{library: library}
	if e.Backend, err = library.OpenBackend(settings); err != nil {
		return nil, errors.Join(err, library.Close())
	}
	return e, nil
}

// close frees what the library still has.
func (e *computing) close() error { return errors.Join(e.Backend.Close(), e.library.Close()) }

// ofModel returns an error about a model with its path.
func ofModel(path string, err error) error {
	var typed *device.Error
	if !errors.As(err, &typed) {
		return err
	}
	return &device.Error{Code: typed.Code, Op: typed.Op, Message: path + ": " + message(err), Err: err}
}

// isModel states whether a path is a model: a folder, a GGUF file, a file of ONNX by its name, or JSON. A
// path that does not exist is none.
func isModel(path string) (bool, error) {
	if path == "-" {
		return false, nil
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return err == nil && info.IsDir(), nil
	}
	if strings.EqualFold(filepath.Ext(path), ".onnx") {
		return true, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	start := make([]byte, 4)
	n, err := io.ReadFull(file, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return bytes.HasPrefix(start[:n], []byte("{")) || string(start[:n]) == "GGUF", nil
}

// firstChanged returns the first of the flags that the user set, or "".
func firstChanged(cmd *cobra.Command, names ...string) string {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}
