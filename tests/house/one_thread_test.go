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

// The rooms that the Makefile leaves out of the run with the race detector know
// neither goroutines nor locks, their tests neither.
func TestRoomsWithoutRacesHaveOneThread(t *testing.T) {
	text, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	named := regexp.MustCompile(`(?m)^ONE_THREAD := (\S+)$`).FindSubmatch(text)
	require.NotNil(t, named, "the Makefile names the rooms")
	looked := 0
	for _, p := range packagesOf(t) {
		room, inCore := strings.CutPrefix(roomOf(p.room()), "core/")
		if !inCore || !slices.Contains(strings.Split(string(named[1]), "|"), room) {
			continue
		}
		for _, path := range p.files(true) {
			set, file := parse(t, path)
			looked++
			for _, imported := range file.Imports {
				assert.NotContains(t, []string{`"sync"`, `"sync/atomic"`}, imported.Path.Value, path)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if _, is := n.(*ast.GoStmt); is {
					assert.Fail(t, "starts a goroutine", set.Position(n.Pos()))
				}
				return true
			})
		}
	}
	require.NotZero(t, looked)
}
