package operator

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
)

var update = flag.Bool("update", false, "write the tables of docs/operators.md")

// The tables of docs/operators.md are those of the forms. `go test ./core/operator -run Document
// -update` writes them.
func TestDocument(t *testing.T) {
	const path = "../../docs/operators.md"
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	text := string(content)
	for _, domain := range []string{ONNX, Ferrum} {
		begin := fmt.Sprintf("<!-- operators %q -->\n", domain)
		head, rest, has := strings.Cut(text, begin)
		require.True(t, has, begin)
		_, tail, has := strings.Cut(rest, "<!-- end -->")
		require.True(t, has, begin)
		text = head + begin + tableOf(t, domain) + "<!-- end -->" + tail
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return
	}
	require.Equal(t, text, string(content), "docs/operators.md is stale: go test ./core/operator -run Document -update")
}

func tableOf(t *testing.T, domain string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| operator | since | inputs | outputs | attributes | data types |\n|---|---|---|---|---|---|\n")
	for _, name := range Names(domain) {
		s, err := Find(domain, name, 0)
		require.NoError(t, err)
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s |\n", name, s.Since, listed(s.Inputs), listed(s.Outputs), attributesOf(s), typesOf(s))
	}
	return b.String()
}

// listed lists parameters: an optional one with a question mark, a variadic one with dots.
func listed(parameters []Parameter) string {
	var names []string
	for _, p := range parameters {
		name := "`" + p.Name + "`"
		switch {
		case p.IsOptional:
			name += "?"
		case p.IsVariadic:
			name += "..."
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func attributesOf(s *Schema) string {
	var texts []string
	for _, a := range s.Attributes {
		text := "`" + a.Name + "`"
		switch value := a.Default.(type) {
		case nil:
			if a.IsRequired {
				text += " (required)"
			}
		case float64:
			text += fmt.Sprintf(" = %v", float32(value))
		default:
			text += fmt.Sprintf(" = %v", value)
		}
		switch {
		case a.Kind == Ints:
			text += ", a list"
		case a.Kind == Text:
			text += ": " + strings.Join(a.Choices, ", ")
		case a.Kind == DataType:
			text += ": " + setsOf(a.Types)
		case a.Most > 1 && a.Most < math.MaxInt32:
			text += fmt.Sprintf(": %d to %d", a.Least, a.Most)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

// typesOf lists the types of each variable.
func typesOf(s *Schema) string {
	var texts []string
	seen := map[string]bool{}
	for _, p := range append(append([]Parameter{}, s.Inputs...), s.Outputs...) {
		if seen[p.Variable] {
			continue
		}
		seen[p.Variable] = true
		var names []string
		for _, q := range append(append([]Parameter{}, s.Inputs...), s.Outputs...) {
			if q.Variable == p.Variable {
				names = append(names, q.Name)
			}
		}
		texts = append(texts, strings.Join(names, ", ")+": "+setsOf(p.Types))
	}
	return strings.Join(texts, "; ")
}

// setsOf lists types, with one name for those that often occur together.
func setsOf(types Types) string {
	var names []string
	for _, set := range []struct {
		name  string
		types Types
	}{{"floats", floats}, {"integers", integers}} {
		if types&set.types == set.types {
			names, types = append(names, set.name), types&^set.types
		}
	}
	for _, kind := range types.List() {
		names = append(names, kind.String())
	}
	return strings.Join(names, " ")
}

// The sets of the document have the types that it states.
func TestDocumentedSets(t *testing.T) {
	require.Equal(t, []dtype.DType{dtype.F32, dtype.F16, dtype.BF16, dtype.F64}, Types(floats).List())
	require.Len(t, Types(integers).List(), 8)
}
