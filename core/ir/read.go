package ir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/similar"
)

const opParse = "ir.parse"

// The bounds of the text of a definition.
const (
	// MaxBytes is the length of the longest text.
	MaxBytes = 64 << 20
	// MaxDepth is the maximum nesting of a value of a free-form map.
	MaxDepth = 64
)

// reader reads JSON whose form is known. After the first error its methods return zero values.
type reader struct {
	decoder *json.Decoder
	path    []step
	err     error
}

// step is a part of a path: a key, or a position in a list if the key is "".
type step struct {
	key   string
	index int
}

// form has the fields of an object.
type form struct {
	required, optional []string
}

// newReader checks the bounds of the text.
func newReader(text []byte) *reader {
	r := &reader{decoder: json.NewDecoder(bytes.NewReader(text))}
	r.decoder.UseNumber()
	switch {
	case len(text) > MaxBytes:
		r.fail("the definition has %v: at most %v are read", device.Size(len(text)), device.Size(MaxBytes))
	case !utf8.Valid(text):
		r.fail("the definition is not UTF-8")
	}
	return r
}

// fail keeps the first error, with the path of the value.
func (r *reader) fail(format string, values ...any) {
	if r.err != nil {
		return
	}
	text := fmt.Sprintf(format, values...)
	if path := r.where(); path != "" {
		text = path + ": " + text
	}
	r.err = device.Errorf(device.CodeInvalidFormat, opParse, "%s", text)
}

// where returns the path of the present value, such as layers[2].inputs[0].shape.
func (r *reader) where() string {
	var path strings.Builder
	for _, s := range r.path {
		if s.key == "" {
			fmt.Fprintf(&path, "[%d]", s.index)
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(plainKey(s.key))
	}
	return path.String()
}

// plainKey shows a short key of ordinary letters as it is, and quotes others.
func plainKey(key string) string {
	const longest = 60
	isPlain := !strings.ContainsFunc(key, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if isPlain && len(key) <= longest {
		return key
	}
	return quoted(key)
}

// quoted returns a text of a definition for a message, shortened.
func quoted(text string) string {
	const longest = 80
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "..."
	}
	return strconv.Quote(text)
}

func (r *reader) token() json.Token {
	if r.err != nil {
		return nil
	}
	token, err := r.decoder.Token()
	if err != nil {
		r.syntax(err)
	}
	return token
}

// syntax reports a text that is not JSON.
func (r *reader) syntax(err error) {
	at := r.decoder.InputOffset()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.fail("the definition is not JSON: the text ends at byte %d", at)
		return
	}
	r.fail("the definition is not JSON at byte %d", at)
}

// open reads the beginning of an object or a list.
func (r *reader) open(delimiter json.Delim, what string) bool {
	token := r.token()
	if r.err == nil && token != delimiter {
		r.fail("is %s, not %s", shown(token), what)
	}
	return r.err == nil
}

// object reads an object. read reads the value of a field.
func (r *reader) object(f *form, read func(key string)) {
	if !r.open('{', "an object") {
		return
	}
	seen := uint32(0)
	for r.err == nil && r.decoder.More() {
		key, _ := r.token().(string)
		at := slices.Index(f.required, key)
		if other := slices.Index(f.optional, key); at < 0 && other >= 0 {
			at = len(f.required) + other
		}
		r.path = append(r.path, step{key: key})
		switch {
		case r.err != nil:
		case at < 0:
			r.fail("the field is not known: the nearest is %q", similar.Names(key, slices.Concat(f.required, f.optional), 1)[0])
		case seen&(1<<at) != 0:
			r.fail("the field is given twice")
		default:
			seen |= 1 << at
			read(key)
		}
		r.path = r.path[:len(r.path)-1]
	}
	r.token()
	for at, key := range f.required {
		if seen&(1<<at) == 0 {
			r.fail("the field %q is missing", key)
		}
	}
}

// list reads a list. read reads an element.
func (r *reader) list(read func()) {
	if !r.open('[', "a list") {
		return
	}
	for i := 0; r.err == nil && r.decoder.More(); i++ {
		r.path = append(r.path, step{index: i})
		read()
		r.path = r.path[:len(r.path)-1]
	}
	r.token()
}

// records reads a list of objects.
func records[T any](r *reader, f *form, read func(into *T, key string)) []T {
	list := []T{}
	r.list(func() {
		var one T
		r.object(f, func(key string) { read(&one, key) })
		list = append(list, one)
	})
	return list
}

func (r *reader) text() string {
	token := r.token()
	text, isText := token.(string)
	if !isText {
		r.fail("is %s, not a text", shown(token))
	}
	return text
}

// optionalText reads a text or null.
func (r *reader) optionalText() *string {
	token := r.token()
	text, isText := token.(string)
	if !isText {
		if token != nil {
			r.fail("is %s, not a text or null", shown(token))
		}
		return nil
	}
	return &text
}

func (r *reader) texts() []string {
	list := []string{}
	r.list(func() { list = append(list, r.text()) })
	return list
}

func (r *reader) flag() bool {
	token := r.token()
	flag, isFlag := token.(bool)
	if !isFlag {
		r.fail("is %s, not true or false", shown(token))
	}
	return flag
}

// integers reads a list of whole numbers.
func (r *reader) integers() []int64 {
	list := []int64{}
	r.list(func() {
		token := r.token()
		number, _ := token.(json.Number)
		value, err := strconv.ParseInt(number.String(), 10, 64)
		if err != nil {
			r.fail("is %s, not a whole number of 64 bits", shown(token))
		}
		list = append(list, value)
	})
	return list
}

// whole reads a whole number from 0 on that fits some bits.
func (r *reader) whole(bits int) uint64 {
	value := r.optionalWhole(bits)
	if value == nil {
		r.fail("is null, not a whole number")
		return 0
	}
	return *value
}

// optionalWhole reads a whole number from 0 on, or null.
func (r *reader) optionalWhole(bits int) *uint64 {
	token := r.token()
	if token == nil {
		return nil
	}
	number, _ := token.(json.Number)
	value, err := strconv.ParseUint(number.String(), 10, bits)
	if err != nil {
		r.fail("is %s, not a whole number from 0 on of %d bits", shown(token), bits)
	}
	return &value
}

// float reads a number. It is rounded to F32.
func (r *reader) float() float32 {
	token := r.token()
	number, _ := token.(json.Number)
	value, err := strconv.ParseFloat(number.String(), 32)
	if err != nil {
		r.fail("is %s, not a number of 32 bits", shown(token))
	}
	return float32(value)
}

// extras reads a free-form map. Its values stay as they are, without spaces.
func (r *reader) extras() map[string]json.RawMessage {
	if !r.open('{', "an object") {
		return nil
	}
	var extras map[string]json.RawMessage
	for r.err == nil && r.decoder.More() {
		key, _ := r.token().(string)
		if r.err != nil {
			break
		}
		r.path = append(r.path, step{key: key})
		if _, twice := extras[key]; twice {
			r.fail("the field is given twice")
		}
		if extras == nil {
			extras = map[string]json.RawMessage{}
		}
		extras[key] = r.raw()
		r.path = r.path[:len(r.path)-1]
	}
	r.token()
	return extras
}

// raw reads any value.
func (r *reader) raw() json.RawMessage {
	var raw json.RawMessage
	if r.err != nil {
		return nil
	}
	if err := r.decoder.Decode(&raw); err != nil {
		r.syntax(err)
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		r.syntax(err)
		return nil
	}
	if why := wrongRaw(compact.Bytes()); why != "" {
		r.fail("%s", why)
	}
	return compact.Bytes()
}

// wrongRaw returns what is wrong with a value of a free-form map, or "".
func wrongRaw(raw []byte) string {
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return "the value is not JSON"
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	for depth := 0; ; {
		token, err := decoder.Token()
		if err != nil {
			return ""
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '}' || token == ']' {
				depth--
			} else if depth++; depth > MaxDepth {
				return fmt.Sprintf("the value is nested deeper than %d", MaxDepth)
			}
		case json.Number:
			if _, err := strconv.ParseFloat(token.String(), 64); err != nil {
				return fmt.Sprintf("the value has %s, which does not fit 64 bits", shown(token))
			}
		}
	}
}

// shown describes a JSON value in messages.
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
		if len(token) > 40 {
			return "the number " + token.String()[:40] + "..."
		}
		return "the number " + token.String()
	case string:
		return "the text " + quoted(token)
	}
	return fmt.Sprint(token)
}
