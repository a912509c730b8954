package architecture

import (
	"encoding/json"
	"path/filepath"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/onnx"
)

// onnxEnding is the ending of the name of a file with a model of ONNX, which has its graph.
const onnxEnding = ".onnx"

// isONNX states whether a path names a file of ONNX.
func isONNX(path string) bool { return filepath.Ext(path) == onnxEnding }

// openONNX makes the definition of a model of ONNX. An operator that is not supported is an issue.
func (d *draft) openONNX() error {
	if d.options.DType != nil {
		return device.Errorf(device.CodeInvalidArgument, opDefine, "dtype: %s states the type of each parameter", d.path)
	}
	f, err := onnx.Open(d.path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	m, err := f.Definition()
	if device.CodeOf(err) == device.CodeUnsupported {
		d.stop = err
		d.list = append(d.list, ir.Issue{
			Severity: ir.Critical, Category: categoryUnsupported, Description: onnx.Message(err), ConfigPath: "graph",
			SuggestedFix: "use an engine of ONNX Runtime, or a model of the operators that the library has",
		})
		return nil
	}
	if err != nil {
		return err
	}
	if d.options.Name != "" {
		m.Metadata.Name = d.options.Name
	}
	var s Sentence
	if raw, isStated := m.Metadata.Additional[MetadataSentence]; isStated && json.Unmarshal(raw, &s) == nil {
		d.sentence = &s
	}
	d.model = m
	return nil
}
