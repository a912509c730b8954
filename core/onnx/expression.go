package onnx

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// expression is an integer that may depend on the lengths of a run: a number times a product of atoms. An
// atom is the name of a dimension, or a text for a result that is no product, such as the sum of two
// dimensions. Atoms are at least 0. So equal expressions are equal integers in every run; the reverse need
// not hold.
type expression struct {
	factor int64
	// atoms are sorted, each followed by separator. It is "" for a number.
	atoms string
}

const (
	separator = "\x00"
	// computed begins an atom that is not the name of a dimension. No name has it.
	computed = "\x01"
)

func constantOf(n int64) expression { return expression{factor: n} }

func atomOf(name string) expression { return expression{1, name + separator} }

// isNumber states whether the expression is the same in every run.
func (e expression) isNumber() bool { return e.atoms == "" }

// is states whether the expression is a number.
func (e expression) is(n int64) bool { return e == constantOf(n) }

// name returns the name of the dimension that the expression is.
func (e expression) name() (string, bool) {
	name, rest, _ := strings.Cut(e.atoms, separator)
	return name, e.factor == 1 && e.atoms != "" && rest == "" && !strings.HasPrefix(name, computed)
}

// String formats the expression for messages, and for the text of an atom.
func (e expression) String() string {
	parts := e.list()
	if e.factor != 1 || len(parts) == 0 {
		parts = append([]string{strconv.FormatInt(e.factor, 10)}, parts...)
	}
	return strings.ReplaceAll(strings.Join(parts, "*"), computed, "")
}

func (e expression) list() []string {
	if e.atoms == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(e.atoms, separator), separator)
}

// arithmetic computes with expressions. unknown counts the atoms that stand for something else.
type arithmetic struct{ unknown int }

// longestAtom bounds the text of an atom. A longer one gets a number instead.
const longestAtom = 400

// fresh returns an expression that is equal to no other one.
func (a *arithmetic) fresh() expression {
	a.unknown++
	return atomOf(computed + "?" + strconv.Itoa(a.unknown))
}

// opaque returns the atom for an operation.
func (a *arithmetic) opaque(x expression, sign string, y expression) expression {
	text := "(" + x.exact() + sign + y.exact() + ")"
	if len(text) > longestAtom {
		return a.fresh()
	}
	return atomOf(computed + text)
}

// exact is different for different expressions: a name may have any printable character.
func (e expression) exact() string {
	parts := []string{strconv.FormatInt(e.factor, 10)}
	for _, atom := range e.list() {
		parts = append(parts, strconv.Quote(atom))
	}
	return strings.Join(parts, "*")
}

func (a *arithmetic) times(x, y expression) expression {
	high, low := bits.Mul64(magnitude(x.factor), magnitude(y.factor))
	if high != 0 || low >= 1<<62 {
		return a.fresh()
	}
	factor := x.factor * y.factor
	if factor == 0 {
		return constantOf(0)
	}
	atoms := append(x.list(), y.list()...)
	slices.Sort(atoms)
	if len(atoms) == 0 {
		return constantOf(factor)
	}
	joined := strings.Join(atoms, separator) + separator
	if len(joined) > longestAtom {
		return a.fresh()
	}
	return expression{factor, joined}
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// plus adds. isKnown is false for a sum that may be negative in some runs and positive in others.
func (a *arithmetic) plus(x, y expression) (sum expression, isKnown bool) {
	switch {
	case x.is(0):
		return y, true
	case y.is(0):
		return x, true
	case x.atoms == y.atoms && magnitude(x.factor) < 1<<61 && magnitude(y.factor) < 1<<61:
		return scaled(x.factor+y.factor, x.atoms), true
	case x.factor < 0 || y.factor < 0:
		return expression{}, false
	case y.exact() < x.exact():
		x, y = y, x
	}
	return a.opaque(x, "+", y), true
}

// minus subtracts. isKnown is as in plus.
func (a *arithmetic) minus(x, y expression) (difference expression, isKnown bool) {
	if y.factor == math.MinInt64 {
		return expression{}, false
	}
	return a.plus(x, expression{-y.factor, y.atoms})
}

// scaled is a number times atoms.
func scaled(factor int64, atoms string) expression {
	if factor == 0 {
		return constantOf(0)
	}
	return expression{factor, atoms}
}

// over divides as integers do in ONNX. isKnown is false for a division by 0.
func (a *arithmetic) over(x, y expression) (quotient expression, isKnown bool) {
	switch {
	case y.factor == 0:
		return expression{}, false
	case x.isNumber() && y.isNumber():
		return constantOf(x.factor / y.factor), true
	case x.is(0):
		return x, true
	}
	rest := x.list()
	for _, atom := range y.list() {
		at := slices.Index(rest, atom)
		if at < 0 {
			return a.opaqueQuotient(x, y), true
		}
		rest = slices.Delete(rest, at, at+1)
	}
	if x.factor%y.factor != 0 {
		return a.opaqueQuotient(x, y), true
	}
	atoms := ""
	if len(rest) > 0 {
		atoms = strings.Join(rest, separator) + separator
	}
	return expression{x.factor / y.factor, atoms}, true
}

// opaqueQuotient is the atom of a quotient of which nothing is known but its sign.
func (a *arithmetic) opaqueQuotient(x, y expression) expression {
	if x.factor < 0 || y.factor < 0 {
		return a.fresh()
	}
	return a.opaque(x, "/", y)
}

// product multiplies all expressions.
func (a *arithmetic) product(list []expression) expression {
	all := constantOf(1)
	for _, e := range list {
		all = a.times(all, e)
	}
	return all
}

// equal compares two expressions. isKnown is false if the lengths of a run decide.
func equal(x, y expression) (isEqual, isKnown bool) {
	switch {
	case x == y:
		return true, true
	case x.isNumber() && y.isNumber():
		return false, true
	case x.isNumber() && x.factor < 0 && y.factor > 0, y.isNumber() && y.factor < 0 && x.factor > 0:
		return false, true // a length is not negative
	}
	return false, false
}
