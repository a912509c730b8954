package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ferrum_mem/core/ir"
	"ferrum_mem/core/model"
	"ferrum_mem/core/onnx"
	"ferrum_mem/core/operator"
)

// writtenGraph is the output of graph --onnx.
type writtenGraph struct {
	Path          string `json:"path"`
	Output        string `json:"output"`
	Opset         int64  `json:"opset"`
	OperatorCount int    `json:"operator_count"`
	TensorCount   int    `json:"tensor_count"`
	// Files are the paths of the files, the model first.
	Files []string `json:"files"`
	// SizeBytes is the size of all files.
	SizeBytes uint64 `json:"size_bytes"`
}

// writeONNX writes the model of a path, or a definition without weights.
func writeONNX(cmd *cobra.Command, s streams, f graphFlags, path string) error {
	text, err := definitionText(path)
	if err != nil {
		return err
	}
	e := model.ONNXExport{Path: path, File: f.onnx, IsExternal: f.external, Replace: f.replace, Options: model.DefaultOptions()}
	if text != nil {
		e.Path = ""
		if e.Definition, err = ir.Parse(text); err != nil {
			return err
		}
	}
	done := busy(s.progress, "writing "+f.onnx)
	err = new(model.Builder).ExportONNX(cmd.Context(), e)
	done()
	if err != nil {
		return err
	}
	w, err := readWritten(f.onnx)
	if err != nil {
		return err
	}
	w.Path = path
	if f.asJSON {
		return printJSON(s, w)
	}
	_, err = fmt.Fprintf(s.out, "%s: opset %d, %s, %s, %s", w.Output, w.Opset, counted(w.OperatorCount, "operator"), counted(w.TensorCount, "tensor"), formatBytes(w.SizeBytes))
	if len(w.Files) > 1 {
		fmt.Fprintf(s.out, ", %s", counted(len(w.Files), "file"))
	}
	fmt.Fprintln(s.out)
	return err
}

// readWritten opens the file that was written, and describes it.
func readWritten(path string) (*writtenGraph, error) {
	file, err := onnx.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	w := &writtenGraph{Output: path, Opset: file.Opset(operator.ONNX), OperatorCount: len(file.Nodes), Files: []string{path}}
	for _, t := range file.Source.Tensors() {
		w.TensorCount++
		if t.External != nil && len(w.Files) == 1 {
			w.Files = append(w.Files, path+onnx.DataEnding)
		}
	}
	for _, name := range w.Files {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		w.SizeBytes += uint64(info.Size())
	}
	return w, nil
}
