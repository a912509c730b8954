package backend_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
)

func TestTypesHaveTheNamesOfTheContract(t *testing.T) {
	names := []string{"candle", "onnx_runtime", "tensorrt", "metal", "cpu", "custom"}
	require.Len(t, backend.Types(), len(names))
	for i, of := range backend.Types() {
		require.EqualValues(t, i, of)
		require.Equal(t, names[i], of.String())
		text, err := json.Marshal(of)
		require.NoError(t, err)
		require.Equal(t, `"`+names[i]+`"`, string(text))
		var again backend.Type
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, of, again)
		if of == backend.CPU || of == backend.ONNXRuntime || of == backend.Custom {
			require.NoError(t, of.Availability())
		} else {
			requireError(t, device.CodeUnsupported, of.Availability(), "not available: ", names[i])
		}
	}
	_, err := backend.ParseType("onnx-runtime")
	requireError(t, device.CodeInvalidArgument, err, `"onnx_runtime"`)
	requireError(t, device.CodeInvalidArgument, backend.Type(6).Availability(), "6")
	_, err = json.Marshal(backend.Type(-1))
	require.Error(t, err)
}

func TestDefaultSettingsAreValid(t *testing.T) {
	c := backend.DefaultConfig()
	require.NoError(t, c.Validate())
	text, err := json.Marshal(c)
	require.NoError(t, err)
	require.JSONEq(t, `{"backend_type": "cpu", "device": "cpu:0", "optimization_level": 2, "threads": 0, "enable_debug": false,
		"memory_config": {"pool_size": 0, "alignment": 256, "enable_pooling": true, "growth_strategy": "dynamic"},
		"backend_options": {"instruction_set": "", "plans": 64, "prepacking": false, "tf32": false}}`, string(text))
	var again backend.Config
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, c, again)
}

func TestValidateNamesTheWrongField(t *testing.T) {
	for field, spoil := range map[string]func(*backend.Config){
		"optimization_level":                func(c *backend.Config) { c.OptimizationLevel = 4 },
		"optimization_level: -1":            func(c *backend.Config) { c.OptimizationLevel = -1 },
		"threads":                           func(c *backend.Config) { c.Threads = backend.MaxThreads + 1 },
		"name":                              func(c *backend.Config) { c.Type = backend.Custom },
		"backend_options.tf32":              func(c *backend.Config) { c.Options.TF32 = true },
		"backend_options.prepacking":        func(c *backend.Config) { c.Options.Prepacking = true },
		"name: \"mine\"":                    func(c *backend.Config) { c.Name = "mine" },
		"memory_config.alignment":           func(c *backend.Config) { c.Memory.AlignmentBytes = 48 },
		"memory_config.alignment: 2":        func(c *backend.Config) { c.Memory.AlignmentBytes = 2 << 30 },
		"memory_config.pool_size":           func(c *backend.Config) { c.Memory.PoolSizeBytes = 1 },
		"memory_config.growth_strategy":     func(c *backend.Config) { c.Memory.Growth = 3 },
		"memory_config.enable_pooling":      func(c *backend.Config) { c.Memory.Growth, c.Memory.EnablePooling = backend.Static, false },
		"backend_options.plans":             func(c *backend.Config) { c.Options.Plans = 0 },
		"backend_options.plans: 4097":       func(c *backend.Config) { c.Options.Plans = backend.MaxPlans + 1 },
		"backend_options.instruction_set: ": func(c *backend.Config) { c.Options.InstructionSet = string(make([]byte, 64)) },
	} {
		c := backend.DefaultConfig()
		spoil(&c)
		requireError(t, device.CodeInvalidConfig, c.Validate(), field)
	}
	for _, level := range []int{0, 1, 2, 3} {
		c := backend.DefaultConfig()
		c.OptimizationLevel = level
		require.NoError(t, c.Validate())
	}
	c := backend.DefaultConfig()
	c.Type = backend.TensorRT
	requireError(t, device.CodeUnsupported, c.Validate(), "tensorrt", "not available: ")
	c = backend.DefaultConfig()
	c.Device = "gpu zero"
	requireError(t, device.CodeInvalidArgument, c.Validate(), "gpu zero")
}

func TestUnknownOptionsAreRefused(t *testing.T) {
	o, err := backend.ParseOptions([]byte(`{"instruction_set": "avx2", "plans": 3}`))
	require.NoError(t, err)
	require.Equal(t, backend.Options{InstructionSet: "avx2", Plans: 3}, o)
	o, err = backend.ParseOptions(nil)
	require.NoError(t, err)
	require.Equal(t, backend.DefaultOptions(), o)
	_, err = backend.ParseOptions([]byte(`{"instruction-set": "avx2"}`))
	requireError(t, device.CodeInvalidConfig, err, `"instruction-set"`, `the nearest is "instruction_set"`)
	_, err = backend.ParseOptions([]byte(`{"plans": "many"}`))
	requireError(t, device.CodeInvalidConfig, err, "backend_options.plans", "many")
	for _, text := range []string{`[]`, `null`, `{`, `{} {}`} {
		_, err = backend.ParseOptions([]byte(text))
		requireError(t, device.CodeInvalidFormat, err, "backend_options")
	}
}
