package header

import (
	"strings"

	"ferrum_mem/core/dtype"
)

// storage is a piece of memory. The tensors of a pickle are views of storages.
type storage struct {
	key string
	of  dtype.DType
	// untyped storages count bytes. Their tensors state the type.
	untyped  bool
	typeName string
	elements uint64
	// base is the storage that contains this one, in legacy files. first is the element of base at
	// which this storage begins.
	base  *storage
	first uint64
}

// pickledTensor is a view of a storage.
type pickledTensor struct {
	from     *storage
	of       dtype.DType
	typeName string
	// first is the element of the storage at which the view begins.
	first          uint64
	shape, strides []uint64
}

// torchType returns the type with a name of PyTorch, such as "float32".
func torchType(name string) (dtype.DType, bool) {
	switch name {
	case "float32", "float":
		return dtype.F32, true
	case "float64", "double":
		return dtype.F64, true
	case "float16", "half":
		return dtype.F16, true
	case "bfloat16":
		return dtype.BF16, true
	case "float8_e4m3fn":
		return dtype.F8E4M3, true
	case "float8_e5m2":
		return dtype.F8E5M2, true
	case "float8_e8m0fnu":
		return dtype.F8E8M0, true
	case "float8_e4m3fnuz":
		return dtype.F8E4M3FNUZ, true
	case "float8_e5m2fnuz":
		return dtype.F8E5M2FNUZ, true
	case "int8", "char":
		return dtype.I8, true
	case "uint8", "byte":
		return dtype.U8, true
	case "int16", "short":
		return dtype.I16, true
	case "uint16":
		return dtype.U16, true
	case "int32", "int":
		return dtype.I32, true
	case "uint32":
		return dtype.U32, true
	case "int64", "long":
		return dtype.I64, true
	case "uint64":
		return dtype.U64, true
	case "bool":
		return dtype.Bool, true
	case "complex64", "complexfloat":
		return dtype.C64, true
	}
	return 0, false
}

// storageType returns the type of a storage class: torch.FloatStorage has "float".
func storageType(class global) (of dtype.DType, untyped, known bool) {
	name := strings.TrimPrefix(string(class), "torch.cuda.")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "torch.storage."), "torch.")
	short, isStorage := strings.CutSuffix(name, "Storage")
	if !isStorage || !strings.HasPrefix(string(class), "torch.") {
		return 0, false, false
	}
	if short == "Untyped" {
		return dtype.U8, true, true
	}
	of, known = torchType(strings.ToLower(short))
	return of, false, known
}

// call computes the result of a call in a pickle. It knows these names and rejects all others. It
// runs no code of the pickle.
func (m *machine) call(name global, arguments tuple) (any, error) {
	switch name {
	case "collections.OrderedDict", "builtins.dict", "__builtin__.dict":
		return orderedDict(arguments), nil
	case "builtins.list", "__builtin__.list", "builtins.set", "__builtin__.set", "torch.Size":
		return &list{}, nil
	case "builtins.bytearray", "_codecs.encode", "torch.device":
		return nil, nil // a value that is not a tensor
	case "torch._utils._rebuild_tensor":
		return m.rebuild(arguments, 4, -1)
	case "torch._utils._rebuild_tensor_v2":
		return m.rebuild(arguments, 5, -1)
	case "torch._utils._rebuild_tensor_v3":
		return m.rebuild(arguments, 7, 6)
	case "torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state":
		if len(arguments) > 0 {
			if t, ok := arguments[0].(*pickledTensor); ok {
				return t, nil
			}
		}
		return nil, m.in.wrong("the pickle makes a parameter of a value that is not a tensor")
	case "torch._tensor._rebuild_from_type_v2":
		if len(arguments) == 4 {
			function, isGlobal := arguments[0].(global)
			values, isTuple := arguments[2].(tuple)
			if isGlobal && isTuple && function != name {
				return m.call(function, values)
			}
		}
		return nil, m.in.wrong("the pickle makes a tensor of a type without its function")
	}
	return nil, m.in.unsupported("the pickle needs %s, which is not run: only tensors in dictionaries and lists are read", quote(string(name)))
}

// orderedDict converts a list of pairs to a dictionary, as older pickles have it.
func orderedDict(arguments tuple) *dict {
	d := &dict{}
	if len(arguments) == 0 {
		return d
	}
	if pairs, ok := arguments[0].(*list); ok {
		for _, pair := range pairs.values {
			switch p := pair.(type) {
			case *list:
				if len(p.values) == 2 {
					d.keys, d.values = append(d.keys, p.values[0]), append(d.values, p.values[1])
				}
			case tuple:
				if len(p) == 2 {
					d.keys, d.values = append(d.keys, p[0]), append(d.values, p[1])
				}
			}
		}
	}
	return d
}

// rebuild creates a view from a storage, a first element, dimensions and strides. The type is that
// of the storage, or the argument at typeAt.
func (m *machine) rebuild(arguments tuple, least, typeAt int) (any, error) {
	wrong := func(what string) error { return m.in.wrong("the pickle makes a tensor %s", what) }
	if len(arguments) < least {
		return nil, wrong("of too few values")
	}
	from, ok := arguments[0].(*storage)
	if !ok {
		return nil, wrong("without a storage")
	}
	first, okFirst := arguments[1].(int64)
	shape, okShape := sides(arguments[2])
	strides, okStrides := sides(arguments[3])
	if !okFirst || first < 0 || !okShape || !okStrides || len(shape) != len(strides) {
		return nil, wrong("whose offset, size or stride is not a list of whole numbers of at least 0")
	}
	if len(shape) > MaxDimensions {
		return nil, wrong("with more dimensions than are read")
	}
	t := &pickledTensor{from: from, of: from.of, typeName: from.typeName, first: uint64(first), shape: shape, strides: strides}
	if typeAt < 0 {
		if from.untyped {
			return nil, wrong("of a storage without a type")
		}
		return t, nil
	}
	name, _ := arguments[typeAt].(global)
	short, isTorch := strings.CutPrefix(string(name), "torch.")
	of, known := torchType(short)
	if !known || !isTorch {
		return nil, m.in.unsupported("the pickle has a tensor of type %s, which is not read", quote(string(name)))
	}
	t.of, t.typeName = of, string(name)
	return t, nil
}

// sides reads a tuple or list of dimensions.
func sides(value any) ([]uint64, bool) {
	var values []any
	switch v := value.(type) {
	case tuple:
		values = v
	case *list:
		values = v.values
	default:
		return nil, false
	}
	out := make([]uint64, len(values))
	for i, value := range values {
		n, ok := value.(int64)
		if !ok || n < 0 {
			return nil, false
		}
		out[i] = uint64(n)
	}
	return out, true
}
