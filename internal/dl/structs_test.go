//go:build linux

package dl

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// structCalls are compiled by the C compiler, whose calling convention is the reference.
// Each function changes its own copy of the struct.
const structCalls = `
typedef struct { unsigned long long words[8]; } Handle;
static int sum(Handle *h) {
    int all = 0;
    for (int i = 0; i < 8; i++) {
        all += (i + 1) * (int)h->words[i];
        *(volatile unsigned long long *)&h->words[i] = 999;
    }
    return all;
}
int alone(Handle h) { return sum(&h); }
int before(int *out, Handle h) { *out = sum(&h); return 7; }
int between(int *out, Handle h, unsigned flags) { *out = sum(&h); return (int)flags; }
int many(int *out, int a, Handle h, int b, int c, int d) {
    *out = sum(&h);
    return a * 1000 + b * 100 + c * 10 + d;
}
`

func TestStructArgumentsEqualTheCompilers(t *testing.T) {
	if !HasStructs {
		t.Skip("the convention of this processor is not known")
	}
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	path := filepath.Join(t.TempDir(), "libstructs.so")
	compile := exec.Command(compiler, "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", path)
	compile.Stdin = strings.NewReader(structCalls)
	compile.Stderr = os.Stderr
	require.NoError(t, compile.Run())
	library, err := Open(path)
	require.NoError(t, err)
	var alone, before, between, many Function
	_, err = library.Load([]Row{
		{Name: "alone", To: &alone}, {Name: "before", To: &before}, {Name: "between", To: &between}, {Name: "many", To: &many},
	})
	require.NoError(t, err)

	words := []uintptr{1, 2, 3, 4, 5, 6, 7, 8}
	const want = 204
	require.EqualValues(t, want, CallWithStruct(&alone, nil, words, nil))
	var out int32
	require.EqualValues(t, 7, CallWithStruct(&before, []uintptr{Pointer(&out)}, words, nil))
	require.EqualValues(t, want, out)
	out = 0
	require.EqualValues(t, 5, CallWithStruct(&between, []uintptr{Pointer(&out)}, words, []uintptr{5}))
	require.EqualValues(t, want, out)
	out = 0
	require.EqualValues(t, 1234, CallWithStruct(&many, []uintptr{Pointer(&out), 1}, words, []uintptr{2, 3, 4}))
	require.EqualValues(t, want, out)
	require.Equal(t, []uintptr{1, 2, 3, 4, 5, 6, 7, 8}, words, "the called function changes a copy")
}
