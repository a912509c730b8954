// Package weightjson reads the JSON texts of weights that programs write: the order of a load, the
// description of a file by a decoder, and the metadata of a file that is written.
//
// A text is strict: a key that is not known, a key that is there twice, and a value of another kind
// are errors that name them. Depth and length are bounded, and nothing is read for a text: whether
// tensors exist is checked against a source.
//
// The package owns nothing, has no locks and starts no goroutine.
//
// # Files in reading order
//
// strict.go, transformation.go, order.go, description.go.
package weightjson
