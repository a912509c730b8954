package reference

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/operator"
)

// exceptions returns the cases of a list in testdata with the reason of each.
func exceptions(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	listed := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			name, reason, _ := strings.Cut(line, " ")
			require.NotEmpty(t, reason, "%s has no reason", name)
			listed[name] = reason
		}
	}
	return listed
}

// Every case of ONNX for an operator passes, or it is in onnx_exceptions.txt with the reason. A
// listed case that passes is an error too.
func TestCasesOfONNX(t *testing.T) {
	t.Parallel()
	version, cases, data := load(t, python(t, "onnx", "numpy"), "onnx_cases.py", operator.Names(operator.ONNX)...)
	listed := exceptions(t, "onnx_exceptions.txt")
	seen, passed := map[string]bool{}, 0
	for _, c := range cases {
		seen[c.Operator] = true
		err := c.check(t, data)
		_, isListed := listed[c.Name]
		switch {
		case isListed:
			assert.Error(t, err, "%s passes and is listed as an exception", c.Name)
			delete(listed, c.Name)
		case assert.NoError(t, err, c.Name):
			passed++
		}
	}
	assert.Empty(t, listed, "exceptions that are not cases")
	for _, name := range operator.Names(operator.ONNX) {
		assert.True(t, seen[name], "ONNX has no case of %s", name)
	}
	t.Logf("onnx %s: %d of %d cases pass", version, passed, len(cases))
}
