package header

import (
	"strconv"
	"strings"
)

// npyFields is the dictionary of a NumPy header, which is written as Python source: a type, an
// order, and a tuple of dimensions.
type npyFields struct {
	descr   string
	fortran bool
	shape   []uint64
}

// literal reads that dictionary. It knows only the part of Python's syntax that the dictionary
// needs. After the first error it returns zero values.
type literal struct {
	in    Input
	label string
	text  string
	at    int
	err   error
}

func (l *literal) fail(format string, args ...any) {
	if l.err == nil {
		l.err = l.in.wrong(l.label+format, args...)
	}
}

// skip reads a given character if it is at the current place.
func (l *literal) skip(sign byte) bool {
	for l.at < len(l.text) && strings.IndexByte(" \t\n", l.text[l.at]) >= 0 {
		l.at++
	}
	if l.err != nil || l.at >= len(l.text) || l.text[l.at] != sign {
		return false
	}
	l.at++
	return true
}

func (l *literal) expect(sign byte) {
	if !l.skip(sign) {
		l.fail("the header has no %q at byte %d", rune(sign), l.at)
	}
}

func (l *literal) string() string {
	end := byte('\'')
	if !l.skip(end) {
		end = '"'
		l.expect(end)
	}
	if l.err != nil {
		return ""
	}
	length := strings.IndexByte(l.text[l.at:], end)
	if length < 0 || strings.IndexByte(l.text[l.at:l.at+length], '\\') >= 0 {
		l.fail("a text of the header at byte %d does not end, or has an escape", l.at)
		return ""
	}
	text := l.text[l.at : l.at+length]
	l.at += length + 1
	return text
}

func (l *literal) word(word string) bool {
	l.skip(0)
	if !strings.HasPrefix(l.text[l.at:], word) {
		return false
	}
	l.at += len(word)
	return true
}

func (l *literal) flag() bool {
	if l.word("True") {
		return true
	}
	if !l.word("False") {
		l.fail("fortran_order is neither True nor False")
	}
	return false
}

func (l *literal) number() uint64 {
	l.skip(0)
	start := l.at
	for l.at < len(l.text) && l.text[l.at] >= '0' && l.text[l.at] <= '9' {
		l.at++
	}
	n, err := strconv.ParseUint(l.text[start:l.at], 10, 64)
	if err != nil {
		l.fail("the shape has no whole number of at most 64 bits at byte %d", start)
	}
	l.word("L") // Python 2 ends a long number with L
	return n
}

func (l *literal) tuple() []uint64 {
	shape := []uint64{}
	l.expect('(')
	for l.err == nil && !l.skip(')') {
		if len(shape) == MaxDimensions {
			l.fail("the shape has more than %d dimensions", MaxDimensions)
			break
		}
		shape = append(shape, l.number())
		if !l.skip(',') {
			l.expect(')')
			break
		}
	}
	return shape
}

// fields reads the dictionary and requires each of its three keys once.
func (l *literal) fields() (f npyFields) {
	seen := map[string]bool{}
	l.expect('{')
	for l.err == nil && !l.skip('}') {
		key := l.string()
		l.expect(':')
		if l.err == nil && seen[key] {
			l.fail("%s occurs twice", key)
		}
		seen[key] = true
		switch {
		case l.err != nil:
		case key == "fortran_order":
			f.fortran = l.flag()
		case key == "shape":
			f.shape = l.tuple()
		case key == "descr" && l.skip('['):
			l.err = l.in.unsupported(l.label + "the elements are records of several fields, which are not read")
		case key == "descr":
			f.descr = l.string()
		default:
			l.fail("the header has the unknown key %s", quote(key))
		}
		if !l.skip(',') {
			l.expect('}')
			break
		}
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			l.fail("%s is missing", key)
		}
	}
	if l.skip(0); l.err == nil && strings.TrimRight(l.text[l.at:], "\x00") != "" {
		l.fail("something follows the dictionary of the header")
	}
	return f
}
