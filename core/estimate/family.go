package estimate

// family is what a model_type implies: the structure of its layers, and the
// values that transformers 4.57 takes for fields that a config.json leaves out,
// which published ones do. The structure follows the modelling files of the same
// release.
type family struct {
	encoder bool
	// names are other names of fields.
	names map[string]string
	// defaults are the fields that may be left out; a field that is in no
	// default must be there. kvHeads 0 and headDim 0 mean: by the heads.
	defaults map[string]uint64
	tied     bool

	gated         bool
	mlpBias       bool
	normsPerLayer uint64
	normsLeftOut  uint64
	normBias      bool
	finalNorm     bool
	embeddingNorm bool
	headNorms     uint64
	// qkvBias and outputBias are what holds if attention_bias is not there or
	// the family does not read it (biasFixed).
	qkvBias    bool
	outputBias bool
	biasFixed  bool
	lmHeadBias bool
	// latent: multi-head latent attention.
	latent bool
	// positionsLearned: a table of positions; pooler: a dense layer at the end.
	positionsLearned bool
	pooler           bool

	// qkvOnly: the field for the bias is of queries, keys and values only, and
	// biasField is its name where it is not attention_bias; allBias is one field
	// for every bias of attention and MLP.
	qkvOnly   bool
	biasField string
	allBias   string
	// queryGate, wideNorms and sinks are as in Attention; expertBias as in MLP.
	queryGate  bool
	wideNorms  bool
	sinks      bool
	expertBias bool
	routerBias bool
	// only are flags with the one value that the counts hold for.
	only map[string]bool
	// noAttention: no layer has attention, and there are no MLPs. innerTimes: the
	// MLPs are so many times as wide as the model if the file does not say it.
	noAttention bool
	innerTimes  uint64
	// positionsMore are rows of the table of positions beyond those that are used.
	positionsMore uint64
	// layers is what a family does that has other layers than attention; nil: all
	// layers have attention.
	layers func(reader, *Model) error

	window  windowRule
	experts expertRule
}

// windowRule is how a family says which layers look back over a window only.
type windowRule int

const (
	// windowNever: no layer, whatever sliding_window says.
	windowNever windowRule = iota
	// windowAll: every layer, if sliding_window is there.
	windowAll
	// windowFromLayer: the layers from max_window_layers on, if use_sliding_window is
	// set.
	windowFromLayer
	// windowEven: every second layer, beginning with the first.
	windowEven
	// windowPattern: all but every sliding_window_pattern-th layer.
	windowPattern
)

// expertRule is how a family says which layers have experts.
type expertRule int

const (
	expertsNever expertRule = iota
	// expertsAll: num_local_experts of the width intermediate_size in each layer.
	expertsAll
	// expertsStep: num_experts in every decoder_sparse_step-th layer but those
	// of mlp_only_layers.
	expertsStep
	// expertsDeepSeek: n_routed_experts in the layers from
	// first_k_dense_replace on, every moe_layer_freq-th.
	expertsDeepSeek
)

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
