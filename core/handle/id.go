package handle

// Kind is the kind of object that a handle names.
type Kind uint8

// The kinds of handles. Their numbers are part of the binary interface.
const (
	Device          Kind = 1
	Stream          Kind = 2
	Event           Kind = 3
	Pool            Kind = 4
	Manager         Kind = 5
	Memory          Kind = 6
	Registration    Kind = 7
	VirtualPool     Kind = 8
	ElasticPool     Kind = 9
	Monitor         Kind = 10
	Placement       Kind = 11
	FallbackManager Kind = 12
	Buffer          Kind = 13
	Tracker         Kind = 14
	GenericPool     Kind = 15
	Weights         Kind = 16
	TensorSet       Kind = 17
	Tensor          Kind = 18
	Compute         Kind = 19
	Op              Kind = 20
	Sequence        Kind = 21
	Executor        Kind = 22
	KVCache         Kind = 23
)

// String returns the word for the kind, such as "stream".
func (k Kind) String() string {
	switch k {
	case Device:
		return "device"
	case Stream:
		return "stream"
	case Event:
		return "event"
	case Pool:
		return "pool"
	case Manager:
		return "manager"
	case Memory:
		return "memory"
	case Registration:
		return "registration"
	case VirtualPool:
		return "virtual pool"
	case ElasticPool:
		return "elastic pool"
	case Monitor:
		return "monitor"
	case Placement:
		return "placement strategy"
	case FallbackManager:
		return "fallback manager"
	case Buffer:
		return "buffer"
	case Tracker:
		return "tracker"
	case GenericPool:
		return "generic pool"
	case Weights:
		return "weight source"
	case TensorSet:
		return "tensor set"
	case Tensor:
		return "tensor"
	case Compute:
		return "compute backend"
	case Op:
		return "operation"
	case Sequence:
		return "sequence"
	case Executor:
		return "executor"
	case KVCache:
		return "KV cache"
	}
	return "unknown"
}

const (
	kindShift       = 56
	generationShift = 32
	// generationMax is the last generation of a slot. The first is 1.
	generationMax = 1<<24 - 1
)

func makeID(kind Kind, generation, index uint32) uint64 {
	return uint64(kind)<<kindShift | uint64(generation)<<generationShift | uint64(index)
}

// KindOf returns the kind of a handle, whether the handle is live or not.
func KindOf(id uint64) Kind { return Kind(id >> kindShift) }

func generationOf(id uint64) uint32 { return uint32(id>>generationShift) & generationMax }

func indexOf(id uint64) uint32 { return uint32(id) }
