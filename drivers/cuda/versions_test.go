package cuda

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/internal/dl"
)

// lackingIn returns the functions that a driver of this version lacks, according to the
// versions in the table.
func lackingIn(version int32) map[dl.Group][]string {
	lacking := map[dl.Group][]string{}
	for _, row := range new(api).table() {
		if row.Since > version {
			lacking[row.Group] = append(lacking[row.Group], row.Name)
		}
	}
	return lacking
}

// The driver of each generation has exactly the functions of the table that were added in
// its version or earlier: a later driver still has the forms that later forms replace.
// Every generation has all required functions.
func TestEachGenerationLacksExactlyTheLaterFunctions(t *testing.T) {
	for _, generation := range generations {
		t.Run(generation, func(t *testing.T) {
			if !alone(t, envLibrary+"="+simulated(generation)) {
				return
			}
			version, err := strconv.Atoi(generation)
			require.NoError(t, err)
			d := testDriver(t)
			require.EqualValues(t, version, d.version)
			require.Equal(t, lackingIn(d.version), d.lacking)
			require.Empty(t, d.lacking[dl.Required])
		})
	}
}
