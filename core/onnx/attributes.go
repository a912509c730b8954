package onnx

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ferrum_mem/core/operator"
)

// Attributes of operators as those of nodes.

// attributesOf returns the attributes that an operator was given.
func attributesOf(op *operator.Operator) []Attribute {
	var list []Attribute
	for _, form := range op.Attributes {
		if !op.Has(form.Name) {
			continue
		}
		a := Attribute{Name: form.Name}
		switch form.Kind {
		case operator.Int:
			a.Kind, a.Int = Int, op.Int(form.Name)
		case operator.Float:
			a.Kind, a.Float = Float, float32(op.Float(form.Name))
		case operator.Ints:
			a.Kind = Ints
			a.Ints, _ = op.Ints(form.Name)
		case operator.Text:
			a.Kind, a.Text = Text, op.Text(form.Name)
		case operator.DataType:
			t, _ := op.DataType(form.Name)
			a.Kind, a.Int = Int, int64(operator.ONNXNumber(t))
		}
		list = append(list, a)
	}
	return list
}

// integer and integerList and number make attributes.
func integer(name string, value int64) Attribute {
	return Attribute{Name: name, Kind: Int, Int: value}
}

func number(name string, value float64) Attribute {
	return Attribute{Name: name, Kind: Float, Float: float32(value)}
}

// attributesOfConfig returns the attributes of a layer of another domain: integers, numbers, texts, flags
// (0 or 1) and lists of one of them. It returns the name of an attribute that is something else.
func attributesOfConfig(config map[string]json.RawMessage) (list []Attribute, wrong string) {
	for _, name := range slices.Sorted(maps.Keys(config)) {
		decoder := json.NewDecoder(strings.NewReader(string(config[name])))
		decoder.UseNumber()
		var value any
		if decoder.Decode(&value) != nil {
			return nil, name
		}
		a, isPossible := attributeOf(name, value)
		if !isPossible {
			return nil, name
		}
		list = append(list, a)
	}
	return list, ""
}

func attributeOf(name string, value any) (Attribute, bool) {
	a := Attribute{Name: name}
	switch value := value.(type) {
	case json.Number:
		if whole, err := strconv.ParseInt(value.String(), 10, 64); err == nil {
			a.Kind, a.Int = Int, whole
			return a, true
		}
		rounded, err := strconv.ParseFloat(value.String(), 32)
		a.Kind, a.Float = Float, float32(rounded)
		return a, err == nil
	case bool:
		a.Kind = Int
		if value {
			a.Int = 1
		}
		return a, true
	case string:
		a.Kind, a.Text = Text, value
		return a, true
	case []any:
		return listOf(a, value)
	}
	return a, false
}

// listOf makes a list of elements of one kind. Integers and numbers together are numbers.
func listOf(a Attribute, values []any) (Attribute, bool) {
	a.Kind = Ints
	for _, value := range values {
		one, isPossible := attributeOf("", value)
		switch {
		case !isPossible || one.Kind > Text:
			return a, false
		case one.Kind == Text:
			a.Texts = append(a.Texts, one.Text)
		case one.Kind == Float:
			a.Kind = Floats
			a.Floats = append(a.Floats, one.Float)
		default:
			a.Ints, a.Floats = append(a.Ints, one.Int), append(a.Floats, float32(one.Int))
		}
	}
	switch {
	case len(a.Texts) == len(values) && len(values) > 0:
		a.Kind = Texts
		return a, true
	case len(a.Texts) > 0:
		return a, false
	}
	return a, true
}

// positioned returns the name of an input or output in a list of parameters. One of several has its position
// behind it: "inputs2".
func positioned(list []operator.Parameter, at int) string {
	last := len(list) - 1
	if p := list[min(at, last)]; p.IsVariadic {
		return p.Name + strconv.Itoa(at-last)
	}
	return list[at].Name
}
