package onnx

import (
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

// The numbers of the fields of the messages of ONNX (onnx.proto), and of their enumerations.
const (
	modelIRVersion       = 1
	modelProducer        = 2
	modelProducerVersion = 3
	modelDomain          = 4
	modelVersion         = 5
	modelDoc             = 6
	modelGraph           = 7
	modelOpset           = 8
	modelMetadata        = 14
	modelTraining        = 20
	modelFunction        = 25

	opsetDomain  = 1
	opsetVersion = 2

	entryKey   = 1
	entryValue = 2

	graphNode        = 1
	graphName        = 2
	graphInitializer = 5
	graphDoc         = 10
	graphInput       = 11
	graphOutput      = 12
	graphValueInfo   = 13
	graphQuantised   = 14
	graphSparse      = 15

	nodeInput     = 1
	nodeOutput    = 2
	nodeName      = 3
	nodeType      = 4
	nodeAttribute = 5
	nodeDomain    = 7

	attributeName     = 1
	attributeFloat    = 2
	attributeInt      = 3
	attributeText     = 4
	attributeTensor   = 5
	attributeGraph    = 6
	attributeFloats   = 7
	attributeInts     = 8
	attributeTexts    = 9
	attributeTensors  = 10
	attributeGraphs   = 11
	attributeType     = 20
	attributeRef      = 21
	attributeSparse   = 22
	attributeSparses  = 23
	attributeTypeOf   = 14
	attributeTypesOf  = 15
	valueName         = 1
	valueType         = 2
	typeTensor        = 1
	typeSequence      = 4
	typeMap           = 5
	typeOpaque        = 7
	typeSparse        = 8
	typeOptional      = 9
	tensorElement     = 1
	tensorShape       = 2
	shapeDim          = 1
	dimValue          = 1
	dimParam          = 2
	tensorDims        = 1
	tensorDataType    = 2
	tensorName        = 8
	tensorRawData     = 9
	tensorExternal    = 13
	tensorLocation    = 14
	isExternal        = 1
	quantisedTensor   = 1
	sparseValues      = 1
	functionName      = 1
	numberOfTextType  = 8
	numberOfComplex64 = 14
)

// Kind is the type of an attribute, with its number in ONNX.
type Kind uint8

// The kinds of attributes.
const (
	Float  Kind = 1
	Int    Kind = 2
	Text   Kind = 3
	Tensor Kind = 4
	Graphs Kind = 5
	Floats Kind = 6
	Ints   Kind = 7
	Texts  Kind = 8
)

// typeOf returns the data type with a number of ONNX.
func typeOf(number uint64) (dtype.DType, bool) {
	switch number {
	case numberOfComplex64:
		return dtype.C64, true
	case 18:
		return dtype.F8E4M3FNUZ, true
	case 20:
		return dtype.F8E5M2FNUZ, true
	}
	for _, t := range []dtype.DType{
		dtype.F32, dtype.U8, dtype.I8, dtype.U16, dtype.I16, dtype.I32, dtype.I64, dtype.Bool, dtype.F16, dtype.F64, dtype.U32, dtype.U64, dtype.BF16,
		dtype.F8E4M3, dtype.F8E5M2, dtype.U4, dtype.I4, dtype.F4E2M1, dtype.F8E8M0,
	} {
		if uint64(operator.ONNXNumber(t)) == number {
			return t, true
		}
	}
	return 0, false
}
