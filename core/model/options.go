package model

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/similar"
)

const opOptions = "model.options"

// Options are the options of a build. DefaultOptions has the defaults.
type Options struct {
	// EnableValidation validates the model after the build too: it runs once with inputs of one element in
	// each dynamic dimension. The definition is validated in every case.
	EnableValidation bool `json:"enable_validation"`
	// EnableOptimization runs passes, and packs matrices into the layout that the backend reads fastest.
	EnableOptimization bool `json:"enable_optimization"`
	// OptimizationLevel is 0 to 3. 0 does what EnableOptimization = false does. Higher levels run the passes
	// of passes.Standard, and pack.
	OptimizationLevel uint8 `json:"optimization_level"`
	// EnableQuantization rounds the matrices of linear layers to blocks while they are loaded.
	// QuantizationConfig names the blocks of GGUF, {"format": "q8_0"} or {"format": "q4_0"}; other schemes
	// are not supported. The level of optimisation is at least 2, which makes linear layers.
	EnableQuantization bool            `json:"enable_quantization"`
	QuantizationConfig json.RawMessage `json:"quantization_config"`
	// EnableCompression is not supported: a build that asks for it fails.
	EnableCompression bool `json:"enable_compression"`
	// Passes names the passes that run, in place of those of the level; nil: those of the level. They need
	// a level of at least 1.
	Passes []string `json:"passes"`
	// MeasurePasses measures the times of a run before and after each pass that changes the model. The build
	// then takes longer, and needs memory for two further models for that time.
	MeasurePasses bool `json:"measure_passes"`
	// BuildTimeoutSeconds is the longest time of a build, at least 1; nil: no limit.
	BuildTimeoutSeconds *uint64 `json:"build_timeout_seconds"`
	// AdditionalOptions has values of JSON: "seed", "threads", "working_set_bytes" and "shapes" as in
	// FillOptions and Settings, "preload": false to read files only when their tensors are placed, and "tiles":
	// false to compute all activations as a whole.
	AdditionalOptions map[string]json.RawMessage `json:"additional_options"`
}

const (
	// MaxOptimizationLevel is the largest Options.OptimizationLevel.
	MaxOptimizationLevel = 3
	// DefaultTimeoutSeconds is the default of Options.BuildTimeoutSeconds.
	DefaultTimeoutSeconds = 3600
	// defaultLevel is the default of Options.OptimizationLevel.
	defaultLevel = 2
)

// DefaultOptions returns the default options: validation and optimisation at level 2, and an hour of time.
func DefaultOptions() Options {
	limit := uint64(DefaultTimeoutSeconds)
	return Options{
		EnableValidation: true, EnableOptimization: true, OptimizationLevel: defaultLevel, BuildTimeoutSeconds: &limit,
		AdditionalOptions: map[string]json.RawMessage{},
	}
}

// ParseOptions reads options from a JSON object. An option that is missing has its default. Errors:
// CodeInvalidFormat for a text that is no JSON object; CodeInvalidConfig for an unknown name, which names
// the nearest, and for a value of another kind; those of Options.Validate.
func ParseOptions(text []byte) (Options, error) {
	o := DefaultOptions()
	if len(bytes.TrimSpace(text)) == 0 {
		return o, nil
	}
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &given); err != nil || given == nil {
		return o, device.Errorf(device.CodeInvalidFormat, opOptions, "options are no JSON object: %.64q", text)
	}
	err := readOptions(given, map[string]any{
		"enable_validation": &o.EnableValidation, "enable_optimization": &o.EnableOptimization,
		"optimization_level": &o.OptimizationLevel, "enable_quantization": &o.EnableQuantization,
		"quantization_config": &o.QuantizationConfig, "enable_compression": &o.EnableCompression,
		"passes": &o.Passes, "measure_passes": &o.MeasurePasses,
		"build_timeout_seconds": &o.BuildTimeoutSeconds, "additional_options": &o.AdditionalOptions,
	}, "")
	if err != nil {
		return o, err
	}
	return o, o.Validate()
}

// readOptions reads values into their places.
func readOptions(given map[string]json.RawMessage, places map[string]any, path string) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		place, isKnown := places[name]
		if !isKnown {
			return wrongOption("%s%.64q is not an option: the nearest is %s", path, name,
				strconv.Quote(similar.Names(name, slices.Sorted(maps.Keys(places)), 1)[0]))
		}
		if err := json.Unmarshal(given[name], place); err != nil {
			return wrongOption("%s%s: %.64q has another kind, or is out of range", path, name, given[name])
		}
	}
	return nil
}

func wrongOption(format string, values ...any) error {
	return device.Errorf(device.CodeInvalidConfig, opOptions, format, values...)
}

// Validate checks the options. Errors: CodeInvalidConfig, which names the option; CodeUnsupported for
// compression, and for other schemes of quantisation than those of GGUF.
func (o *Options) Validate() error {
	switch {
	case o.OptimizationLevel > MaxOptimizationLevel:
		return wrongOption("optimization_level is %d: want 0 to %d", o.OptimizationLevel, MaxOptimizationLevel)
	case o.BuildTimeoutSeconds != nil && *o.BuildTimeoutSeconds == 0:
		return wrongOption("build_timeout_seconds is 0: want at least 1, or null for no limit")
	case o.Passes != nil && o.level() == 0:
		return wrongOption("passes are named, which need an optimization_level of at least 1, and enable_optimization")
	case o.EnableCompression:
		return device.Errorf(device.CodeUnsupported, opOptions, "enable_compression: parameters are not compressed")
	}
	if _, err := o.quantizer(); err != nil {
		return err
	}
	_, err := o.additional()
	return err
}

// quantizer returns the name of the pass that quantises; "": none does.
func (o *Options) quantizer() (string, error) {
	hasConfig := len(o.QuantizationConfig) > 0 && string(o.QuantizationConfig) != "null"
	switch {
	case o.EnableQuantization && !hasConfig:
		return "", wrongOption("enable_quantization is true, and quantization_config is not given")
	case !o.EnableQuantization && hasConfig:
		return "", wrongOption("quantization_config is given, and enable_quantization is false")
	case !o.EnableQuantization:
		return "", nil
	}
	var config struct {
		Format string `json:"format"`
	}
	given := json.NewDecoder(bytes.NewReader(o.QuantizationConfig))
	given.DisallowUnknownFields()
	if err := given.Decode(&config); err != nil || config.Format != "q8_0" && config.Format != "q4_0" {
		return "", device.Errorf(device.CodeUnsupported, opOptions,
			"quantization_config: %.64q is no scheme of a build: want {\"format\": \"q8_0\"} or {\"format\": \"q4_0\"}", o.QuantizationConfig)
	}
	if o.level() < 2 {
		return "", wrongOption("enable_quantization needs an optimization_level of at least 2, which makes linear layers: it is %d", o.level())
	}
	return "quantize_" + config.Format, nil
}

// additional are the values of AdditionalOptions.
type additional struct {
	fill    FillOptions
	shapes  int
	preload bool
	tiles   bool
}

func (o *Options) additional() (additional, error) {
	a := additional{preload: true, tiles: true}
	for _, name := range []string{"pruning", "distillation", "compression"} {
		if _, isGiven := o.AdditionalOptions[name]; isGiven {
			return a, device.Errorf(device.CodeUnsupported, opOptions, "additional_options.%s: this library has no %s", name, name)
		}
	}
	err := readOptions(o.AdditionalOptions, map[string]any{
		"seed": &a.fill.Seed, "threads": &a.fill.Threads, "working_set_bytes": &a.fill.WorkingSetBytes, "shapes": &a.shapes, "preload": &a.preload,
		"tiles": &a.tiles,
	}, "additional_options.")
	switch {
	case err != nil:
		return a, err
	case a.fill.Threads < 0 || a.fill.Threads > maxFillThreads:
		return a, wrongOption("additional_options.threads is %d: want 0 to %d", a.fill.Threads, maxFillThreads)
	case a.shapes < 0 || a.shapes > MaxShapes:
		return a, wrongOption("additional_options.shapes is %d: want 0 to %d", a.shapes, MaxShapes)
	}
	return a, nil
}

// level returns the level of optimisation that is carried out.
func (o *Options) level() uint8 {
	if !o.EnableOptimization {
		return 0
	}
	return o.OptimizationLevel
}

// timeout returns the longest time of a build; 0: no limit.
func (o *Options) timeout() time.Duration {
	if o.BuildTimeoutSeconds == nil {
		return 0
	}
	return time.Duration(min(*o.BuildTimeoutSeconds, 1<<33)) * time.Second
}
