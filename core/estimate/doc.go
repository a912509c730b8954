// Package estimate computes how much memory serving a model needs, before the model is
// loaded.
//
// It has two estimators. EstimateModelMemory, EstimateKVCacheMemory and
// EstimateInferenceMemory are the short formulas of the contract. They take the numbers of
// a model as arguments. The second estimator reads the published files of a model:
// ReadConfig reads a config.json. OpenCheckpoint reads the headers of safetensors files
// with core/weights. Open reads these files and the headers of GGUF files, and converts
// the metadata of GGUF to the fields of a configuration. A Plan then adds up weights,
// cache, activations and the overhead of the allocator for one of the devices of the model.
// Fit finds the largest context or batch that fits on a device.
//
// A Model also has the rules by which an encoder computes (Encoding), for package architecture, which makes
// definitions from the same configurations.
//
// The package owns nothing and opens only the files that the caller names. It never reads
// a tensor, queries no device and starts no goroutine. Input is never trusted: the sizes of
// files, the depth of values, their number and their range are bounded, and every sum and
// product is checked. Every error is typed and names the file and the field. All sizes are
// whole bytes.
//
// Lock order: the package has no locks. A Model, a Checkpoint and a Plan are
// read-only once made and may be shared.
//
// # Files in reading order
//
// arithmetic.go, json.go, dtype.go, mixers.go, encoding.go, model.go, family.go, config_context.go,
// config_layers.go, config_mixers.go, vision.go, families_linear.go, families_zamba.go,
// families_hybrid.go, families_plain.go, nearest.go, families.go, config.go,
// parameters.go, storage.go, seed.go, checkpoint.go, gguf_model.go, subject.go, serving.go,
// cache.go, activations.go, plan.go, fit.go, report.go.
package estimate
