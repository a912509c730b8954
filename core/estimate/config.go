package estimate

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"

	"ferrum_mem/core/device"
)

const opConfig = "estimate.config"

// maxLayers bounds the number of layers and of experts, because lists are compared with
// them.
const maxLayers = 1 << 16

// ReadConfig parses the text of a config.json as published with a model; name is the
// name for errors. It returns CodeInvalidFormat, with the name of the field, for a
// field that is missing, duplicate, of the wrong type or out of bounds, and for an
// unknown model_type. It returns CodeOverflow for widths whose product is too large for
// any model.
func ReadConfig(name string, text []byte) (*Model, error) {
	top, err := parseConfig(opConfig, name, text)
	if err != nil {
		return nil, err
	}
	return readModel(top)
}

// readModel parses the fields of a configuration.
func readModel(top *object) (*Model, error) {
	o := top
	if inner, err := top.objectOr("text_config"); err != nil {
		return nil, err
	} else if inner != nil {
		o = inner
		inheritText(o, top)
	}
	typ, f, err := familyOf(o)
	if err != nil {
		return nil, err
	}
	r := reader{object: o, family: f}
	m := &Model{Type: typ, Encoder: f.encoder}
	for _, read := range []func(*Model) error{r.sizes, r.embeddings, r.encoding, r.attention, r.mlp, r.layers, r.windows, r.storage} {
		if err := read(m); err != nil {
			return nil, err
		}
	}
	if err := m.validate(o); err != nil {
		return nil, err
	}
	if err := m.vision(top); err != nil {
		return nil, err
	}
	if o.has("num_nextn_predict_layers") {
		m.Notes = append(m.Notes, "the numbers of the configuration do not include the layers that predict further tokens")
	}
	return m, nil
}

// inheritText copies fields of the outer configuration to the configuration of the text
// model, if they are missing there.
func inheritText(inner, outer *object) {
	for _, field := range []string{"model_type", "torch_dtype", "dtype", "quantization_config", "tie_word_embeddings"} {
		if value, ok := outer.fields[field]; ok && !inner.has(field) {
			inner.fields[field] = value
		}
	}
}

// ReadConfigFile calls ReadConfig for a file. It reads at most MaxConfigBytes.
func ReadConfigFile(path string) (*Model, error) {
	text, err := ReadFile(opConfig, path, MaxConfigBytes)
	if err != nil {
		return nil, err
	}
	return ReadConfig(path, text)
}

func (r reader) sizes(m *Model) error {
	err := r.into([]place{{"hidden_size", &m.Hidden}, {"num_hidden_layers", &m.Layers}, {"vocab_size", &m.Vocab}})
	if err != nil {
		return err
	}
	if !r.family.noAttention {
		m.AttentionLayers = m.Layers
		if m.Attention.Heads, err = r.get("num_attention_heads"); err != nil {
			return err
		}
	}
	if m.Layers > maxLayers {
		return r.wrong(r.name("num_hidden_layers"), "is %d, not within 1 to %d", m.Layers, maxLayers)
	}
	m.NormsPerLayer, m.NormsLeftOut, m.NormBias = r.family.normsPerLayer, r.family.normsLeftOut, r.family.normBias
	m.FinalNorm, m.EmbeddingNorm = r.family.finalNorm, r.family.embeddingNorm
	m.PoolerDense = r.family.pooler
	return nil
}

func (r reader) embeddings(m *Model) (err error) {
	m.EmbeddingWidth = m.Hidden
	if _, ok := r.family.defaults["embedding_size"]; ok {
		if m.EmbeddingWidth, err = r.get("embedding_size"); err != nil {
			return err
		}
	}
	m.Positions, err = r.numberOr(r.name("max_position_embeddings"), 1, r.family.defaults["max_position_embeddings"])
	if err != nil {
		return err
	}
	if r.family.positionsLearned && m.Positions == 0 {
		return r.wrong(r.name("max_position_embeddings"), "is missing, and a %s model has no default for it", r.modelType())
	}
	m.PositionsMore = r.family.positionsMore
	if err := r.stretch(m); err != nil {
		return err
	}
	m.PositionsLearned = r.family.positionsLearned
	// Some encoders have no token types, whatever their files state.
	if otherwise := r.family.defaults["type_vocab_size"]; otherwise > 0 || !r.family.encoder {
		if m.TokenTypes, err = r.numberOr("type_vocab_size", 0, otherwise); err != nil {
			return err
		}
	}
	if m.TiedEmbeddings, err = r.flagOr("tie_word_embeddings", r.family.tied); err != nil {
		return err
	}
	m.OutputBias, err = r.flagOr("lm_head_bias", r.family.lmHeadBias)
	return err
}

func (r reader) attention(m *Model) (err error) {
	a, f := &m.Attention, r.family
	if f.noAttention {
		return nil
	}
	a.QKVBias, a.OutputBias, a.HeadNorms = f.qkvBias, f.outputBias, f.headNorms
	a.QueryGate, a.WideNorms, a.Sinks, a.Inputs = f.queryGate, f.wideNorms, f.sinks, m.Hidden
	if err := r.attentionBias(a); err != nil {
		return err
	}
	if m.Type == "cohere" {
		if a.WideNorms, err = r.flagOr("use_qk_norm", false); err != nil {
			return err
		}
	}
	if f.latent {
		a.KVHeads = a.Heads
		return r.latent(a)
	}
	if a.KVHeads, err = r.numberOr("num_key_value_heads", 1, r.family.defaults["num_key_value_heads"]); err != nil {
		return err
	}
	if a.KVHeads == 0 {
		a.KVHeads = a.Heads
	}
	headDim := "head_dim"
	if m.Type == "nemotron_h" && !r.has(headDim) {
		headDim = "attention_head_dim"
	}
	if a.HeadDim, err = r.numberOr(headDim, 1, f.defaults["head_dim"]); err != nil {
		return err
	}
	// The heads of zamba2 share twice the hidden size; its layers function handles
	// that.
	if a.HeadDim == 0 && m.Type != "zamba2" {
		if m.Hidden%a.Heads != 0 {
			return r.wrong(r.name("num_attention_heads"), "%d does not divide the hidden size of %d, and there is no head_dim", a.Heads, m.Hidden)
		}
		a.HeadDim = m.Hidden / a.Heads
	}
	return nil
}

// attentionBias reads which projections have a bias, if the family reads it from the
// file.
func (r reader) attentionBias(a *Attention) (err error) {
	f := r.family
	field := f.biasField
	switch {
	case f.allBias != "":
		a.QKVBias, err = r.flagOr(f.allBias, a.QKVBias)
		a.OutputBias = a.QKVBias
		return err
	case f.biasFixed && field == "":
		return nil
	case field == "":
		field = "attention_bias"
	}
	if a.QKVBias, err = r.flagOr(field, a.QKVBias); err != nil {
		return err
	}
	if !f.qkvOnly {
		a.OutputBias = a.QKVBias
	}
	if r.has("attention_out_bias") {
		a.OutputBias, err = r.flagOr("attention_out_bias", false)
	}
	return err
}

// layers reads which layers have attention. Families of plain transformers have it in
// all layers.
func (r reader) layers(m *Model) error {
	for _, field := range slices.Sorted(maps.Keys(r.family.only)) {
		value, known := false, r.family.only[field]
		var err error
		if value, err = r.flagOr(field, known); err != nil {
			return err
		}
		if value != known {
			return r.wrong(field, "is %t, and only %t is known for this family", value, known)
		}
	}
	if r.family.layers != nil {
		if err := r.family.layers(r, m); err != nil {
			return err
		}
	}
	if m.Attention.Copies == 0 {
		m.Attention.Copies = m.AttentionLayers
	}
	return nil
}

func (r reader) latent(a *Attention) error {
	l := &Latent{}
	if err := r.into([]place{
		{"kv_lora_rank", &l.KVRank}, {"qk_rope_head_dim", &l.RopeDim}, {"qk_nope_head_dim", &l.NopeDim}, {"v_head_dim", &l.ValueDim},
	}); err != nil {
		return err
	}
	// Here null means that queries are not compressed.
	if value, ok := r.fields["q_lora_rank"]; !ok {
		l.QueryRank = r.family.defaults["q_lora_rank"]
	} else if value != nil {
		var err error
		if l.QueryRank, err = r.number("q_lora_rank", 1); err != nil {
			return err
		}
	}
	a.Latent = l
	return nil
}

// ReadFile reads a whole regular file of at most limit bytes. op is the operation for errors. Errors:
// CodeNotFound, CodePermissionDenied, CodeIO; CodeInvalidArgument for a path that is no regular file;
// CodeInvalidFormat for a larger file.
func ReadFile(op, path string, limit int64) ([]byte, error) {
	file, size, err := openRegular(op, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if size > limit {
		return nil, malformed(op, path, "%v are more than the %v that are read of such a file", device.Size(size), device.Size(limit))
	}
	text := make([]byte, size)
	n, err := file.ReadAt(text, 0)
	if int64(n) < size {
		return nil, fileError(op, path, err)
	}
	return text, nil
}

// openRegular opens a regular file and returns its size. It checks the type before it
// opens the file, because opening a pipe would wait for a writer.
func openRegular(op, path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, fileError(op, path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, device.Errorf(device.CodeInvalidArgument, op, "%s is not a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, fileError(op, path, err)
	}
	return file, info.Size(), nil
}

// fileError returns the error of opening or reading a file.
func fileError(op, path string, err error) error {
	var inner *fs.PathError
	switch {
	case os.IsNotExist(err):
		return device.Errorf(device.CodeNotFound, op, "%s: there is no such file or folder", path)
	case os.IsPermission(err):
		return device.Errorf(device.CodePermissionDenied, op, "%s: %w", path, fs.ErrPermission)
	case errors.As(err, &inner):
		err = inner.Err
	}
	return device.Errorf(device.CodeIO, op, "%s: %w", path, err)
}
