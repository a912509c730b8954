package cuda

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/drivers/internal/dl"
)

// droppedBy reads the forms of calls that the simulated driver of a version no longer
// exports.
func droppedBy(t *testing.T, version int32) map[string]bool {
	list, err := os.ReadFile("../../tests/simcuda/dropped.def")
	require.NoError(t, err)
	dropped := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^DROPPED\((\w+), (\d+)\)$`).FindAllSubmatch(list, -1) {
		since, err := strconv.Atoi(string(line[2]))
		require.NoError(t, err)
		dropped[string(line[1])] = since <= int(version)
	}
	require.NotEmpty(t, dropped)
	return dropped
}

// lackingIn returns the functions that a driver of this version lacks, according to the
// versions in the table.
func lackingIn(version int32, dropped map[string]bool) map[dl.Group][]string {
	lacking := map[dl.Group][]string{}
	for _, row := range new(api).table() {
		if row.Since > version || dropped[row.Name] {
			lacking[row.Group] = append(lacking[row.Group], row.Name)
		}
	}
	return lacking
}

// The driver of each generation has exactly the functions of the table that were added in
// its version or earlier and were not removed. Every generation has all required functions.
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
			require.Equal(t, lackingIn(d.version, droppedBy(t, d.version)), d.lacking)
			require.Empty(t, d.lacking[dl.Required])
		})
	}
}
