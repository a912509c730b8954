package estimate

import (
	"strings"
	"unicode/utf8"

	"ferrum_mem/core/device"
)

// ggufType is how a type of the format stores its elements: in blocks.
type ggufType struct {
	name string
	// A block of that many elements has that many bytes.
	elements, bytes uint64
}

// ggufTypeOf returns the type of a number in the format; elements is 0 if there is
// none. The sizes of block types follow from the layout of the block: the bits of the
// elements, and scales of 16, 8 or 6 bits for parts of them.
func ggufTypeOf(number uint32) ggufType {
	switch number {
	case 0:
		return ggufType{"F32", 1, 4}
	case 1:
		return ggufType{"F16", 1, 2}
	case 2:
		return ggufType{"Q4_0", 32, 18}
	case 3:
		return ggufType{"Q4_1", 32, 20}
	case 6:
		return ggufType{"Q5_0", 32, 22}
	case 7:
		return ggufType{"Q5_1", 32, 24}
	case 8:
		return ggufType{"Q8_0", 32, 34}
	case 24:
		return ggufType{"I8", 1, 1}
	case 25:
		return ggufType{"I16", 1, 2}
	case 26:
		return ggufType{"I32", 1, 4}
	case 27:
		return ggufType{"I64", 1, 8}
	case 28:
		return ggufType{"F64", 1, 8}
	case 30:
		return ggufType{"BF16", 1, 2}
	case 39:
		return ggufType{"MXFP4", 32, 17}
	case 40:
		return ggufType{"NVFP4", 64, 36}
	case 41:
		return ggufType{"Q1_0", 128, 18}
	}
	return ggufSuperBlock(number)
}

// ggufSuperBlock returns the types with blocks of 256 elements, and the related type
// with 32.
func ggufSuperBlock(number uint32) ggufType {
	const block = 256
	switch number {
	case 10:
		return ggufType{"Q2_K", block, 84}
	case 11:
		return ggufType{"Q3_K", block, 110}
	case 12:
		return ggufType{"Q4_K", block, 144}
	case 13:
		return ggufType{"Q5_K", block, 176}
	case 14:
		return ggufType{"Q6_K", block, 210}
	case 15:
		return ggufType{"Q8_K", block, 292}
	case 16:
		return ggufType{"IQ2_XXS", block, 66}
	case 17:
		return ggufType{"IQ2_XS", block, 74}
	case 18:
		return ggufType{"IQ3_XXS", block, 98}
	case 19:
		return ggufType{"IQ1_S", block, 50}
	case 20:
		return ggufType{"IQ4_NL", 32, 18}
	case 21:
		return ggufType{"IQ3_S", block, 110}
	case 22:
		return ggufType{"IQ2_S", block, 82}
	case 23:
		return ggufType{"IQ4_XS", block, 136}
	case 29:
		return ggufType{"IQ1_M", block, 56}
	case 34:
		return ggufType{"TQ1_0", block, 54}
	case 35:
		return ggufType{"TQ2_0", block, 66}
	}
	return ggufType{}
}

// tensor reads one entry of the list of tensors.
func (r *ggufReader) tensor(h *ggufHeader, seen map[string]bool) {
	name := r.text("the name of a tensor", maxGGUFName, false)
	sides := r.number(4)
	label := quoteKey(name)
	switch {
	case r.err != nil:
		return
	case name == "" || !utf8.ValidString(name):
		r.fail("the name of tensor %d is empty or not UTF-8", len(h.tensors))
	case seen[name]:
		r.fail("%s: the tensor is there twice", label)
	case sides > maxGGUFSides:
		r.fail("%s: has %d dimensions and not at most %d", label, sides, maxGGUFSides)
	}
	seen[name] = true
	var c calculation
	t := Tensor{Name: name, Dimensions: int(min(sides, maxGGUFSides)), Elements: 1}
	var first uint64 = 1
	for i := range t.Dimensions {
		side := r.number(8)
		switch i {
		case 0:
			first = side
		case 1:
			h.rows[name] = side
		}
		t.Elements = c.product(t.Elements, side)
	}
	number := uint32(r.number(4))
	t.Begin = r.number(8)
	if r.err != nil {
		return
	}
	kind := ggufTypeOf(number)
	if kind.elements == 0 {
		r.err = device.Errorf(device.CodeUnsupported, opGGUF, "%s: %s: type %d of the format is not known", r.name, label, number)
		return
	}
	if first%kind.elements != 0 {
		r.fail("%s: rows of %d elements are no whole blocks of %d, which %s has", label, first, kind.elements, kind.name)
		return
	}
	t.DType = kind.name
	t.End = c.sum(t.Begin, c.product(t.Elements/kind.elements, kind.bytes))
	if c.overflowed {
		r.err = device.Errorf(device.CodeOverflow, opGGUF, "%s: %s: its elements are more than can be counted", r.name, label)
		return
	}
	h.tensors = append(h.tensors, t)
}

// checkLayout checks that tensors begin at multiples of the alignment and do not
// overlap, and that the file contains the last one completely.
func (h *ggufHeader) checkLayout() error {
	var end uint64
	for _, t := range byPlace(h.tensors) {
		label := quoteKey(t.Name)
		switch {
		case t.Begin%h.alignment != 0:
			return malformed(opGGUF, h.name, "%s: begins at %d, no multiple of the alignment of %d", label, t.Begin, h.alignment)
		case t.Begin < end:
			return malformed(opGGUF, h.name, "%s: begins at %d, inside the tensor before it, which ends at %d", label, t.Begin, end)
		case t.End > h.dataBytes:
			return malformed(opGGUF, h.name, "%s: ends at %d of the %v of data", label, t.End, device.Size(h.dataBytes))
		}
		end = t.End
	}
	return nil
}

// addGGUF adds the tensors of a file to the sums. Elements in blocks also count as
// parameters.
func (k *Checkpoint) addGGUF(tensors []Tensor) error {
	k.Files++
	k.GGUF = true
	k.Tensors += len(tensors)
	var c calculation
	for _, t := range tensors {
		bytes := t.End - t.Begin
		if strings.HasPrefix(t.DType, "I") && !strings.HasPrefix(t.DType, "IQ") || strings.HasPrefix(t.Name, "rope_") {
			k.BufferElements, k.BufferBytes = c.sum(k.BufferElements, t.Elements), c.sum(k.BufferBytes, bytes)
			continue
		}
		k.FloatElements, k.FloatBytes = c.sum(k.FloatElements, t.Elements), c.sum(k.FloatBytes, bytes)
	}
	c.sum(k.FloatBytes, k.BufferBytes)
	return c.err(opGGUF, "the size of all tensors")
}
