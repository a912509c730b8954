// Package weightjson parses the JSON texts about weights that programs write: the order of a load,
// the description of a file by a decoder, and the metadata of a file to be written.
//
// Parsing is strict: an unknown key, a duplicate key, and a value of a wrong type are errors that
// name the key. Depth and length are bounded. Parsing opens no file: the source is compared later.
//
// The package owns nothing, has no locks and starts no goroutine.
//
// # Files in reading order
//
// strict.go, transformation.go, order.go, description.go.
package weightjson
