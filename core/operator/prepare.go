package operator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

const opPrepare = "operator.prepare"

// maxAttributeBytes is the length of the longest text with attributes.
const maxAttributeBytes = 1 << 20

// Operator is an operator with its attributes. It does not change.
type Operator struct {
	*Schema
	// values has an int64, a float64, a []int64, a string, a dtype.DType or nil for each attribute.
	values []any
	// config is the configuration of an operator of the program.
	config []byte
}

// Prepare reads attributes from a JSON object, such as {"axis": -1}. An empty text has none.
// Errors: CodeInvalidArgument for a text that is not one JSON object, for an attribute that is
// unknown, which names the nearest, given twice, required and missing, or not of its kind.
func (s *Schema) Prepare(attributes []byte) (*Operator, error) {
	if s.Custom != nil {
		return s.prepareCustom(attributes)
	}
	o := &Operator{Schema: s, values: make([]any, len(s.Attributes))}
	if len(attributes) > 0 {
		r := reader{Operator: o, decoder: json.NewDecoder(bytes.NewReader(attributes))}
		if err := r.read(attributes); err != nil {
			return nil, err
		}
	}
	for i, a := range s.Attributes {
		if o.values[i] == nil && a.IsRequired {
			return nil, s.refuse("attribute %q is required", a.Name)
		}
	}
	return o, nil
}

func (s *Schema) refuse(format string, values ...any) error {
	name := s.Name
	if s.Custom != nil {
		name = s.FullName()
	}
	return device.Errorf(device.CodeInvalidArgument, opPrepare, "%s", name+": "+fmt.Sprintf(format, values...))
}

// reader reads the attributes of an operator.
type reader struct {
	*Operator
	decoder *json.Decoder
}

func (r *reader) read(text []byte) error {
	if len(text) > maxAttributeBytes {
		return r.refuse("the attributes have %v: at most %v are read", device.Size(len(text)), device.Size(maxAttributeBytes))
	}
	if !utf8.Valid(text) {
		return r.refuse("the attributes are not UTF-8")
	}
	r.decoder.UseNumber()
	first, err := r.token()
	if err != nil {
		return err
	}
	if first != json.Delim('{') {
		return r.refuse("the attributes are not a JSON object")
	}
	for r.decoder.More() {
		if err := r.attribute(); err != nil {
			return err
		}
	}
	if _, err := r.token(); err != nil {
		return err
	}
	if _, err := r.decoder.Token(); !errors.Is(err, io.EOF) {
		return r.refuse("the attributes go on after the end of the object, at byte %d", r.decoder.InputOffset())
	}
	return nil
}

func (r *reader) token() (json.Token, error) {
	token, err := r.decoder.Token()
	switch {
	case err == nil:
		return token, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, r.refuse("the attributes are not JSON: the text ends at byte %d", r.decoder.InputOffset())
	}
	return nil, r.refuse("the attributes are not JSON at byte %d: %s", r.decoder.InputOffset(), strings.TrimPrefix(err.Error(), "json: "))
}

// attribute reads a key and its value.
func (r *reader) attribute() error {
	token, err := r.token()
	if err != nil {
		return err
	}
	name, _ := token.(string)
	at := slices.IndexFunc(r.Attributes, func(a Attribute) bool { return a.Name == name })
	if at < 0 {
		return r.unknown(name)
	}
	if r.values[at] != nil {
		return r.refuse("attribute %q is given twice", name)
	}
	value, err := r.value(r.Attributes[at])
	r.values[at] = value
	return err
}

func (r *reader) unknown(name string) error {
	isInput := slices.ContainsFunc(r.Inputs, func(p Parameter) bool { return p.Name == name })
	switch {
	case isInput:
		return r.refuse("%q is an input, not an attribute, since opset %d", name, r.Since)
	case len(r.Attributes) == 0:
		return r.refuse("attribute %s is not known: the operator has none", shortened(name))
	}
	names := make([]string, len(r.Attributes))
	for i, a := range r.Attributes {
		names[i] = a.Name
	}
	return r.refuse("attribute %s is not known: the nearest is %q", shortened(name), nearest(name, names))
}

func (r *reader) value(a Attribute) (any, error) {
	token, err := r.token()
	if err != nil {
		return nil, err
	}
	if a.Kind == Ints {
		return r.integers(a, token)
	}
	number, isNumber := token.(json.Number)
	text, isText := token.(string)
	switch {
	case a.Kind == Int && isNumber:
		value, err := strconv.ParseInt(number.String(), 10, 64)
		if isBounded := a.Least != 0 || a.Most != 0; err == nil && (!isBounded || value >= a.Least && value <= a.Most) {
			return value, nil
		}
	case a.Kind == Float && isNumber:
		value, err := strconv.ParseFloat(number.String(), 32)
		if err == nil {
			return value, nil
		}
	case a.Kind == Text && isText && slices.Contains(a.Choices, text):
		return text, nil
	case a.Kind == DataType && isNumber:
		value, err := strconv.ParseInt(number.String(), 10, 32)
		if t, known := FromONNX(value); err == nil && known && a.Types.Has(t) {
			return t, nil
		}
	case a.Kind == DataType && isText:
		if t, err := dtype.Parse(text); err == nil && a.Types.Has(t) {
			return t, nil
		}
	}
	return nil, r.refuse("attribute %q is %s: expected %s", a.Name, shown(token), a.expected())
}

func (r *reader) integers(a Attribute, first json.Token) (any, error) {
	if first != json.Delim('[') {
		return nil, r.refuse("attribute %q is %s: expected %s", a.Name, shown(first), a.expected())
	}
	values := []int64{}
	for r.decoder.More() {
		token, err := r.token()
		if err != nil {
			return nil, err
		}
		number, _ := token.(json.Number)
		value, err := strconv.ParseInt(number.String(), 10, 64)
		if err != nil {
			return nil, r.refuse("attribute %q has the element %s: expected an integer", a.Name, shown(token))
		}
		if len(values) == maxVariadic {
			return nil, r.refuse("attribute %q has more than %d elements", a.Name, maxVariadic)
		}
		values = append(values, value)
	}
	_, err := r.token()
	return values, err
}

// expected describes the values of an attribute for messages.
func (a Attribute) expected() string {
	switch {
	case a.Kind == Text:
		return strings.Join(a.Choices, ", ")
	case a.Kind == DataType:
		return "a data type, by its number in ONNX or its name: " + a.Types.String()
	case a.Kind == Int && a.Most >= 1<<62:
		return fmt.Sprintf("an integer from %d on", a.Least)
	case a.Kind == Int && a.Most != 0:
		return fmt.Sprintf("an integer from %d to %d", a.Least, a.Most)
	}
	return a.Kind.String()
}

// shown formats a JSON value for messages.
func shown(token json.Token) string {
	switch token := token.(type) {
	case nil:
		return "null"
	case json.Delim:
		if token == '{' {
			return "an object"
		}
		return "a list"
	case json.Number:
		if len(token) <= 32 {
			return token.String()
		}
		return token.String()[:32] + "..."
	case string:
		return shortened(token)
	}
	return fmt.Sprint(token)
}

// FromONNX returns the data type with a number of TensorProto.DataType.
func FromONNX(number int64) (dtype.DType, bool) {
	for _, pair := range onnxNumbers {
		if int64(pair.number) == number {
			return pair.t, true
		}
	}
	return 0, false
}

// ONNXNumber returns the number of a data type in ONNX; 0: ONNX does not have it.
func ONNXNumber(t dtype.DType) int32 {
	for _, pair := range onnxNumbers {
		if pair.t == t {
			return pair.number
		}
	}
	return 0
}

var onnxNumbers = [...]struct {
	number int32
	t      dtype.DType
}{
	{1, dtype.F32}, {2, dtype.U8}, {3, dtype.I8}, {4, dtype.U16}, {5, dtype.I16}, {6, dtype.I32},
	{7, dtype.I64}, {9, dtype.Bool}, {10, dtype.F16}, {11, dtype.F64}, {12, dtype.U32}, {13, dtype.U64},
	{16, dtype.BF16}, {17, dtype.F8E4M3}, {19, dtype.F8E5M2}, {21, dtype.U4}, {22, dtype.I4},
	{23, dtype.F4E2M1}, {24, dtype.F8E8M0},
}

// value returns an attribute or its default; nil: it has none.
func (o *Operator) value(name string) any {
	for i, a := range o.Attributes {
		if a.Name == name {
			if o.values[i] == nil {
				return a.Default
			}
			return o.values[i]
		}
	}
	return nil
}

// AttributesJSON returns the attributes that the caller gave or that have a default, as a JSON object in
// alphabetical order. A data type is its name. Those of an operator of the program are its configuration.
func (o *Operator) AttributesJSON() ([]byte, error) {
	if o.Custom != nil {
		return o.config, nil
	}
	given := map[string]any{}
	for _, a := range o.Attributes {
		switch value := o.value(a.Name).(type) {
		case nil:
		case float64:
			given[a.Name] = float32(value) // as ONNX has them
		case dtype.DType:
			given[a.Name] = value.String()
		default:
			given[a.Name] = value
		}
	}
	text, err := json.Marshal(given)
	if err != nil {
		return nil, device.Errorf(device.CodeSerialization, opPrepare, "%s: %w", o.Name, err)
	}
	return text, nil
}

// Has states whether the caller gave an attribute.
func (o *Operator) Has(name string) bool {
	for i, a := range o.Attributes {
		if a.Name == name {
			return o.values[i] != nil
		}
	}
	return false
}

// Int returns an attribute of kind Int or its default. It is 0 for an attribute that has neither,
// or that the form of the operator does not have.
func (o *Operator) Int(name string) int64 {
	value, _ := o.value(name).(int64)
	return value
}

// Float returns an attribute of kind Float or its default; NaN: it has neither.
func (o *Operator) Float(name string) float64 {
	if value, is := o.value(name).(float64); is {
		return value
	}
	return math.NaN()
}

// Ints returns an attribute of kind Ints. isGiven is false if the caller did not give it. The list
// must not be changed.
func (o *Operator) Ints(name string) (values []int64, isGiven bool) {
	values, isGiven = o.value(name).([]int64)
	return values, isGiven
}

// Text returns an attribute of kind Text or its default.
func (o *Operator) Text(name string) string {
	value, _ := o.value(name).(string)
	return value
}

// DataType returns an attribute of kind DataType or its default. isGiven is false if it has
// neither.
func (o *Operator) DataType(name string) (t dtype.DType, isGiven bool) {
	switch value := o.value(name).(type) {
	case dtype.DType:
		return value, true
	case string:
		t, err := dtype.Parse(value)
		return t, err == nil
	}
	return 0, false
}
