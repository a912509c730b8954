package header

import (
	"fmt"
	"math/bits"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/strided"
)

// maxNesting bounds how deep the dictionaries and lists of a checkpoint may be nested.
const maxNesting = 16

// readTorchZip reads a file that torch.save of PyTorch 1.6 or later wrote: an archive with the
// pickle data.pkl, and each storage as a stored member data/KEY in the same folder.
func readTorchZip(a *archive) (*Header, error) {
	pickle, folder := -1, ""
	for i, m := range a.members {
		if prefix, found := strings.CutSuffix(m.name, "data.pkl"); found && strings.Count(prefix, "/") <= 1 {
			pickle, folder = i, prefix
			break
		}
	}
	if pickle < 0 {
		return nil, a.in.wrong("the archive has no data.pkl, so it is not a PyTorch file")
	}
	size := a.members[pickle].file.UncompressedSize64
	if size > MaxBytes {
		return nil, a.in.wrong("data.pkl of %v is longer than %v", device.Size(size), device.Size(MaxBytes))
	}
	data, err := a.content(a.members[pickle], size)
	if err != nil {
		return nil, err
	}
	bigEndian, err := a.torchOrder(folder)
	if err != nil {
		return nil, err
	}
	storages := map[string]*storage{}
	m := machine{in: a.in, data: data}
	m.storage = func(id any) (any, error) {
		s, err := m.typedStorage(id)
		if err != nil {
			return nil, err
		}
		if known, ok := storages[s.key]; ok {
			if known.of != s.of && !known.untyped || known.elements != s.elements {
				return nil, a.in.wrong("the pickle describes storage %s in two ways", quote(s.key))
			}
			return known, nil
		}
		storages[s.key] = s
		return s, nil
	}
	root, err := m.run()
	if err != nil {
		return nil, err
	}
	f := flattener{in: a.in, header: &Header{Format: PyTorch, Extra: map[string]string{}}, seen: map[string]bool{}}
	f.place = func(t *Tensor, s *storage, first, size uint64) error {
		at, ok := a.byName[folder+"data/"+s.key]
		if !ok {
			return a.in.wrong("%s: storage %s is not in the archive", quote(t.Name), quote(s.key))
		}
		member := a.members[at]
		if first > member.file.UncompressedSize64 || size > member.file.UncompressedSize64-first {
			return a.in.wrong("%s: bytes %d to %d of storage %s, which has %d", quote(t.Name), first, first+size, quote(s.key), member.file.UncompressedSize64)
		}
		t.IsBigEndian = bigEndian
		member.place(t, first)
		return nil
	}
	return f.header, f.value("", root, 0)
}

// torchOrder reads the member that states the byte order. Older files have none.
func (a *archive) torchOrder(folder string) (bigEndian bool, err error) {
	at, ok := a.byName[folder+"byteorder"]
	if !ok {
		return false, nil
	}
	m := a.members[at]
	text, err := a.content(m, min(m.file.UncompressedSize64, 16))
	if err != nil {
		return false, err
	}
	switch string(text) {
	case "little":
		return false, nil
	case "big":
		return true, nil
	}
	return false, a.in.wrong("byteorder is %s and neither little nor big", quote(string(text)))
}

// typedStorage reads ("storage", class, key, device, elements).
func (m *machine) typedStorage(id any) (*storage, error) {
	values, ok := id.(tuple)
	if !ok || len(values) < 5 || values[0] != any("storage") {
		return nil, m.in.wrong("the pickle refers to an external object that is not a storage")
	}
	class, okClass := values[1].(global)
	key, okKey := values[2].(string)
	elements, okElements := values[4].(int64)
	if !okClass || !okKey || !okElements || elements < 0 {
		return nil, m.in.wrong("the pickle describes a storage without its class, key or size")
	}
	of, untyped, known := storageType(class)
	if !known {
		return nil, m.in.unsupported("storages of class %s are not read", quote(string(class)))
	}
	return &storage{key: key, of: of, untyped: untyped, typeName: string(class), elements: uint64(elements)}, nil
}

// flattener names the tensors of a checkpoint. A name is the keys of the dictionaries around the
// tensor, joined by dots; in a list the index is the key.
type flattener struct {
	in     Input
	header *Header
	seen   map[string]bool
	values int
	// place returns where bytes of a storage are in the file.
	place func(t *Tensor, s *storage, first, size uint64) error
}

func (f *flattener) value(name string, value any, depth int) error {
	// A pickle can refer to one value many times. So the bound counts the visited values.
	if f.values++; f.values > 8*MaxTensors || depth > maxNesting {
		return f.in.wrong("%s: dictionaries and lists are nested deeper than %d levels, or have more than %d values", quote(name), maxNesting, 8*MaxTensors)
	}
	switch v := value.(type) {
	case *pickledTensor:
		return f.tensor(name, v)
	case *dict:
		for i, key := range v.keys {
			if err := f.value(joined(name, key), v.values[i], depth+1); err != nil {
				return err
			}
		}
	case *list:
		return f.list(name, v.values, depth)
	case tuple:
		return f.list(name, v, depth)
	case string, bool, int64, float64:
		if len(f.header.Extra) < MaxTensors && len(name) <= maxName {
			f.header.Extra[name] = fmt.Sprint(v)
		}
	}
	return nil
}

func (f *flattener) list(name string, values []any, depth int) error {
	for i, value := range values {
		if err := f.value(joined(name, int64(i)), value, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func joined(name string, key any) string {
	if name == "" {
		return fmt.Sprint(key)
	}
	return fmt.Sprintf("%s.%v", name, key)
}

func (f *flattener) tensor(name string, p *pickledTensor) error {
	label := quote(name)
	switch {
	case len(name) > maxName:
		return f.in.wrong("%s: the name is longer than %v", label, device.Size(maxName))
	case f.seen[name]:
		return f.in.wrong("%s: the tensor is listed twice", label)
	case len(f.header.Tensors) >= MaxTensors:
		return f.in.wrong("has more than %d tensors", MaxTensors)
	}
	f.seen[name] = true
	t := Tensor{Name: name, Type: p.of, TypeName: p.typeName, Shape: p.shape}
	var fits bool
	if t.Elements, fits = product(p.shape...); !fits {
		return f.in.overflow(name, p.shape)
	}
	if !isRowMajor(p.shape, p.strides) {
		t.Strides = p.strides
	}
	extent, fits := extent(p.shape, p.strides)
	_, width := p.of.Block()
	s, first := p.from, p.first
	if s.base != nil {
		s, first = s.base, first+s.first
	}
	high, begin := bits.Mul64(first, width)
	size, err := p.of.Size(extent)
	_, ownWidth := s.of.Block()
	whole, wholeFits := product(s.elements, ownWidth)
	if !fits || high != 0 || err != nil || !wholeFits || begin > whole || size > whole-begin {
		return f.in.wrong("%s: a shape of %s with strides of %s from element %d is beyond its storage of %d elements", label, strided.Text(p.shape), strided.Text(p.strides), p.first, p.from.elements)
	}
	t.Size = size
	if err := f.place(&t, s, begin, size); err != nil {
		return err
	}
	f.header.Tensors = append(f.header.Tensors, t)
	return nil
}

// extent returns the number of elements from the first to the last of a view, both included.
func extent(shape, strides []uint64) (uint64, bool) {
	last, fits := uint64(0), true
	for i, side := range shape {
		if side == 0 {
			return 0, true
		}
		high, step := bits.Mul64(side-1, strides[i])
		sum, carry := bits.Add64(last, step, 0)
		last, fits = sum, fits && high == 0 && carry == 0
	}
	return last + 1, fits && last+1 != 0
}

// isRowMajor states whether the elements lie in the order of the shape without gaps. The stride of
// a dimension of size 1 does not matter.
func isRowMajor(shape, strides []uint64) bool {
	step := uint64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] == 0 {
			return true
		}
		if shape[i] != 1 && strides[i] != step {
			return false
		}
		step *= shape[i]
	}
	return true
}

// isLegacyTorch states whether a file begins as torch.save wrote before PyTorch 1.6: with a pickle
// of a long number of 10 bytes.
func isLegacyTorch(start []byte) bool {
	return strings.HasPrefix(string(start), "\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.")
}

// readTorchLegacy reads such a file. It has pickles of a number, a version, facts about the
// machine, the tensors, and the keys of their storages. The storages follow, each after its number
// of elements.
func readTorchLegacy(in Input) (*Header, error) {
	data, err := in.Read(0, min(in.Size, MaxBytes))
	if err != nil {
		return nil, err
	}
	storages := map[string]*storage{}
	m := machine{in: in, data: data}
	m.storage = func(id any) (any, error) { return m.legacyStorage(id, storages) }
	bigEndian, err := m.legacyStart()
	if err != nil {
		return nil, err
	}
	root, err := m.run()
	if err != nil {
		return nil, err
	}
	keys, err := m.run()
	if err != nil {
		return nil, err
	}
	begins, err := m.legacyPlaces(keys, storages)
	if err != nil {
		return nil, err
	}
	f := flattener{in: in, header: &Header{Format: PyTorch, Extra: map[string]string{}}, seen: map[string]bool{}}
	f.place = func(t *Tensor, s *storage, first, _ uint64) error {
		begin, ok := begins[s.key]
		if !ok {
			return in.wrong("%s: storage %s is not in the file", quote(t.Name), quote(s.key))
		}
		t.Offset, t.IsBigEndian = begin+first, bigEndian
		return nil
	}
	return f.header, f.value("", root, 0)
}

// legacyStart reads the three pickles before the tensors.
func (m *machine) legacyStart() (bigEndian bool, err error) {
	if _, err := m.run(); err != nil { // the number that isLegacyTorch compares
		return false, err
	}
	version, err := m.run()
	if err != nil {
		return false, err
	}
	if version != any(int64(1001)) {
		return false, m.in.unsupported("version %v of the format before PyTorch 1.6, and only 1001 is read", version)
	}
	facts, err := m.run()
	if err != nil {
		return false, err
	}
	if d, ok := facts.(*dict); ok {
		for i, key := range d.keys {
			if key == any("little_endian") {
				return d.values[i] == any(false), nil
			}
		}
	}
	return false, nil
}

// legacyStorage reads ("storage", class, key, device, elements, view). view is None, or the key,
// first element and size of a part of the storage.
func (m *machine) legacyStorage(id any, storages map[string]*storage) (any, error) {
	s, err := m.typedStorage(id)
	if err != nil {
		return nil, err
	}
	known, ok := storages[s.key]
	switch {
	case !ok:
		storages[s.key] = s
		known = s
	case known.of != s.of || known.elements != s.elements:
		return nil, m.in.wrong("the pickle describes storage %s in two ways", quote(s.key))
	}
	values := id.(tuple)
	if len(values) < 6 || values[5] == nil {
		return known, nil
	}
	view, ok := values[5].(tuple)
	if !ok || len(view) != 3 {
		return nil, m.in.wrong("the pickle describes a part of storage %s without its place", quote(s.key))
	}
	place, ok := sides(tuple(view[1:]))
	if !ok || place[0] > known.elements || place[1] > known.elements-place[0] {
		return nil, m.in.wrong("the pickle has a part of storage %s beyond its %d elements", quote(s.key), known.elements)
	}
	return &storage{key: s.key, of: s.of, typeName: s.typeName, elements: place[1], base: known, first: place[0]}, nil
}

// legacyPlaces finds the offsets of the storages that follow the pickles.
func (m *machine) legacyPlaces(keys any, storages map[string]*storage) (map[string]uint64, error) {
	l, ok := keys.(*list)
	if !ok {
		return nil, m.in.wrong("the keys of the storages are not a list")
	}
	begins := map[string]uint64{}
	at := uint64(m.at)
	for _, value := range l.values {
		key, ok := value.(string)
		s, known := storages[key]
		if _, twice := begins[key]; !ok || !known || twice {
			return nil, m.in.wrong("storage %s is listed twice, or no tensor has it", quote(key))
		}
		if m.in.Size-at < 8 {
			return nil, m.in.wrong("storage %s is beyond the end of the file", quote(key))
		}
		raw, err := m.in.Read(at, 8)
		if err != nil {
			return nil, err
		}
		if stated := little64(raw); stated != s.elements {
			return nil, m.in.wrong("storage %s has %d elements in one place and %d in another", quote(key), stated, s.elements)
		}
		at += 8
		_, width := s.of.Block()
		size, fits := product(s.elements, width)
		if !fits || size > m.in.Size-at {
			return nil, m.in.wrong("storage %s of %v is beyond the end of the file", quote(key), device.Size(size))
		}
		begins[key] = at
		at += size
	}
	return begins, nil
}
