package house

import (
	"go/ast"
	"os"
	"regexp"
	"slices"
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
		if !slices.Contains([]string{"core", "drivers", "engines", "internal"}, strings.Split(p.room(), "/")[0]) {
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
			_, file := parse(t, path)
			if startsGoroutines(file) {
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

// A test that the short run of the race detector skips starts no goroutine.
func TestTestsThatTheRaceDetectorSkipsStartNoGoroutine(t *testing.T) {
	skipped := 0
	for _, p := range packagesOf(t) {
		for _, path := range p.files(true) {
			if !strings.HasSuffix(path, "_test.go") {
				continue
			}
			_, file := parse(t, path)
			for _, declared := range file.Decls {
				f, isFunction := declared.(*ast.FuncDecl)
				if isFunction && names(f, "devicetest", "SkipShortRace") {
					skipped++
					assert.False(t, startsGoroutines(f), "%s: %s starts a goroutine", path, f.Name.Name)
				}
			}
		}
	}
	require.GreaterOrEqual(t, skipped, 10)
}

// startsGoroutines states whether a part of a file has a go statement or calls device.Go.
func startsGoroutines(part ast.Node) (starts bool) {
	ast.Inspect(part, func(n ast.Node) bool {
		_, isGo := n.(*ast.GoStmt)
		starts = starts || isGo
		return true
	})
	return starts || names(part, "device", "Go")
}

// names states whether a part of a file names a function of a package.
func names(part ast.Node, pkg, function string) (isNamed bool) {
	ast.Inspect(part, func(n ast.Node) bool {
		if of, isSelector := n.(*ast.SelectorExpr); isSelector {
			x, isName := of.X.(*ast.Ident)
			isNamed = isNamed || isName && x.Name == pkg && of.Sel.Name == function
		}
		return true
	})
	return isNamed
}
