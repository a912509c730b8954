package estimate

import (
	"encoding/json"
	"math"
	"strconv"
)

// stretch reads the maximum context with the scaling of rotary positions. With some
// methods the number of positions already includes the scaling; with others it is
// multiplied.
func (r reader) stretch(m *Model) error {
	if m.Type == "cohere" && r.has("model_max_length") {
		further, err := r.number("model_max_length", 1)
		m.Positions = max(m.Positions, further)
		return err
	}
	field := "rope_scaling"
	if !r.has(field) {
		field = "rope_parameters"
	}
	o, err := r.objectOr(field)
	if err != nil || o == nil || m.Positions == 0 {
		return err
	}
	kind := "rope_type"
	if !o.has(kind) {
		kind = "type"
	}
	method, err := o.textOr(kind, "")
	if err != nil {
		return err
	}
	from, err := o.numberOr("original_max_position_embeddings", 1, 0)
	if err != nil {
		return err
	}
	switch method {
	case "", "default", "mrope":
		return nil
	case "llama3", "longrope", "su":
		if from > 0 && from < m.Positions {
			m.Stretch = Stretch{method, from}
		}
		return nil
	case "yarn", "linear", "dynamic":
	default:
		m.Notes = append(m.Notes, "rope_scaling of the kind "+quote(method)+" is unknown: the model's own context is stated without it")
		return nil
	}
	if method != "yarn" || from == 0 {
		from = m.Positions
	}
	reach, err := o.scaled("factor", from)
	if err != nil {
		return err
	}
	// The positions of Gemma 3 already include their linear factor.
	if m.Type == "gemma3" || m.Type == "gemma3_text" {
		m.Stretch = Stretch{}
		return nil
	}
	if m.Positions = max(m.Positions, reach); from < m.Positions {
		m.Stretch = Stretch{method, from}
	}
	return nil
}

// scaled returns a number of positions times a factor, which may have a fraction,
// rounded down.
func (o *object) scaled(field string, positions uint64) (uint64, error) {
	value, ok := o.fields[field].(json.Number)
	if !ok {
		return 0, o.wrong(field, "is %s, not a number", kindOf(o.fields[field]))
	}
	factor, err := strconv.ParseFloat(value.String(), 64)
	if err != nil || math.IsNaN(factor) || factor < 1 || factor > maxFactor {
		return 0, o.wrong(field, "is %s, not within 1 to %d", kindOf(value), maxFactor)
	}
	return min(maxNumber, uint64(math.Floor(float64(positions)*factor))), nil
}

// maxFactor bounds the scaling factor of positions.
const maxFactor = 1 << 20
