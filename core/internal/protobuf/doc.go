// Package protobuf reads and writes the encoding of protocol buffers, without generated code.
//
// A Reader reads a file in place through a window, so a message may be larger than memory: the caller skips
// the fields that it does not need. The Append functions write fields at the end of a list of bytes.
//
// The rules are those of the encoding's documentation: a field is a key (number and wire type) and a
// value. A value of wire type 0 is a varint. Types 1 and 5 are 8 and 4 bytes. Type 2 is a length and then
// that number of bytes. Groups (types 3 and 4) are rejected.
//
// Lock order: the package has no locks. One thread at a time uses a Reader.
//
// # Files in reading order
//
// reader.go, append.go.
package protobuf
