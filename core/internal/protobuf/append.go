package protobuf

import "encoding/binary"

// AppendNumber appends a field with a varint.
func AppendNumber(to []byte, number uint64, value uint64) []byte {
	to = binary.AppendUvarint(to, number<<3|uint64(Varint))
	return binary.AppendUvarint(to, value)
}

// AppendText appends a field with bytes: a text, or a message.
func AppendText[T ~string | ~[]byte](to []byte, number uint64, value T) []byte {
	return append(AppendStart(to, number, uint64(len(value))), value...)
}

// AppendStart appends the key and the length of a field with bytes, which the caller appends.
func AppendStart(to []byte, number, size uint64) []byte {
	to = binary.AppendUvarint(to, number<<3|uint64(Bytes))
	return binary.AppendUvarint(to, size)
}

// AppendFixed32 appends a field with 4 bytes, such as a number of floating point.
func AppendFixed32(to []byte, number uint64, value uint32) []byte {
	to = binary.AppendUvarint(to, number<<3|uint64(Fixed32))
	return binary.LittleEndian.AppendUint32(to, value)
}
