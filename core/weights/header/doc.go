// Package header reads the headers of files of tensors: the name, type, shape and offset of every
// tensor. It reads no tensor.
//
// It knows safetensors, GGUF, NumPy (npy and npz), PyTorch (zip and legacy) and the initialisers of
// ONNX models. Read finds the format by the content of the file. An Input is a file or memory; errors
// name it, the tensor and the field.
//
// Input is never trusted. Every length is compared with the rest of the file before bytes of that
// length are read. Memory grows with the bytes that were read. The numbers of tensors, names and
// dimensions are bounded. Every error is typed: CodeInvalidFormat for a file that breaks its
// format, CodeUnsupported for a part of a format that the package does not read, CodeOverflow for a
// size beyond 64 bits, CodeIO for a file that cannot be read. No pickle can run code: the machine
// that reads a pickle builds plain values and knows only the names that tensors need.
//
// The package owns nothing and starts no goroutine. A Header is read-only and may be shared.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// input.go, header.go, json.go, index.go, safetensors.go, literal.go, npy.go, archive.go, pickle.go,
// torch_globals.go, torch.go, onnx.go, onnx_constant.go, gguf.go, read.go.
package header
