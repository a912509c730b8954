package estimate

import (
	"strings"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

const opCheckpoint = "estimate.checkpoint"

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
// those of weights.Open.
func OpenCheckpoint(path string) (*Checkpoint, error) {
	s, err := weights.Open(path, weights.Options{Formats: []weights.Format{header.Safetensors}})
	if err != nil {
		return nil, err
	}
	k, err := sumOf(s)
	_ = s.Close()
	return k, err
}

// sumOf adds up the tensors of a source.
func sumOf(s *weights.Source) (*Checkpoint, error) {
	k := &Checkpoint{Files: s.Files(), Tensors: len(s.Tensors()), GGUF: s.Format == header.GGUF}
	var c calculation
	for i := range s.Tensors() {
		t := &s.Tensors()[i]
		switch {
		case IsBuffer(t, k.GGUF):
			k.BufferElements = c.sum(k.BufferElements, t.Elements)
			k.BufferBytes = c.sum(k.BufferBytes, t.Size)
		case k.GGUF || strings.Contains(t.TypeName, "F") || t.Type == dtype.C64:
			k.FloatElements = c.sum(k.FloatElements, t.Elements)
			k.FloatBytes = c.sum(k.FloatBytes, t.Size)
		default:
			k.PackedBytes = c.sum(k.PackedBytes, t.Size)
		}
	}
	k.WeightBytes = c.sum(k.FloatBytes, k.PackedBytes)
	c.sum(k.WeightBytes, k.BufferBytes)
	return k, c.err(opCheckpoint, "the size of all tensors")
}

// bufferNames has the endings of names of tensors that are derived and not learned.
var bufferNames = []string{
	"position_ids", "token_type_ids", "rotary_emb.inv_freq", "attn.masked_bias", "attention.masked_bias", "num_batches_tracked",
}

// IsBuffer reports whether a tensor is not a weight. Flags and 64-bit integers are
// positions, shapes and counters. A four-dimensional "bias" of an attention is its
// mask. In GGUF weights are never plain integers: their blocks have types of their own.
func IsBuffer(t *weights.Tensor, isGGUF bool) bool {
	if isGGUF {
		return isInteger(t.Type) || strings.HasPrefix(t.Name, "rope_")
	}
	switch t.Type {
	case dtype.Bool, dtype.I64, dtype.U64:
		return true
	}
	for _, name := range bufferNames {
		if strings.HasSuffix(t.Name, name) {
			return true
		}
	}
	mask := strings.HasSuffix(t.Name, "attn.bias") || strings.HasSuffix(t.Name, "attention.bias")
	return mask && len(t.Shape) == 4
}

func isInteger(t dtype.DType) bool {
	switch t {
	case dtype.I8, dtype.I16, dtype.I32, dtype.I64:
		return true
	}
	return false
}
