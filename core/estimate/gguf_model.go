package estimate

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

const opGGUF = "estimate.gguf"

// ggufHeader has the metadata and tensor sizes from the files of a GGUF model.
type ggufHeader struct {
	name   string
	values map[string]header.Value
	// rows has the second dimensions of the tensors by name. The embedding has one row
	// for each word of the vocabulary.
	rows map[string]uint64
}

// openGGUF reads the headers of a GGUF file, or of all files of its model if it is one of
// several; of a folder, those of its one model.
func openGGUF(path string) (*Checkpoint, *ggufHeader, error) {
	s, err := weights.Open(path, weights.Options{Formats: []weights.Format{header.GGUF}})
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = s.Close() }()
	k, err := sumOf(s)
	if err != nil {
		return nil, nil, err
	}
	return k, ggufHeaderOf(s), nil
}

func ggufHeaderOf(s *weights.Source) *ggufHeader {
	h := &ggufHeader{name: s.Name, values: s.Values(), rows: map[string]uint64{}}
	for i := range s.Tensors() {
		t := &s.Tensors()[i]
		h.rows[t.Name] = 0
		if sides := len(t.Shape); sides > 1 {
			h.rows[t.Name] = t.Shape[sides-2]
		}
	}
	return h
}

func (h *ggufHeader) wrong(key, format string, args ...any) *device.Error {
	return aboutField(key, malformed(opGGUF, h.name, key+": "+format, args...))
}

// model converts the metadata to the configuration of a family, which the table of
// families then reads. For an unknown architecture it returns no model and the reason
// in a note. Missing or wrong metadata is an error.
func (h *ggufHeader) model() (*Model, string, error) {
	arch, ok := h.values["general.architecture"]
	if !ok || !arch.IsText() {
		return nil, "", h.wrong("general.architecture", "is missing or not a text: it determines the meaning of the other keys")
	}
	name := ggufFamily(arch.Text)
	if name == "" {
		return nil, "the architecture " + quote(arch.Text) + " is unknown: the numbers do not include KV cache and activations", nil
	}
	t := translation{ggufHeader: h, arch: arch.Text + ".", family: name, fields: map[string]any{}, keys: map[string]string{}}
	t.common()
	t.special()
	if t.err != nil {
		return nil, "", t.err
	}
	m, err := readModel(&object{op: opGGUF, file: h.name, fields: t.fields, keys: t.keys})
	if err != nil {
		return nil, "", err
	}
	// The converters leave out the dense layer at the end of an encoder.
	m.PoolerDense = false
	m.Notes = append(m.Notes, t.notes...)
	return m, "", nil
}

// ggufFamily returns the family of an architecture, or "".
func ggufFamily(arch string) string {
	switch arch {
	case "llama", "qwen2", "qwen3", "gemma", "gemma2", "phi3", "phimoe", "gpt2", "gptj", "bloom", "starcoder2", "stablelm", "cohere2", "olmo2",
		"olmoe", "nemotron", "nemotron_h", "exaone4", "granite", "granitemoe", "smollm3", "lfm2", "mamba", "mamba2", "jamba", "seed_oss",
		"ernie4_5", "glm4", "bert":
		return arch
	case "qwen2moe":
		return "qwen2_moe"
	case "qwen3moe":
		return "qwen3_moe"
	case "qwen3next":
		return "qwen3_next"
	case "gemma3":
		return "gemma3_text"
	case "phi2":
		return "phi"
	case "deepseek2":
		return "deepseek_v2"
	case "gptneox":
		return "gpt_neox"
	case "command-r":
		return "cohere"
	case "granitehybrid":
		return "granitemoehybrid"
	case "falcon-h1":
		return "falcon_h1"
	case "gpt-oss":
		return "gpt_oss"
	}
	return ""
}

// translation makes the fields of a configuration from metadata. After the first error
// it does nothing more.
type translation struct {
	*ggufHeader
	// arch is the prefix of the keys of the architecture.
	arch   string
	family string
	fields map[string]any
	// keys has the metadata key of each field, for errors.
	keys  map[string]string
	notes []string
	err   error
}

// entries returns the numbers of a key: one, or one for each layer; nil: the key is
// missing.
func (t *translation) entries(key string) []uint64 {
	v, ok := t.values[t.arch+key]
	switch {
	case !ok || t.err != nil:
		return nil
	case v.IsWhole():
		return []uint64{v.Number}
	case v.IsList() && v.Numbers != nil && !v.IsNegative:
		return v.Numbers
	}
	t.err = t.ggufHeader.wrong(t.arch+key, "is neither a whole number of at least 0 nor a list of them")
	return nil
}

// most returns the largest number of a key, 0 if it is missing. Layers without such a
// part have 0. If the other numbers differ, the largest is used for all.
func (t *translation) most(key string) uint64 {
	list := slices.Clone(t.entries(key))
	slices.Sort(list)
	list = slices.DeleteFunc(slices.Compact(list), func(n uint64) bool { return n == 0 })
	if len(list) > 1 {
		t.notes = append(t.notes, t.arch+key+" differs between layers: all are counted with the largest")
	}
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1]
}

// put sets a field under the family's name of it.
func (t *translation) put(field, key string, value any) {
	field = reader{family: families()[t.family]}.name(field)
	t.fields[field], t.keys[field] = value, t.arch+key
}

func (t *translation) number(field, key string, n uint64) {
	t.put(field, key, json.Number(strconv.FormatUint(n, 10)))
}

// take sets a field to the number of a key, if the key is present.
func (t *translation) take(field, key string) {
	if t.entries(key) != nil {
		t.number(field, key, t.most(key))
	}
}

// common translates the fields of most architectures.
func (t *translation) common() {
	if _, ok := t.values[t.arch+"expert_count"]; ok && t.family == "llama" && t.most("expert_count") > 0 {
		t.family = "mixtral"
	}
	// The third version weights its experts with another function.
	if t.family == "deepseek_v2" && t.most("expert_gating_func") == 2 {
		t.family = "deepseek_v3"
	}
	t.fields["model_type"] = t.family
	// Weights outside blocks have 16 bits, and so have cache and activations.
	t.fields["torch_dtype"] = "float16"
	for _, p := range [][2]string{
		{"hidden_size", "embedding_length"}, {"num_hidden_layers", "block_count"}, {"intermediate_size", "feed_forward_length"},
		{"num_attention_heads", "attention.head_count"}, {"num_key_value_heads", "attention.head_count_kv"},
		{"max_position_embeddings", "context_length"}, {"head_dim", "attention.key_length"}, {"num_experts_per_tok", "expert_used_count"},
		{"moe_intermediate_size", "expert_feed_forward_length"}, {"shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
		{"sliding_window", "attention.sliding_window"},
	} {
		t.take(p[0], p[1])
	}
	for _, required := range []string{"embedding_length", "block_count"} {
		if t.err == nil && t.most(required) == 0 {
			t.err = t.ggufHeader.wrong(t.arch+required, "is missing or 0")
		}
	}
	if t.err != nil {
		return
	}
	for _, field := range []string{"num_local_experts", "num_experts", "n_routed_experts"} {
		t.take(field, "expert_count")
	}
	t.vocabulary()
	// Without other information each head has its share of the width.
	if heads := t.most("attention.head_count"); heads > 0 && t.entries("attention.key_length") == nil && t.most("embedding_length")%heads == 0 {
		t.number("head_dim", "attention.head_count", t.most("embedding_length")/heads)
	}
	// null: there is no window, regardless of the family's default.
	if t.most("attention.sliding_window") == 0 {
		t.put("sliding_window", "attention.sliding_window", nil)
	}
	_, output := t.rows["output.weight"]
	t.fields["tie_word_embeddings"] = !output
	t.scaling()
}

// vocabulary sets the rows of the embedding, or otherwise the value of the metadata.
func (t *translation) vocabulary() {
	rows := t.rows["token_embd.weight"]
	if rows == 0 {
		if rows = t.most("vocab_size"); rows == 0 {
			rows = t.values["tokenizer.ggml.tokens"].Count
		}
	}
	t.number("vocab_size", "vocab_size", rows)
}

func (t *translation) scaling() {
	kind := t.values[t.arch+"rope.scaling.type"]
	if !kind.IsText() || kind.Text == "none" || kind.Text == "" {
		return
	}
	scaling := &object{op: opGGUF, file: t.name, path: "rope.scaling.", fields: map[string]any{"type": kind.Text}}
	if factor, ok := t.values[t.arch+"rope.scaling.factor"]; ok {
		scaling.fields["factor"] = json.Number(strconv.FormatFloat(factor.Real, 'f', -1, 64))
	}
	if from := t.most("rope.scaling.original_context_length"); from > 0 {
		scaling.fields["original_max_position_embeddings"] = json.Number(strconv.FormatUint(from, 10))
	}
	t.fields["rope_scaling"] = scaling
}

// layerNames returns the kinds of layers. Layers with heads of keys and values have
// attention.
func (t *translation) layerNames(other string) []any {
	list := t.entries("attention.head_count_kv")
	if uint64(len(list)) != t.most("block_count") {
		return nil
	}
	names := make([]any, len(list))
	for i, n := range list {
		names[i] = other
		if n > 0 {
			names[i] = "attention"
		}
	}
	return names
}

// special translates the fields of one family.
func (t *translation) special() {
	if t.err != nil {
		return
	}
	inner, heads := t.most("ssm.inner_size"), t.most("ssm.time_step_rank")
	switch t.family {
	case "bert":
		t.encoder()
	case "deepseek_v2", "deepseek_v3":
		t.latent()
	case "mamba":
		t.takeAll([][2]string{{"conv_kernel", "ssm.conv_kernel"}, {"intermediate_size", "ssm.inner_size"}, {"state_size", "ssm.state_size"}, {"time_step_rank", "ssm.time_step_rank"}})
	case "jamba":
		t.takeAll([][2]string{{"mamba_d_conv", "ssm.conv_kernel"}, {"mamba_d_state", "ssm.state_size"}, {"mamba_dt_rank", "ssm.time_step_rank"}})
		t.expansion("mamba_expand", inner)
		t.put("layers_block_type", "attention.head_count_kv", t.layerNames("mamba"))
	case "mamba2":
		t.stateSpace(bareNames, inner, heads)
	case "granitemoehybrid":
		t.stateSpace(mambaNames, inner, heads)
		t.put("layer_types", "attention.head_count_kv", t.layerNames("mamba"))
		t.take("shared_intermediate_size", "expert_shared_feed_forward_length")
		if t.most("expert_count") == 0 {
			t.number("num_local_experts", "expert_count", 0)
			t.take("shared_intermediate_size", "feed_forward_length")
		}
	case "falcon_h1":
		t.stateSpace(mambaNames, inner, heads)
		t.number("mamba_d_ssm", "ssm.inner_size", inner)
		_, norm := t.rows["blk.0.ssm_norm.weight"]
		t.fields["mamba_rms_norm"] = norm
	case "nemotron_h":
		t.stateSpace(nemotronNames, inner, heads)
		t.pattern()
	case "lfm2":
		t.take("conv_L_cache", "shortconv.l_cache")
		t.fields["block_auto_adjust_ff_dim"] = false
		t.put("layer_types", "attention.head_count_kv", t.layerNames("conv"))
	case "qwen3_next":
		t.takeAll([][2]string{
			{"linear_conv_kernel_dim", "ssm.conv_kernel"}, {"linear_key_head_dim", "ssm.state_size"}, {"linear_num_key_heads", "ssm.group_count"},
			{"linear_num_value_heads", "ssm.time_step_rank"}, {"full_attention_interval", "full_attention_interval"},
		})
		if heads > 0 {
			t.number("linear_value_head_dim", "ssm.inner_size", inner/heads)
		}
	}
}

// encoder translates the rules of an encoder. Its tables of positions and token types are among the
// tensors.
func (t *translation) encoder() {
	t.number("type_vocab_size", "token_types", t.rows["token_types.weight"])
	key := "attention.layer_norm_epsilon"
	if epsilon, ok := t.values[t.arch+key]; ok {
		if !epsilon.IsReal() {
			t.err = t.ggufHeader.wrong(t.arch+key, "is not a number with a fraction")
			return
		}
		t.put("layer_norm_eps", key, json.Number(strconv.FormatFloat(epsilon.Real, 'g', -1, 64)))
	}
	if causal, ok := t.values[t.arch+"attention.causal"]; ok {
		t.put("is_decoder", "attention.causal", causal.IsFlag() && causal.Number != 0)
	}
}

func (t *translation) takeAll(pairs [][2]string) {
	for _, p := range pairs {
		t.take(p[0], p[1])
	}
}

// stateSpace translates a mixer with heads. It has as many heads as steps.
func (t *translation) stateSpace(names stateNames, inner, heads uint64) {
	t.takeAll([][2]string{{names.heads, "ssm.time_step_rank"}, {names.groups, "ssm.group_count"}, {names.state, "ssm.state_size"}, {names.kernel, "ssm.conv_kernel"}})
	if heads > 0 && inner > 0 {
		t.number(names.dim, "ssm.inner_size", inner/heads)
	}
	if names.expand != "" {
		t.expansion(names.expand, inner)
	}
}

func (t *translation) expansion(field string, inner uint64) {
	if inner > 0 {
		t.number(field, "ssm.inner_size", inner/t.most("embedding_length"))
	}
}

// pattern returns the letters of nemotron_h: each layer has attention, an MLP, or a
// mixer.
func (t *translation) pattern() {
	keys, widths := t.entries("attention.head_count_kv"), t.entries("feed_forward_length")
	if len(keys) != len(widths) {
		return
	}
	var letters strings.Builder
	for i := range keys {
		switch {
		case keys[i] > 0:
			letters.WriteByte('*')
		case widths[i] > 0:
			letters.WriteByte('-')
		default:
			letters.WriteByte('M')
		}
	}
	t.put("hybrid_override_pattern", "attention.head_count_kv", letters.String())
}

// latent translates multi-head latent attention. Files describe its heads in two ways:
// directly, or with the latent vector as the key.
func (t *translation) latent() {
	key, value := "attention.key_length", "attention.value_length"
	if t.most(key+"_mla") > 0 {
		key, value = key+"_mla", value+"_mla"
	}
	rope, whole := t.most("rope.dimension_count"), t.most(key)
	if whole <= rope {
		t.err = t.ggufHeader.wrong(t.arch+key, "is %d, no more than the %d with positions", whole, rope)
		return
	}
	t.number("qk_nope_head_dim", key, whole-rope)
	t.takeAll([][2]string{
		{"qk_rope_head_dim", "rope.dimension_count"}, {"v_head_dim", value}, {"kv_lora_rank", "attention.kv_lora_rank"},
		{"n_shared_experts", "expert_shared_count"}, {"first_k_dense_replace", "leading_dense_block_count"},
	})
	t.put("q_lora_rank", "attention.q_lora_rank", nil)
	t.take("q_lora_rank", "attention.q_lora_rank")
}
