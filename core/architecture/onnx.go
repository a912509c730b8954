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

// readONNX returns the definition of a model of ONNX, and how it makes one vector of a text if the file
// states it. An operator that is not supported is an issue.
func (s *issues) readONNX(path, key string) (*ir.Model, *Sentence, error) {
	f, err := onnx.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	m, err := f.Definition()
	if device.CodeOf(err) == device.CodeUnsupported {
		s.stop = err
		s.list = append(s.list, ir.Issue{
			Severity: ir.Critical, Category: categoryUnsupported, Description: onnx.Message(err), ConfigPath: "graph",
			SuggestedFix: "use an engine of ONNX Runtime, or a model of the operators that the library has",
		})
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var sentence Sentence
	if raw, isStated := m.Metadata.Additional[key]; isStated && json.Unmarshal(raw, &sentence) == nil {
		return m, &sentence, nil
	}
	return m, nil, nil
}
