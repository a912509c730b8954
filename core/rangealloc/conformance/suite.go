package conformance

import (
	"testing"

	"ferrum_mem/core/rangealloc"
)

type suite struct {
	make    Make
	options Options
}

func (s suite) pair(t *testing.T, c rangealloc.Config) *pair {
	t.Helper()
	p, err := newPair(s.make, c, s.options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.strategy.Close)
	return p
}

// fataler is implemented by testing.T and rapid.T.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// must ends a test in which the strategy was wrong.
func must(t fataler, wrong error) {
	t.Helper()
	if wrong != nil {
		t.Fatal(wrong)
	}
}
