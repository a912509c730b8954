package backend_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// properties are capabilities that meet requirements exactly, and requirements.
func properties() (backend.Capabilities, backend.Requirements) {
	id := device.ID{Backend: "cpu"}
	has := backend.Capabilities{
		DTypes: backend.DTypes{dtype.F32, dtype.BF16}, Devices: backend.Devices{id}, MaxTensorDims: 8, BF16: true,
		FlashAttention: true, PagedAttention: true, MaxBatchSize: 8, MaxSequenceLength: 4096, AlignmentBytes: 64,
		Extra: map[string]json.RawMessage{"kv_bits": json.RawMessage("8"), "vendor": json.RawMessage(`"us"`)},
	}
	needs := backend.Requirements{
		Devices: backend.Devices{id}, DTypes: backend.DTypes{dtype.F32, dtype.BF16}, MinBatchSize: 8, MinSequenceLength: 4096,
		FlashAttention: true, PagedAttention: true,
		Extra: map[string]json.RawMessage{"kv_bits": json.RawMessage("8.0"), "vendor": json.RawMessage(`"us"`)},
	}
	return has, needs
}

// Each requirement counts, and equality passes.
func TestEachRequirementCounts(t *testing.T) {
	has, needs := properties()
	require.Empty(t, has.Unmet(needs))
	require.True(t, has.MeetsRequirements(needs))
	require.True(t, has.MeetsRequirements(backend.Requirements{}))
	for field, spoil := range map[string]func(*backend.Capabilities, *backend.Requirements){
		"required_devices": func(_ *backend.Capabilities, r *backend.Requirements) {
			r.Devices = backend.Devices{{Backend: "cpu", Index: 1}}
		},
		"required_dtypes":          func(_ *backend.Capabilities, r *backend.Requirements) { r.DTypes = append(r.DTypes, dtype.F16) },
		"min_batch_size":           func(_ *backend.Capabilities, r *backend.Requirements) { r.MinBatchSize++ },
		"min_sequence_length":      func(_ *backend.Capabilities, r *backend.Requirements) { r.MinSequenceLength++ },
		"requires_flash_attention": func(c *backend.Capabilities, _ *backend.Requirements) { c.FlashAttention = false },
		"requires_paged_attention": func(c *backend.Capabilities, _ *backend.Requirements) { c.PagedAttention = false },
		`has no property "other"`:  func(_ *backend.Capabilities, r *backend.Requirements) { r.Extra["other"] = json.RawMessage("null") },
		`property "kv_bits" is`:    func(_ *backend.Capabilities, r *backend.Requirements) { r.Extra["kv_bits"] = json.RawMessage("8.5") },
		`property "vendor" is`:     func(_ *backend.Capabilities, r *backend.Requirements) { r.Extra["vendor"] = json.RawMessage(`"them"`) },
		`"vendor" is "\"us\"", "1`: func(_ *backend.Capabilities, r *backend.Requirements) { r.Extra["vendor"] = json.RawMessage(`1`) },
	} {
		has, needs := properties()
		spoil(&has, &needs)
		lacks := has.Unmet(needs)
		require.Len(t, lacks, 1, field)
		require.Contains(t, lacks[0], field)
		require.False(t, has.MeetsRequirements(needs))
	}
	needs.Extra["kv_bits"] = json.RawMessage("4")
	require.True(t, has.MeetsRequirements(needs), "a larger number")
}

func TestRecordsInJSON(t *testing.T) {
	has, needs := properties()
	text, err := json.Marshal(has)
	require.NoError(t, err)
	require.Equal(t, `{"supported_dtypes":["f32","bf16"],"supported_devices":["cpu:0"],"max_tensor_dims":8,"supports_fp16":false,`+
		`"supports_bf16":true,"supports_int8":false,"supports_flash_attention":true,"supports_paged_attention":true,`+
		`"supports_tensor_parallelism":false,"supports_pipeline_parallelism":false,"max_batch_size":8,"max_sequence_length":4096,`+
		`"memory_alignment":64,"supports_custom_kernels":false,"supports_cuda_graphs":false,"extra_capabilities":{"kv_bits":8,"vendor":"us"}}`, string(text))
	again, err := backend.ParseCapabilities(text)
	require.NoError(t, err)
	require.Equal(t, has, again)
	text, err = json.Marshal(needs)
	require.NoError(t, err)
	required, err := backend.ParseRequirements(text)
	require.NoError(t, err)
	require.True(t, has.MeetsRequirements(required))
	blocks, err := backend.ParseRequirements([]byte(`{"required_dtypes": ["q8_0"]}`))
	require.NoError(t, err)
	require.Equal(t, backend.DTypes{dtype.GGUFBase + 8}, blocks.DTypes)

	_, err = backend.ParseRequirements([]byte(`{"min_batchsize": 1}`))
	requireError(t, device.CodeInvalidFormat, err, "min_batchsize")
	_, err = backend.ParseRequirements([]byte(`{"required_dtypes": ["f33"]}`))
	requireError(t, device.CodeInvalidFormat, err, "f33")
	_, err = backend.ParseCapabilities([]byte(`{"supports_fp16": true}`))
	requireError(t, device.CodeInvalidConfig, err, "supports_fp16")
	_, err = backend.ParseCapabilities([]byte(`{"max_batch_size": 0}`))
	requireError(t, device.CodeInvalidConfig, err, "max_batch_size")
	_, err = backend.ParseCapabilities([]byte(`{} {}`))
	requireError(t, device.CodeInvalidFormat, err)
	least, err := backend.ParseCapabilities([]byte(`{"supported_dtypes": ["f16"]}`))
	require.NoError(t, err)
	require.True(t, least.FP16)
}

// ownBackend is a backend of the program for tests.
type ownBackend struct {
	has     backend.Capabilities
	fail    func(call string) error
	version string
	closed  int
	// refused states that no device is supported.
	refused  bool
	makePlan func(compute.Request) (compute.Plan, error)
}

func (b *ownBackend) failure(call string) error {
	if b.fail == nil {
		return nil
	}
	return b.fail(call)
}

func (b *ownBackend) Capabilities() (backend.Capabilities, error) {
	return b.has, b.failure("capabilities")
}
func (b *ownBackend) Version() string { return b.version }
func (b *ownBackend) SupportsDevice(device.ID) (bool, error) {
	return !b.refused, b.failure("supports_device")
}
func (b *ownBackend) Plan(_ device.ID, r compute.Request) (compute.Plan, error) {
	if err := b.failure("plan"); err != nil {
		return nil, err
	}
	return b.makePlan(r)
}
func (b *ownBackend) Synchronize(device.ID) error { return b.failure("synchronize") }
func (b *ownBackend) Close() error {
	err := b.failure("close")
	if err == nil {
		b.closed++
	}
	return err
}

func TestRegisteredBackendsHaveNames(t *testing.T) {
	r := backend.NewRegistry(backend.Settings{})
	has, _ := properties()
	mine := &ownBackend{has: has, version: "1.2"}
	require.NoError(t, r.Register("mine", mine))
	requireError(t, device.CodeAlreadyExists, r.Register("mine", mine), "mine")
	requireError(t, device.CodeAlreadyExists, r.Register("tensorrt", mine), "tensorrt")
	requireError(t, device.CodeInvalidArgument, r.Register("", mine))
	requireError(t, device.CodeInvalidArgument, r.Register("my backend", mine), "my backend")
	requireError(t, device.CodeNullPointer, r.Register("nil", nil))
	entry, err := r.Get("mine")
	require.NoError(t, err)
	require.Equal(t, backend.Entry{Name: "mine", Type: backend.Custom, Available: true, Version: "1.2", Capabilities: &has}, entry)
	_, err = r.Get("mime")
	requireError(t, device.CodeNotFound, err, `the nearest is "mine"`)
	var names []string
	for _, e := range r.List() {
		names = append(names, e.Name)
		require.Equal(t, e.Name == "mine", e.Available)
		if !e.Available {
			require.NotEmpty(t, e.Reason)
			require.NotContains(t, e.Reason, "FERRUM_ERROR", "the reason is a message without its code")
		}
	}
	require.Equal(t, []string{"candle", "cpu", "metal", "mine", "onnx_runtime", "tensorrt"}, names)
	require.Equal(t, []backend.Type{backend.Custom}, r.SupportedTypes())
	require.Equal(t, []backend.Usable{{Name: "mine", IsRegistered: true}}, r.Usable())

	mine.fail = func(call string) error { return device.Errorf(device.CodeDevice, "test", "%s fails", call) }
	requireError(t, device.CodeDevice, r.Unregister("mine"), "mine", "close fails")
	_, err = r.Get("mine")
	require.NoError(t, err, "as before")
	mine.fail = func(string) error { panic("broken") }
	requireError(t, device.CodeInternal, r.Unregister("mine"), "mine", "broken")
	requireError(t, device.CodeInternal, r.Register("other", mine), "other", "broken")
	mine.fail = nil
	require.NoError(t, r.Unregister("mine"))
	require.Equal(t, 1, mine.closed)
	requireError(t, device.CodeNotFound, r.Unregister("mine"))
	mine.has.MaxTensorDims = 9
	requireError(t, device.CodeInvalidConfig, r.Register("mine", mine), "max_tensor_dims")
}

func TestFindTheBest(t *testing.T) {
	r := backend.NewRegistry(backend.Settings{})
	_, needs := properties()
	add := func(name string, change func(*backend.Capabilities)) {
		has, _ := properties()
		change(&has)
		require.NoError(t, r.Register(name, &ownBackend{has: has}))
	}
	require.Empty(t, r.Find(needs).Best)
	add("least", func(c *backend.Capabilities) { c.MaxBatchSize-- })
	found := r.Find(needs)
	require.Empty(t, found.Best)
	for _, c := range found.Candidates {
		require.NotEmpty(t, c.Reasons)
		require.False(t, c.Meets)
	}
	// Each is better than all before it.
	order := []string{"z_plain", "b_plain", "ranks", "batches", "tokens", "extras", "devices"}
	changes := map[string]func(*backend.Capabilities){
		"z_plain": func(c *backend.Capabilities) { c.MaxTensorDims = 6 },
		"b_plain": func(c *backend.Capabilities) { c.MaxTensorDims = 6 },
		"ranks":   func(c *backend.Capabilities) { c.MaxTensorDims = 7 },
		"batches": func(c *backend.Capabilities) { c.MaxTensorDims, c.MaxBatchSize = 1, 9 },
		"tokens":  func(c *backend.Capabilities) { c.MaxTensorDims, c.MaxSequenceLength = 1, 10_000 },
		"extras":  func(c *backend.Capabilities) { c.Extra["more"] = json.RawMessage("1") },
		"devices": func(c *backend.Capabilities) { c.Devices = append(c.Devices, device.ID{Backend: "cuda"}) },
	}
	for _, name := range order {
		add(name, changes[name])
		require.Equal(t, name, r.Find(needs).Best)
	}
	found = r.Find(needs)
	var names []string
	for _, c := range found.Candidates {
		names = append(names, c.Name)
		require.Equal(t, c.Meets, len(c.Reasons) == 0)
		if c.Name == "least" {
			require.Equal(t, []string{"min_batch_size: 8 is above its limit of 7"}, c.Reasons)
		}
	}
	require.Equal(t, []string{"devices", "extras", "tokens", "batches", "ranks", "b_plain", "z_plain",
		"candle", "cpu", "least", "metal", "onnx_runtime", "tensorrt"}, names)
}
