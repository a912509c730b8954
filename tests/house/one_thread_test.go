package house

import (
	"go/ast"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The Makefile selects the packages for the race detector by a pattern in the text of their
// tests. The pattern must match every package whose tests start goroutines.
func TestTestsWithGoroutinesRunWithTheRaceDetector(t *testing.T) {
	text, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^GOROUTINES := (.+)$`).FindSubmatch(text)
	require.NotNil(t, found, "the Makefile has the pattern")
	pattern := regexp.MustCompile("(?m)" + string(found[1]))
	concurrent := 0
	for _, p := range packagesOf(t) {
		if room := p.room(); !strings.HasPrefix(room, "core/") && !strings.HasPrefix(room, "drivers/") {
			continue
		}
		starts, matches := "", false
		for _, path := range p.files(true) {
			if !strings.HasSuffix(path, "_test.go") {
				continue
			}
			source, err := os.ReadFile(path)
			require.NoError(t, err)
			matches = matches || pattern.Match(source)
			if startsGoroutines(t, path) {
				starts = path
			}
		}
		if starts != "" {
			concurrent++
			assert.True(t, matches, "%s starts goroutines, and no test of its package matches %s", starts, pattern)
		}
	}
	require.Greater(t, concurrent, 10)
}

// startsGoroutines states whether a file has a go statement or calls device.Go.
func startsGoroutines(t *testing.T, path string) (starts bool) {
	_, file := parse(t, path)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.SelectorExpr:
			x, named := n.X.(*ast.Ident)
			starts = starts || named && x.Name == "device" && n.Sel.Name == "Go"
		}
		return true
	})
	return starts
}
