package weightjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"ferrum_mem/core/device"
)

const op = "weights.json"

// MaxBytes is the length of the longest text.
const MaxBytes = 16 << 20

// maxDepth bounds how deep objects and lists contain each other.
const maxDepth = 16

// text is a text with its name in errors. It has the depths at which the program chooses the keys
// of the objects.
type text struct {
	argument string
	content  []byte
	named    func(depth int) bool
}

func (t *text) wrong(format string, values ...any) error {
	return device.Errorf(device.CodeInvalidArgument, op, t.argument+" "+format, values...)
}

// decode reads the text into a struct with the tags of encoding/json.
func (t *text) decode(to any) error {
	if len(t.content) > MaxBytes {
		return t.wrong("has %v: at most %v are read", device.Size(len(t.content)), device.Size(MaxBytes))
	}
	if !utf8.Valid(t.content) {
		return t.wrong("is not UTF-8")
	}
	if err := t.checkKeys(); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(t.content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(to); err != nil {
		return t.explained(err)
	}
	return nil
}

// explained converts an error of encoding/json to the wording of this package.
func (t *text) explained(err error) error {
	var kind *json.UnmarshalTypeError
	var typed *device.Error
	switch {
	case errors.As(err, &typed):
		return err
	case errors.As(err, &kind) && kind.Field != "":
		return t.wrong("is wrong at byte %d: %s is the JSON %s, which does not fit", kind.Offset, kind.Field, kind.Value)
	case errors.As(err, &kind):
		return t.wrong("is not an object: it is the JSON %s", kind.Value)
	}
	if key, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return t.wrong("has the key %s, which is not known", key)
	}
	return t.wrong("is wrong: %s", strings.TrimPrefix(err.Error(), "json: "))
}

// level is an object or a list that is being read.
type level struct {
	isObject bool
	// keys are the keys of an object. key is the last key while its value is missing.
	keys  map[string]bool
	inKey bool
}

// checkKeys checks that the text is one JSON value, that no object has a duplicate key, and that
// keys have no capital letters, because encoding/json ignores the case of keys.
func (t *text) checkKeys() error {
	decoder := json.NewDecoder(bytes.NewReader(t.content))
	decoder.UseNumber()
	var open []level
	for {
		token, err := decoder.Token()
		if err != nil {
			return t.wrong("is not JSON at byte %d: %s", decoder.InputOffset(), said(err))
		}
		top := len(open) - 1
		if key, is := token.(string); is && top >= 0 && open[top].inKey {
			if open[top].keys[key] {
				return t.wrong("has the key %q twice, the second time before byte %d", key, decoder.InputOffset())
			}
			if key != strings.ToLower(key) && (t.named == nil || !t.named(len(open))) {
				return t.wrong("has the key %q, which is not known", key)
			}
			open[top].keys[key], open[top].inKey = true, false
			continue
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if len(open) == maxDepth {
				return t.wrong("has more than %d objects and lists inside each other", maxDepth)
			}
			isObject := token == json.Delim('{')
			opened := level{isObject: isObject, inKey: isObject}
			if isObject {
				opened.keys = map[string]bool{}
			}
			open = append(open, opened)
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:top]
		}
		if len(open) == 0 {
			break
		}
		open[len(open)-1].inKey = open[len(open)-1].isObject
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return t.wrong("goes on after its end at byte %d", decoder.InputOffset())
	}
	return nil
}

func said(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the text ends there"
	}
	return err.Error()
}
