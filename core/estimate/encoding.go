package estimate

import (
	"encoding/json"
	"math"
	"strconv"
)

// Encoding has the rules by which an encoder computes, in addition to its widths.
type Encoding struct {
	// NormEpsilon is the number that norms add to the variance.
	NormEpsilon float64
	// Activation is the function between the two matrices of an MLP, such as gelu.
	Activation string
	// InitialStd is the standard deviation of weights before training.
	InitialStd float64
	// PadToken is the id of the token that fills up shorter texts of a batch.
	PadToken uint64
	// FirstPosition is the row of the table of positions that belongs to the first token. The rows
	// before it are unused.
	FirstPosition uint64
	// RelativeBuckets is the number of rows of a table with numbers that attention adds for the distance of two
	// tokens, one number for each head; 0: there is no such table.
	RelativeBuckets uint64
	// PositionKind states how positions are used: absolute is a table of positions.
	PositionKind string
	// IsCausal states that tokens see only the tokens before them, as in a decoder. CrossAttention
	// states that each layer also reads the output of another encoder.
	IsCausal       bool
	CrossAttention bool
	// Missing has the widths and counts that the file leaves out, by the family's names. The model has the
	// defaults of the family for them.
	Missing []string
}

// AbsolutePositions is the usual PositionKind.
const AbsolutePositions = "absolute"

// encoding reads the rules of an encoder whose family has defaults for them.
func (r reader) encoding(m *Model) error {
	if r.family.encoding == nil {
		return nil
	}
	e := *r.family.encoding
	var err error
	if !r.family.normEpsilonFixed {
		if e.NormEpsilon, err = r.realOr("layer_norm_eps", e.NormEpsilon); err != nil {
			return err
		}
	}
	if e.InitialStd, err = r.realOr("initializer_range", e.InitialStd); err != nil {
		return err
	}
	if e.Activation, err = r.textOr(r.name("hidden_act"), e.Activation); err != nil {
		return err
	}
	if e.PositionKind, err = r.textOr("position_embedding_type", e.PositionKind); err != nil {
		return err
	}
	if e.PadToken, err = r.numberOr("pad_token_id", 0, e.PadToken); err != nil {
		return err
	}
	if otherwise := r.family.defaults["relative_attention_num_buckets"]; otherwise > 0 {
		if e.RelativeBuckets, err = r.numberOr("relative_attention_num_buckets", 1, otherwise); err != nil {
			return err
		}
	}
	if e.IsCausal, err = r.flagOr("is_decoder", false); err != nil {
		return err
	}
	if e.CrossAttention, err = r.flagOr("add_cross_attention", false); err != nil {
		return err
	}
	if r.family.positionsAfterPad {
		e.FirstPosition = e.PadToken + 1
	}
	if e.PositionKind != AbsolutePositions {
		m.Notes = append(m.Notes, "the numbers do not include tables of relative positions ("+quote(e.PositionKind)+")")
	}
	if e.CrossAttention {
		m.Notes = append(m.Notes, "the numbers do not include attention over the output of another model")
	}
	for _, field := range []string{
		"hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size", "max_position_embeddings",
	} {
		if name := r.name(field); !r.has(name) {
			e.Missing = append(e.Missing, name)
		}
	}
	m.Encoding = &e
	return nil
}

// realOr returns a number from 0 to 1, or a default for a field that is missing or null.
func (o *object) realOr(field string, otherwise float64) (float64, error) {
	if !o.has(field) {
		return otherwise, nil
	}
	text, ok := o.fields[field].(json.Number)
	if !ok {
		return 0, o.wrong(field, "is %s, not a number", kindOf(o.fields[field]))
	}
	value, err := strconv.ParseFloat(text.String(), 64)
	if err != nil || math.IsNaN(value) || value < 0 || value > 1 {
		return 0, o.wrong(field, "is %s, not within 0 to 1", kindOf(text))
	}
	return value, nil
}
