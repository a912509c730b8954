package cuda

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// lackingIn is what a driver of a version does not have, by the versions in the table.
func lackingIn(version int32) map[string][]string {
	lacking := map[string][]string{}
	for _, row := range new(api).table() {
		if row.Since > version {
			lacking[row.Group] = append(lacking[row.Group], row.Name)
		}
	}
	return lacking
}

// A driver of each generation has exactly those functions of the table that are there
// since its version or an earlier one: a needed one is there in all of them.
func TestFunctionsOfEachGeneration(t *testing.T) {
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
			require.Empty(t, d.lacking[""])
		})
	}
}
