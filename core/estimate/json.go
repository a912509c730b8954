package estimate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"

	"ferrum_mem/core/device"
)

// The bounds of the JSON that is read. Published configurations have a few hundred
// values in five levels; lists of labels or of layers make some of them longer.
const (
	// MaxConfigBytes is the longest config.json that is read.
	MaxConfigBytes = 16 << 20
	// MaxConfigValues is the maximum number of values of a config.json.
	MaxConfigValues = 1 << 18
	// MaxJSONDepth is the maximum nesting of objects and lists.
	MaxJSONDepth = 64
	// maxNumber bounds every number of a configuration. All widths, counts and lengths
	// of models are far below it.
	maxNumber = 1 << 40
)

// malformed returns an error about the contents of a file. The format names the field.
func malformed(op, file, format string, args ...any) *device.Error {
	return device.Errorf(device.CodeInvalidFormat, op, file+": "+format, args...)
}

// notJSON states where and why a decoder failed.
func notJSON(decoder *json.Decoder, err error) string {
	at := fmt.Sprintf("is not JSON at byte %d", decoder.InputOffset())
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return at + ": the text ends there"
	case errors.As(err, &syntax):
		return at
	}
	return at + ": " + err.Error()
}

// object is a JSON object with its path, for errors. A value is nil, bool, json.Number,
// string, []any or *object.
type object struct {
	op, file string
	// path is "" for the whole file; otherwise it ends with a dot.
	path   string
	fields map[string]any
	// keys has the file's names of translated fields; nil: the names are the same.
	keys map[string]string
}

// parser reads values within bounds and without recursion: open values are in a list.
type parser struct {
	op, file string
	decoder  *json.Decoder
	values   int
}

// frame is an object or a list that is being read.
type frame struct {
	object *object
	list   []any
	key    string
	inKey  bool
}

func parseConfig(op, file string, text []byte) (*object, error) {
	if len(text) > MaxConfigBytes {
		return nil, malformed(op, file, "%v are more than the %v that are read of such a file", device.Size(len(text)), device.Size(MaxConfigBytes))
	}
	if !utf8.Valid(text) {
		return nil, malformed(op, file, "is not UTF-8 text")
	}
	p := &parser{op: op, file: file, decoder: json.NewDecoder(bytes.NewReader(text))}
	p.decoder.UseNumber()
	value, err := p.value()
	if err != nil {
		return nil, err
	}
	top, ok := value.(*object)
	if !ok {
		return nil, malformed(op, file, "is %s, not a JSON object", kindOf(value))
	}
	if _, err := p.decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, malformed(op, file, "something follows the JSON object")
	}
	return top, nil
}

// value reads one value with everything inside it.
func (p *parser) value() (any, error) {
	var open []frame
	for {
		token, err := p.decoder.Token()
		if err != nil {
			return nil, malformed(p.op, p.file, "%s", notJSON(p.decoder, err))
		}
		if p.values++; p.values > MaxConfigValues {
			return nil, malformed(p.op, p.file, "has more than %d values", MaxConfigValues)
		}
		if key, ok := token.(string); ok && len(open) > 0 && open[len(open)-1].inKey {
			top := &open[len(open)-1]
			if _, twice := top.object.fields[key]; twice {
				return nil, malformed(p.op, p.file, "%s%s: the key occurs twice", top.object.path, quoteKey(key))
			}
			top.key, top.inKey = key, false
			continue
		}
		value := any(token)
		if delimiter, ok := token.(json.Delim); ok {
			if delimiter == '{' || delimiter == '[' {
				if len(open) >= MaxJSONDepth {
					return nil, malformed(p.op, p.file, "is nested deeper than %d at byte %d", MaxJSONDepth, p.decoder.InputOffset())
				}
				open = append(open, p.opened(delimiter, open))
				continue
			}
			closed := open[len(open)-1]
			open = open[:len(open)-1]
			value = any(closed.list)
			if closed.object != nil {
				value = closed.object
			}
		}
		if len(open) == 0 {
			return value, nil
		}
		open[len(open)-1].add(value)
	}
}

func (p *parser) opened(delimiter json.Delim, open []frame) frame {
	if delimiter == '[' {
		return frame{list: []any{}}
	}
	path := ""
	if len(open) > 0 {
		top := open[len(open)-1]
		if top.object != nil {
			path = top.object.path + quoteKey(top.key) + "."
		} else {
			path = "[" + strconv.Itoa(len(top.list)) + "]."
		}
	}
	return frame{object: &object{op: p.op, file: p.file, path: path, fields: map[string]any{}}, inKey: true}
}

func (f *frame) add(value any) {
	if f.object == nil {
		f.list = append(f.list, value)
		return
	}
	f.object.fields[f.key] = value
	f.inKey = true
}

// quoteKey shows a short key with ordinary letters as it is, and quotes others.
func quoteKey(key string) string {
	const longest = 60
	for _, r := range key {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return quote(key)
		}
	}
	if key == "" || len(key) > longest {
		return quote(key)
	}
	return key
}

// quote returns text of a file for an error, shortened.
func quote(text string) string {
	const longest = 60
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return strconv.Quote(text)
}

func kindOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "the number " + shorten(v.String())
	case string:
		return "the text " + quote(v)
	case []any:
		return "a list"
	}
	return "an object"
}

func shorten(text string) string {
	const longest = 40
	if len(text) > longest {
		return text[:longest] + "…"
	}
	return text
}

func (o *object) wrong(field, format string, args ...any) *device.Error {
	if key, ok := o.keys[field]; ok {
		field = key
	}
	return aboutField(o.path+field, malformed(o.op, o.file, o.path+field+": "+format, args...))
}

// fieldError is the cause of an error about one field of a file.
type fieldError struct {
	path string
	// isUnknownFamily states that the file can be right, and the table of families lacks its model_type.
	isUnknownFamily bool
}

func (e *fieldError) Error() string { return e.path + " is wrong" }

func aboutField(path string, e *device.Error) *device.Error {
	e.Err = &fieldError{path: path}
	return e
}

// IsUnknownFamily reports whether an error of this package is about a model_type that is not known.
func IsUnknownFamily(err error) bool {
	var field *fieldError
	return errors.As(err, &field) && field.isUnknownFamily
}

// FieldOf returns the path of the field that an error of this package is about, such as
// text_config.hidden_size, or the key of GGUF metadata. It returns "" for other errors.
func FieldOf(err error) string {
	var field *fieldError
	if errors.As(err, &field) {
		return field.path
	}
	return ""
}

// has reports whether a field is present and not null. null means absent.
func (o *object) has(field string) bool { return o.fields[field] != nil }

// number reads a whole number from least to 2^40.
func (o *object) number(field string, least uint64) (uint64, error) {
	value, ok := o.fields[field]
	if !ok || value == nil {
		return 0, o.wrong(field, "is missing, and a %s model has no default for it", o.modelType())
	}
	return o.whole(field, value, least)
}

func (o *object) whole(field string, value any, least uint64) (uint64, error) {
	n, ok := wholeNumber(value)
	if !ok {
		return 0, o.wrong(field, "is %s, not a whole number", kindOf(value))
	}
	if n < least || n > maxNumber {
		return 0, o.wrong(field, "is %d, not within %d to %d", n, least, uint64(maxNumber))
	}
	return n, nil
}

// numberOr is number with a default for a field that is missing or null.
func (o *object) numberOr(field string, least, otherwise uint64) (uint64, error) {
	if !o.has(field) {
		return otherwise, nil
	}
	return o.number(field, least)
}

// wholeNumber returns the value of an unsigned number without fraction or exponent. For
// a number above 64 bits it returns the largest value, which every bound rejects.
func wholeNumber(value any) (uint64, bool) {
	text, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	var n uint64
	for _, digit := range text.String() {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		high, low := bits.Mul64(n, 10)
		sum, carry := bits.Add64(low, uint64(digit-'0'), 0)
		if high != 0 || carry != 0 {
			return ^uint64(0), true
		}
		n = sum
	}
	return n, true
}

func (o *object) flagOr(field string, otherwise bool) (bool, error) {
	if !o.has(field) {
		return otherwise, nil
	}
	flag, ok := o.fields[field].(bool)
	if !ok {
		return false, o.wrong(field, "is %s, not true or false", kindOf(o.fields[field]))
	}
	return flag, nil
}

func (o *object) textOr(field, otherwise string) (string, error) {
	if !o.has(field) {
		return otherwise, nil
	}
	text, ok := o.fields[field].(string)
	if !ok {
		return "", o.wrong(field, "is %s, not a text", kindOf(o.fields[field]))
	}
	return text, nil
}

// listOr returns nil for a missing list.
func (o *object) listOr(field string) ([]any, error) {
	if !o.has(field) {
		return nil, nil
	}
	list, ok := o.fields[field].([]any)
	if !ok {
		return nil, o.wrong(field, "is %s, not a list", kindOf(o.fields[field]))
	}
	return list, nil
}

// objectOr returns nil for a missing object.
func (o *object) objectOr(field string) (*object, error) {
	if !o.has(field) {
		return nil, nil
	}
	inner, ok := o.fields[field].(*object)
	if !ok {
		return nil, o.wrong(field, "is %s, not an object", kindOf(o.fields[field]))
	}
	return inner, nil
}

func (o *object) modelType() string {
	name, ok := o.fields["model_type"].(string)
	if !ok {
		return "such a"
	}
	return quote(name)
}
