//go:build linux

package dl

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// library compiles a library with these functions. Each returns the index of its name in
// the list.
func library(t *testing.T, functions ...string) string {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	path := filepath.Join(t.TempDir(), "libtry.so")
	var text strings.Builder
	for i, name := range functions {
		fmt.Fprintf(&text, "int %s(void) { return %d; }\n", name, i)
	}
	compile := exec.Command(compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", path)
	compile.Stdin = strings.NewReader(text.String())
	out, err := compile.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

func TestTheFirstLoadableNameIsUsed(t *testing.T) {
	good, other := library(t, "one"), library(t, "two")
	broken := filepath.Join(t.TempDir(), "libbroken.so")
	require.NoError(t, os.WriteFile(broken, []byte("no library"), 0o600))

	found, err := Open("/nowhere/libtry.so", broken, good, other)
	require.NoError(t, err, "a broken library does not end the search")
	require.Equal(t, good, found.Name)
	_, has := found.Symbol("two")
	require.False(t, has)

	_, err = Open("/nowhere/libtry.so", broken)
	requireAbsence(t, device.AbsenceLibraryUnusable, err, broken)
	_, err = Open("/nowhere/libtry.so", "/nowhere/else.so")
	requireAbsence(t, device.AbsenceLibraryNotFound, err, "/nowhere/libtry.so, /nowhere/else.so")
}

func requireAbsence(t *testing.T, absence device.Absence, err error, says string) {
	t.Helper()
	var failure *Failure
	require.ErrorAs(t, err, &failure)
	require.Equal(t, absence, failure.Absence)
	require.Contains(t, failure.Message, says)
}

func TestATableIsFilledOrMissingFunctionsAreNamed(t *testing.T) {
	found, err := Open(library(t, "zero", "one", "two"))
	require.NoError(t, err)
	var zero, one, two, more, none Function
	lacking, err := found.Load([]Row{
		{Name: "zero", To: &zero}, {Name: "one", To: &one, Group: 1}, {Name: "two", To: &two, Group: 2},
		{Name: "more", To: &more, Group: 2}, {Name: "none", To: &none, Group: 3},
	})
	require.NoError(t, err)
	require.Equal(t, map[Group][]string{2: {"more"}, 3: {"none"}}, lacking)
	require.True(t, zero.Found() && one.Found() && two.Found())
	require.False(t, more.Found() || none.Found())
	require.EqualValues(t, 2, two.Call())
	require.Equal(t, "more", more.Name, "a missing function is named too")

	_, err = found.Load([]Row{{Name: "zero", To: &zero}, {Name: "zero_v2", To: &one}, {Name: "absent", To: &two}, {Name: "more", To: &more, Group: 2}})
	requireAbsence(t, device.AbsenceSymbolMissing, err, "lacks absent, zero_v2")
	require.NotContains(t, err.Error(), "more")

	var address uintptr
	require.NoError(t, found.Require(map[string]*uintptr{"one": &address}))
	require.EqualValues(t, 1, Call(address))
	requireAbsence(t, device.AbsenceSymbolMissing, found.Require(map[string]*uintptr{"one": &address, "four": &address}), "lacks four")
}
