// Package weights opens sources of named tensors: files, folders, checkpoints of several files,
// and memory. It says what is in a source without reading the tensors.
//
// A Source keeps its files open, so that what was described is what is read later, also when
// a file of the same name replaces one. Files of other formats that belong to a checkpoint
// (config.json, a tokenizer) are passed over. A path that an index or a model names stays in the
// folder of the file that names it.
//
// Ownership: Open gives a Source to its caller, who closes it. Memory that a source is opened on
// belongs to the caller and stays unchanged until Close.
//
// Lock order: the package has no locks. A Source is read-only once it is open, and may be used
// from any number of threads until Close.
//
// # Files in reading order
//
// files.go, source.go, parts.go, view.go, transformation.go, tile.go, load.go.
package weights
