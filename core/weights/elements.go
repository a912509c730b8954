package weights

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/weights/header"
)

const opElements = "weights.elements"

// Elements returns the elements of one short tensor in host memory, after the transformations of the spec.
// Memory and Into are ignored. Errors: those of Load; CodeInvalidSize for a tensor of more than most bytes.
func (s *Source) Elements(spec Spec, most uint64) ([]byte, error) {
	p, err := s.checked(&spec)
	if err != nil {
		return nil, err
	}
	size := (&job{plan: p}).size()
	if max(size, p.tensor.Size) > most {
		return nil, device.Errorf(device.CodeInvalidSize, opElements, "%s: %q: has %v: want at most %v", p.tensor.File(), p.tensor.Name, device.Size(size), device.Size(most))
	}
	t, err := p.open()
	if err != nil || size == 0 {
		return nil, err
	}
	out := make([]byte, size)
	if err := t.read(out, 0, p.view.elements()*p.unit); err != nil {
		return nil, err
	}
	return out, nil
}

// Input is the first file with a header, for readers of its other contents.
func (s *Source) Input() header.Input { return s.files[0].input() }
