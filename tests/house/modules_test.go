package house

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// named lists the modules that the design names, and pflag, whose types are in the
// interface of cobra. A further module needs a decision: add it here after the decision.
var named = []string{
	"github.com/ebitengine/purego", "github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/stretchr/testify",
	"github.com/vbauerster/mpb/v8", "golang.org/x/sys", "pgregory.net/rapid",
}

func TestModulesAreThoseOfTheDesign(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	direct := 0
	for _, line := range regexp.MustCompile(`(?m)^\s*(?:require )?(\S+\.\S+/\S+) v\S+(.*)$`).FindAllStringSubmatch(string(text), -1) {
		if line[2] == "" {
			require.Contains(t, named, line[1])
			direct++
		}
	}
	require.NotZero(t, direct)
}
