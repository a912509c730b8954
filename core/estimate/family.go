package estimate

// family has the facts that a model_type implies: the structure of its layers, and the
// values of transformers 4.57 for fields that published config.json files leave out.
// The structure follows the modelling files of the same release.
type family struct {
	encoder bool
	// names has the family's other names of fields.
	names map[string]string
	// defaults has the fields that may be missing; other fields are required. For
	// kvHeads and headDim, 0 means: computed from the heads.
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
	// qkvBias and outputBias apply if attention_bias is missing or the family does not
	// read it (biasFixed).
	qkvBias    bool
	outputBias bool
	biasFixed  bool
	lmHeadBias bool
	// latent: the attention is multi-head latent attention.
	latent bool
	// positionsLearned: there is a table of positions. pooler: there is a dense layer
	// at the end.
	positionsLearned bool
	pooler           bool

	// qkvOnly: the field for the bias applies only to queries, keys and values.
	// biasField is its name if it is not attention_bias. allBias is one field for every
	// bias of attention and MLP.
	qkvOnly   bool
	biasField string
	allBias   string
	// queryGate, wideNorms and sinks are as in Attention; expertBias as in MLP.
	queryGate  bool
	wideNorms  bool
	sinks      bool
	expertBias bool
	routerBias bool
	// only has flags with the one value for which the counts are right.
	only map[string]bool
	// noAttention: no layer has attention, and there are no MLPs. innerTimes: the MLPs
	// are that many times as wide as the model if the file does not state their width.
	noAttention bool
	innerTimes  uint64
	// positionsMore is the number of unused rows of the table of positions.
	positionsMore uint64
	// encoding has the defaults of an encoder's rules; nil: the rules are not read.
	// normEpsilonFixed: the file does not change the epsilon of the norms.
	// positionsAfterPad: the row of the first position follows the row of the pad token.
	encoding          *Encoding
	normEpsilonFixed  bool
	positionsAfterPad bool
	// layers reads the layers of a family with layers other than attention; nil: all
	// layers have attention.
	layers func(reader, *Model) error

	window  windowRule
	experts expertRule
}

// windowRule is the rule of a family that states which layers have a window.
type windowRule int

const (
	// windowNever: no layer, regardless of sliding_window.
	windowNever windowRule = iota
	// windowAll: every layer, if sliding_window is present.
	windowAll
	// windowFromLayer: the layers from max_window_layers on, if use_sliding_window is
	// set.
	windowFromLayer
	// windowEven: every second layer, beginning with the first.
	windowEven
	// windowPattern: all but every sliding_window_pattern-th layer.
	windowPattern
)

// expertRule is the rule of a family that states which layers have experts.
type expertRule int

const (
	expertsNever expertRule = iota
	// expertsAll: num_local_experts of the width intermediate_size in each layer.
	expertsAll
	// expertsStep: num_experts in every decoder_sparse_step-th layer, except those of
	// mlp_only_layers.
	expertsStep
	// expertsDeepSeek: n_routed_experts in the layers from
	// first_k_dense_replace on, every moe_layer_freq-th.
	expertsDeepSeek
)

// reader reads the fields of one configuration for its family.
type reader struct {
	*object
	family family
}

// name returns the family's name of a field.
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

// into reads fields one after the other into their variables.
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
