// Package estimate says how much memory a model needs to be served, before
// anything of it is loaded.
//
// Two estimators stand side by side. EstimateModelMemory,
// EstimateKVCacheMemory and EstimateInferenceMemory are the short formulas of
// the contract, which take a model's numbers one by one. The other one reads
// what a model is published as: ReadConfig a config.json, OpenCheckpoint (with core/weights)
// the headers of its safetensors files, and Open also those of GGUF files, whose
// metadata become the fields of a configuration. A Plan then puts weights, cache,
// activations and the allocator's own share together for one of the devices
// that the model is spread over, and Fit finds what a device has room for.
//
// The package owns nothing and opens only the files that it is pointed at. It
// never reads a tensor, asks no device and starts no goroutine. Input is never
// trusted: files, depths, numbers of values and numbers themselves are bounded,
// every sum and product is checked, and what is wrong is a typed error that
// names the file and the field. All amounts are whole bytes.
//
// Lock order: the package has no locks. A Model, a Checkpoint and a Plan are
// read-only once made and may be shared.
//
// # Files in reading order
//
// arithmetic.go, json.go, dtype.go, mixers.go, model.go, family.go, config_context.go,
// config_layers.go, config_mixers.go, vision.go, families_linear.go, families_zamba.go,
// families_hybrid.go, families_plain.go, nearest.go, families.go, config.go,
// parameters.go, storage.go, seed.go, checkpoint.go, gguf_model.go, subject.go, serving.go,
// cache.go, activations.go, plan.go, fit.go, report.go.
package estimate
