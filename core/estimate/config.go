package estimate

import (
	"os"
	"path/filepath"

	"ferrum_mem/core/device"
)

const opConfig = "estimate.config"

// maxLayers bounds layers and experts, which lists are compared with.
const maxLayers = 1 << 16

// ReadConfig reads the text of a config.json as published beside a model; name
// is what errors call it. A field that is missing, of the wrong type, out of
// bounds or there twice, and a model_type that is not known, are
// CodeInvalidFormat and name the field; widths whose product is beyond every
// model are CodeOverflow.
func ReadConfig(name string, text []byte) (*Model, error) {
	top, err := parseConfig(opConfig, name, text)
	if err != nil {
		return nil, err
	}
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
	for _, read := range []func(*Model) error{r.sizes, r.embeddings, r.attention, r.mlp, r.windows, r.storage} {
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
		m.Notes = append(m.Notes, "the layers for predicting further tokens are not in the numbers of the configuration")
	}
	return m, nil
}

// inheritText gives the configuration of a text model what stands one level up.
func inheritText(inner, outer *object) {
	for _, field := range []string{"model_type", "torch_dtype", "dtype", "quantization_config", "tie_word_embeddings"} {
		if value, ok := outer.fields[field]; ok && !inner.has(field) {
			inner.fields[field] = value
		}
	}
}

// ReadConfigFile is ReadConfig of a file. It reads no more of it than a
// configuration may have.
func ReadConfigFile(path string) (*Model, error) {
	text, err := readSmallFile(opConfig, path, MaxConfigBytes)
	if err != nil {
		return nil, err
	}
	return ReadConfig(filepath.Base(path), text)
}

// reader reads the fields of one configuration as its family means them.
type reader struct {
	*object
	family family
}

// name is what the family calls a field.
func (r reader) name(field string) string {
	if other, ok := r.family.names[field]; ok {
		return other
	}
	return field
}

// get reads a field that is at least 1, with the family's default.
func (r reader) get(field string) (uint64, error) {
	name := r.name(field)
	if otherwise, ok := r.family.defaults[field]; ok {
		return r.numberOr(name, 1, otherwise)
	}
	return r.number(name, 1)
}

// into reads fields one after the other into the places beside them.
func (r reader) into(places []place) error {
	for _, p := range places {
		value, err := r.get(p.field)
		if err != nil {
			return err
		}
		*p.value = value
	}
	return nil
}

type place struct {
	field string
	value *uint64
}

func (r reader) sizes(m *Model) error {
	err := r.into([]place{
		{"hidden_size", &m.Hidden}, {"num_hidden_layers", &m.Layers}, {"vocab_size", &m.Vocab}, {"num_attention_heads", &m.Attention.Heads},
	})
	if err != nil {
		return err
	}
	if m.Layers > maxLayers {
		return r.wrong(r.name("num_hidden_layers"), "is %d and not within 1 to %d", m.Layers, maxLayers)
	}
	m.NormsPerLayer, m.NormsLeftOut, m.NormBias = r.family.normsPerLayer, r.family.normsLeftOut, r.family.normBias
	m.FinalNorm, m.EmbeddingNorm = r.family.finalNorm, r.family.embeddingNorm
	m.PoolerDense = r.family.pooler
	return nil
}

func (r reader) embeddings(m *Model) (err error) {
	m.Positions, err = r.numberOr("max_position_embeddings", 1, r.family.defaults["max_position_embeddings"])
	if err != nil {
		return err
	}
	m.PositionsLearned = r.family.positionsLearned
	m.TokenTypes, err = r.numberOr("type_vocab_size", 0, r.family.defaults["type_vocab_size"])
	if err != nil {
		return err
	}
	if m.TiedEmbeddings, err = r.flagOr("tie_word_embeddings", r.family.tied); err != nil {
		return err
	}
	m.OutputBias, err = r.flagOr("lm_head_bias", r.family.lmHeadBias)
	return err
}

func (r reader) attention(m *Model) (err error) {
	a := &m.Attention
	a.QKVBias, a.OutputBias, a.HeadNorms = r.family.qkvBias, r.family.outputBias, r.family.headNorms
	switch {
	case m.Type == "qwen2_moe":
		a.QKVBias, err = r.flagOr("qkv_bias", a.QKVBias)
	case !r.family.biasFixed:
		a.QKVBias, err = r.flagOr("attention_bias", a.QKVBias)
		a.OutputBias = a.QKVBias
	}
	if err != nil {
		return err
	}
	if r.family.latent {
		a.KVHeads = a.Heads
		return r.latent(a)
	}
	if a.KVHeads, err = r.numberOr("num_key_value_heads", 1, r.family.defaults["num_key_value_heads"]); err != nil {
		return err
	}
	if a.KVHeads == 0 {
		a.KVHeads = a.Heads
	}
	if a.HeadDim, err = r.numberOr("head_dim", 1, r.family.defaults["head_dim"]); err != nil {
		return err
	}
	if a.HeadDim == 0 {
		if m.Hidden%a.Heads != 0 {
			return r.wrong(r.name("num_attention_heads"), "%d does not divide the hidden size of %d, and there is no head_dim", a.Heads, m.Hidden)
		}
		a.HeadDim = m.Hidden / a.Heads
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
	// null means here that queries are not compressed.
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

// readSmallFile reads a file whole that has at most limit bytes.
func readSmallFile(op, path string, limit int64) ([]byte, error) {
	file, size, err := openRegular(op, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if size > limit {
		return nil, malformed(op, path, "%d bytes are more than the %d that are read of such a file", size, limit)
	}
	text := make([]byte, size)
	n, err := file.ReadAt(text, 0)
	if int64(n) < size {
		return nil, fileError(op, path, err)
	}
	return text, nil
}

// openRegular opens a file and gives its size. It looks before it opens: opening
// a pipe would wait for somebody to write.
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

// fileError is an error of opening or reading a file.
func fileError(op, path string, err error) error {
	switch {
	case os.IsNotExist(err):
		return device.Errorf(device.CodeNotFound, op, "%w", err)
	case os.IsPermission(err):
		return device.Errorf(device.CodePermissionDenied, op, "%w", err)
	}
	return device.Errorf(device.CodeIO, op, "%s: %w", path, err)
}
