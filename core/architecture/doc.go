// Package architecture makes the definition of a model from its files: config.json with safetensors
// files, a GGUF file, or a file of ONNX, which package onnx reads.
//
// Package estimate reads the configuration and has the table of families. This package knows which
// operators the layers of a family compute, and the names of its tensors:
//
//	d, err := architecture.Open("model", architecture.Options{})
//	...
//	fmt.Println(d.Model.Architecture.Name, len(d.Model.Parameters), d.Issues)
//
// The families are encoders: bert, electra, roberta, xlm-roberta, camembert, distilbert, mpnet, and bert in GGUF
// files. Every other family is CodeUnsupported. The parameters of a definition are as many as those of
// estimate.Model.Parameters. Weights without the dense layer at the end of an encoder (the pooler) make
// a definition without it.
//
// A definition is straight: one node for each operator of the family's publication, nothing is fused.
// Inputs: input_ids, attention_mask, token_type_ids, position_ids, each of type I64 with the dimensions
// [batch, sequence]. position_ids count from 0 in every family; families with unused rows at the
// beginning of their table add the number of these rows. mpnet also has token_numbers [sequence]: 0, 1, 2 and
// so on, from which the distances between tokens follow. Outputs: last_hidden_state [batch, sequence,
// hidden size], and pooler_output [batch, hidden size].
//
// ReadSentence reads how a folder of sentence-transformers makes one vector of a text.
//
// The package reads headers and small files of text, never a tensor. It trusts no file: every number,
// list and text is bounded, and every error is typed and names the file and the field or tensor.
//
// Lock order: the package has no locks and keeps nothing. A Definition belongs to its caller.
//
// # Files in reading order
//
// issues.go, distances.go, family.go, graph.go, encoder.go, bind.go, sentence.go, onnx.go,
// definition.go.
package architecture
