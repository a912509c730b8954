package header

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads the JSON of a safetensors header. It accepts only the part of JSON that the format
// uses: objects, lists, texts and whole numbers. It rejects two things that a general parser
// accepts: a duplicate key, and text that is not UTF-8.
//
// After the first error it returns zero values.
type scanner struct {
	in   Input
	text string
	at   int
	err  error
	// inside is the name of the entry that is being read. Error texts begin with it. "": no entry
	// is being read. A header has many entries and at most one error, so the text is built only for
	// the error.
	inside string
}

func (s *scanner) fail(format string, args ...any) {
	switch {
	case s.err != nil:
	case s.inside != "":
		s.err = s.in.wrong("%s"+format, append([]any{quote(s.inside)}, args...)...)
	default:
		s.err = s.in.wrong(format, args...)
	}
}

func (s *scanner) spaces() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// found describes the character at the current place, for errors.
func (s *scanner) found() string {
	if s.at >= len(s.text) {
		return "the end of the header"
	}
	r, _ := utf8.DecodeRuneInString(s.text[s.at:])
	return strconv.QuoteRune(r)
}

// expect reads one given character.
func (s *scanner) expect(sign byte, where string) {
	if s.err != nil {
		return
	}
	s.spaces()
	if s.at >= len(s.text) || s.text[s.at] != sign {
		s.fail("%s: %s at byte %d of the header: expected %q", where, s.found(), s.at, rune(sign))
		return
	}
	s.at++
}

// next states whether another entry of an object or list follows. It reads the comma before the
// entry, or the character that ends the object or list. first states that no entry was read yet.
func (s *scanner) next(end byte, first bool, where string) bool {
	if s.err != nil {
		return false
	}
	s.spaces()
	if s.at < len(s.text) && s.text[s.at] == end {
		s.at++
		return false
	}
	if !first {
		s.expect(',', where)
	}
	return s.err == nil
}

// string reads a text. A text without escapes shares the memory of the header.
func (s *scanner) string(where string) string {
	s.expect('"', where)
	if s.err != nil {
		return ""
	}
	start := s.at
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '"':
			text := s.text[start:s.at]
			s.at++
			return text
		case c == '\\':
			return s.escaped(start, where)
		case c < ' ':
			s.fail("%s: a text has a control sign at byte %d of the header", where, s.at)
			return ""
		}
		s.at++
	}
	s.fail("%s: a text does not end", where)
	return ""
}

// escaped reads the rest of a text from its first escape on, which is at the current place.
func (s *scanner) escaped(start int, where string) string {
	var out strings.Builder
	out.WriteString(s.text[start:s.at])
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case c == '"':
			return out.String()
		case c == '\\':
			s.escape(&out, where)
			if s.err != nil {
				return ""
			}
		case c < ' ':
			s.fail("%s: a text has a control sign at byte %d of the header", where, s.at-1)
			return ""
		default:
			out.WriteByte(c)
		}
	}
	s.fail("%s: a text does not end", where)
	return ""
}

func (s *scanner) escape(out *strings.Builder, where string) {
	if s.at >= len(s.text) {
		s.fail("%s: a text does not end", where)
		return
	}
	c := s.text[s.at]
	s.at++
	if short := strings.IndexByte(`"\/bfnrt`, c); short >= 0 {
		out.WriteByte("\"\\/\b\f\n\r\t"[short])
		return
	}
	if c != 'u' {
		s.fail("%s: a text has an unknown escape at byte %d of the header", where, s.at-1)
		return
	}
	r := s.unit(where)
	if utf16.IsSurrogate(r) {
		low := rune(0)
		if strings.HasPrefix(s.text[s.at:], `\u`) {
			s.at += 2
			low = s.unit(where)
		}
		r = utf16.DecodeRune(r, low)
		if r == utf8.RuneError {
			s.fail("%s: a text has half of a surrogate pair before byte %d of the header", where, s.at)
			return
		}
	}
	out.WriteRune(r)
}

// unit reads the four hexadecimal digits of \u.
func (s *scanner) unit(where string) rune {
	if len(s.text)-s.at >= 4 {
		if n, err := strconv.ParseUint(s.text[s.at:s.at+4], 16, 16); err == nil {
			s.at += 4
			return rune(n)
		}
	}
	s.fail("%s: a text has an escape without its four digits at byte %d of the header", where, s.at)
	return 0
}

// number reads a whole number below 2^64.
func (s *scanner) number(where string) uint64 {
	if s.err != nil {
		return 0
	}
	s.spaces()
	start, n := s.at, uint64(0)
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		digit := uint64(s.text[s.at] - '0')
		if n > (1<<64-1-digit)/10 {
			s.fail("%s: a number at byte %d of the header is beyond 64 bits", where, start)
			return 0
		}
		n = 10*n + digit
		s.at++
	}
	if s.at == start || s.at < len(s.text) && strings.IndexByte(".eE+-", s.text[s.at]) >= 0 {
		s.fail("%s: %s at byte %d of the header: expected a whole number from 0 on", where, s.found(), start)
		return 0
	}
	if s.text[start] == '0' && s.at > start+1 {
		s.fail("%s: a number at byte %d of the header begins with 0", where, start)
	}
	return n
}

// maxJSONNesting bounds how deep skipped values may be nested.
const maxJSONNesting = 64

// skip skips one value of any kind.
func (s *scanner) skip(where string, depth int) {
	s.spaces()
	if s.err != nil || s.at >= len(s.text) || depth > maxJSONNesting {
		s.fail("%s: %s at byte %d: expected a value in fewer than %d levels", where, s.found(), s.at, maxJSONNesting)
		return
	}
	switch c := s.text[s.at]; c {
	case '"':
		s.string(where)
	case '{':
		s.at++
		for first := true; s.next('}', first, where); first = false {
			s.string(where)
			s.expect(':', where)
			s.skip(where, depth+1)
		}
	case '[':
		s.at++
		for first := true; s.next(']', first, where); first = false {
			s.skip(where, depth+1)
		}
	default:
		start := s.at
		for s.at < len(s.text) && (s.text[s.at] >= '0' && s.text[s.at] <= '9' || s.text[s.at] >= 'a' && s.text[s.at] <= 'z' || strings.IndexByte("+-.E", s.text[s.at]) >= 0) {
			s.at++
		}
		if !json.Valid([]byte(s.text[start:s.at])) {
			s.fail("%s: no value at byte %d", where, start)
		}
	}
}
