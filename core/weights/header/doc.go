// Package header reads what files of tensors say of their content: the name, type, shape and
// place of every tensor. It reads no tensor.
//
// It knows safetensors, GGUF, NumPy (npy and npz), PyTorch (zip and legacy) and the initialisers of
// ONNX models. Read finds the format by the content of the file. An Input is a file or memory; errors
// name it, the tensor and the field.
//
// Input is never trusted. Every length is compared with what is left of the file before
// anything of it is read, memory grows with what was read, and numbers of tensors, names and
// dimensions are bounded. What is wrong is a typed error: CodeInvalidFormat for a file that
// breaks its format, CodeUnsupported for a part of a format that is not read, CodeOverflow for
// a size beyond 64 bits, CodeIO for a file that cannot be read. A pickle runs nothing: the
// machine that reads it builds plain values and knows only the names that tensors need.
//
// The package owns nothing and starts no goroutine. A Header is read-only and may be shared.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// input.go, header.go, json.go, index.go, safetensors.go, literal.go, npy.go, archive.go, pickle.go,
// torch_globals.go, torch.go, wire.go, onnx.go, gguf.go, read.go.
package header
