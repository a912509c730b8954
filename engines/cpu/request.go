package cpu

import (
	"slices"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// Rank is the largest number of dimensions of a batch.
const Rank = 8

// Q8Zero and Q4Zero are the block types that matrix products read: GGUF's Q8_0 and Q4_0.
const (
	Q4Zero = dtype.GGUFBase + 2
	Q8Zero = dtype.GGUFBase + 8
)

const opRun = "cpu.run"

// kernel is the index of a kernel in the table of an instruction set.
type kernel int

// The order is that of interface.h.
const (
	kernelMatMul kernel = iota
	kernelPack
	kernelMap
	kernelRows
	kernelAttention
	kernelFew
	kernelCopy
	kernelGather
	kernelReduce
	kernelRotary
	kernelWhere
	kernelTop
	setKernels
)

// The general kernels have the numbers after those of the sets, in the order of interface.h.
const (
	generalMatMul kernel = setKernels + iota
	generalMap
	generalRows
	generalAttention
	generalReduce
	generalTop
)

// Request is the input of one kernel.
type Request interface {
	// kernel chooses the kernel: one of the instruction set where it computes the types.
	kernel() kernel
	check() error
	// address returns the address of the struct, which has the layout of interface.h.
	address() unsafe.Pointer
	// layout returns the size of the struct in bytes, and its fields that are addresses.
	layout() (bytes uintptr, addresses []*uint64)
	clone() Request
}

// MatMul computes y = activation(Alpha * a b + Beta * add) + residual, for each matrix of a batch. a
// has M rows and K columns, b K rows and N columns. Strides count elements, and may be 0 or negative.
// Sums are in F32. The general form has F64, U8 to U64 or I16 to I64 as one of its types; it sums in
// F64, or in integers of 64 bits if y is one. Integers have no activation and no residual.
//
// y overlaps no input, with two exceptions: it may be add, or residual if there is no activation, with
// the same strides.
type MatMul struct {
	M, N, K int64

	// a: F32, F16, BF16 or I8.
	A             uint64
	AType         Type
	ARow, AColumn int64

	// b: F32, F16, BF16 or I8 with strides; general: also Q8_0 and Q4_0, as Pack reads them. If
	// IsPacked is 1, the output of Pack with the same N and K: strides are not read, and strides
	// of the batch count bytes.
	B             uint64
	BType         Type
	BRow, BColumn int64
	IsPacked      int64

	// y: F32, F16 or BF16. Its columns are adjacent.
	Y     uint64
	YType Type
	YRow  int64

	// add is absent if Add is 0. F32, F16, BF16 or I8.
	Add               uint64
	AddType           Type
	AddRow, AddColumn int64

	Alpha, Beta float64

	// Activation is Copy (none), Relu, Gelu, GeluTanh, or Swish with a factor of 1.
	Activation Operation

	// residual is absent if Residual is 0. F32, F16, BF16 or I8.
	Residual                    uint64
	ResidualType                Type
	ResidualRow, ResidualColumn int64

	// The batch has BatchRank dimensions.
	BatchRank                                              int64
	Batch, ABatch, BBatch, YBatch, AddBatch, ResidualBatch [Rank]int64
}

// Type is a dtype.DType in the layout of a request.
type Type int64

func (t Type) String() string { return dtype.DType(t).String() }

// isOf states whether t is one of some types.
func (t Type) isOf(types ...dtype.DType) bool {
	for _, one := range types {
		if dtype.DType(t) == one {
			return true
		}
	}
	return false
}

func (r *MatMul) kernel() kernel {
	isAdded := (r.Add == 0 || isInput(r.AddType)) && (r.Residual == 0 || isInput(r.ResidualType))
	if isInput(r.AType) && (isInput(r.BType) || r.IsPacked == 1) && isOutput(r.YType) && isAdded {
		return kernelMatMul
	}
	return generalMatMul
}

func (r *MatMul) address() unsafe.Pointer { return unsafe.Pointer(r) }

func (r *MatMul) layout() (uintptr, []*uint64) {
	return unsafe.Sizeof(*r), []*uint64{&r.A, &r.B, &r.Y, &r.Add, &r.Residual}
}

func (r *MatMul) clone() Request { c := *r; return &c }

func (r *MatMul) check() error {
	if r.M < 0 || r.N < 0 || r.K < 0 {
		return invalid("a matrix product of %d x %d x %d", r.M, r.N, r.K)
	}
	if err := checkBatch(r.BatchRank, &r.Batch); err != nil {
		return err
	}
	isBlock := r.BType.isOf(Q8Zero, Q4Zero)
	isActivation := slices.Contains([]Operation{Copy, Relu, Gelu, GeluTanh, Swish}, r.Activation)
	switch {
	case isBlock && r.K%32 != 0:
		return invalid("a matrix of %v has %d rows, which is not a multiple of 32", r.BType, r.K)
	case !isActivation:
		return invalid("the operation %d is not an activation of a matrix product", r.Activation)
	case r.kernel() == kernelMatMul:
		return nil
	case r.IsPacked != 0:
		return unsupported("a matrix product of %v with a packed matrix, with a result of %v", r.AType, r.YType)
	case !r.AType.isNumber():
		return unsupported("a matrix product with a left matrix of %v", r.AType)
	case !r.BType.isNumber() && !isBlock:
		return unsupported("a matrix product with a right matrix of %v", r.BType)
	case !r.YType.isNumber():
		return unsupported("a matrix product with a result of %v", r.YType)
	case r.Add != 0 && !r.AddType.isNumber():
		return unsupported("a matrix product with an addend of %v", r.AddType)
	case r.Residual != 0 && !r.ResidualType.isNumber():
		return unsupported("a matrix product with a residual of %v", r.ResidualType)
	case !isFloat(r.YType) && (r.Activation != Copy || r.Residual != 0):
		return unsupported("a matrix product of %v with an activation or a residual", r.YType)
	case isFloat(r.YType) != isFloat(r.AType) || isFloat(r.YType) != (isBlock || isFloat(r.BType)):
		return unsupported("a matrix product of %v and %v with a result of %v", r.AType, r.BType, r.YType)
	}
	return nil
}

// Pack writes a matrix of K rows and N columns in the layout that a product reads fastest.
// F32, F16, BF16 and I8 keep their type. Q8_0 and Q4_0 are read as a GGUF file stores them:
// each column is a row of K/32 blocks, and the columns follow each other; strides are not read.
//
// The layout is that of the engine's instruction set: no other set reads it.
type Pack struct {
	N, K int64

	B             uint64
	BType         Type
	BRow, BColumn int64

	// Packed has Engine.PackedBytes bytes, and is aligned to 64 bytes.
	Packed uint64
}

func (*Pack) kernel() kernel { return kernelPack }

func (r *Pack) address() unsafe.Pointer { return unsafe.Pointer(r) }

func (r *Pack) layout() (uintptr, []*uint64) {
	return unsafe.Sizeof(*r), []*uint64{&r.B, &r.Packed}
}

func (r *Pack) clone() Request { c := *r; return &c }

func (r *Pack) check() error {
	isBlock := r.BType.isOf(Q8Zero, Q4Zero)
	switch {
	case r.N < 0 || r.K < 0:
		return invalid("a matrix of %d rows and %d columns", r.K, r.N)
	case !isBlock && !r.BType.isOf(dtype.F32, dtype.F16, dtype.BF16, dtype.I8):
		return unsupported("packing a matrix of %v", r.BType)
	case isBlock && r.K%32 != 0:
		return invalid("a matrix of %v has %d rows, which is not a multiple of 32", r.BType, r.K)
	case r.Packed%64 != 0:
		return invalid("the packed matrix is at %#x, which is not a multiple of 64", r.Packed)
	}
	return nil
}

// isInput and isOutput state whether the kernels of the instruction sets read or write a type.
func isInput(t Type) bool  { return t.isOf(dtype.F32, dtype.F16, dtype.BF16, dtype.I8) }
func isOutput(t Type) bool { return t.isOf(dtype.F32, dtype.F16, dtype.BF16) }

// isFloat states whether the general kernels compute a type in F64.
func isFloat(t Type) bool { return dtype.DType(t).IsFloat() }

// isNumber states whether t is a plain type that the general kernels read and write, other than
// BOOL and the types of 4 and 8 bits that only Copy takes.
func (t Type) isNumber() bool {
	return t.isOf(dtype.F32, dtype.F16, dtype.BF16, dtype.F64, dtype.I8, dtype.U8, dtype.I16, dtype.I32, dtype.I64,
		dtype.U16, dtype.U32, dtype.U64)
}

func checkBatch(rank int64, batch *[Rank]int64) error {
	if rank < 0 || rank > Rank {
		return invalid("a batch of %d dimensions; there can be %d", rank, Rank)
	}
	for _, n := range batch[:rank] {
		if n < 0 {
			return invalid("a batch dimension of %d", n)
		}
	}
	return nil
}

func invalid(format string, args ...any) error {
	return device.Errorf(device.CodeInvalidArgument, opRun, format, args...)
}

func unsupported(format string, args ...any) error {
	return device.Errorf(device.CodeUnsupported, opRun, "the CPU engine does not compute "+format, args...)
}
