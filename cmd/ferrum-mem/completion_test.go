package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/rangealloc"
)

// offered returns the values that a shell would offer for the last word, without
// descriptions, and whether it may offer files as well.
func offered(t *testing.T, words ...string) (values []string, files bool) {
	o := invoke(t, append([]string{cobra.ShellCompRequestCmd}, words...)...)
	require.Equal(t, exitDone, o.status, o.err)
	lines := strings.Split(strings.TrimSuffix(o.out, "\n"), "\n")
	for _, line := range lines[:len(lines)-1] {
		value, _, _ := strings.Cut(line, "\t")
		values = append(values, value)
	}
	return values, lines[len(lines)-1] == ":0"
}

func TestCompletion(t *testing.T) {
	cleanEnvironment(t)
	t.Setenv("FERRUM_HOST_DEVICES", "2")
	for _, c := range []struct {
		words []string
		want  []string
		files bool
	}{
		{[]string{"re"}, []string{"replay"}, false},
		{[]string{"replay", "--device", ""}, []string{"cpu:0", "cpu:1"}, false},
		{[]string{"fit", "--device="}, []string{"cpu:0", "cpu:1"}, false},
		{[]string{"replay", "--strategy", ""}, rangealloc.Names(), false},
		{[]string{"replay", "--mode", ""}, []string{"contiguous", "paged", "lifetimes"}, false},
		{[]string{"replay", "--format", ""}, []string{"auto", "azure", "lifetimes", "mooncake"}, false},
		{[]string{"replay", "--policy", ""}, []string{"static", "elastic", "both"}, false},
		{[]string{"fit", "--kv-dtype", ""}, []string{"f32", "f16", "bf16", "f8", "int8", "int4"}, false},
		{[]string{"fit", "--attention", ""}, []string{"fused", "eager"}, false},
		{[]string{"fit", "--logits", ""}, []string{"last", "all"}, false},
		{[]string{"replay", "--limit", ""}, nil, false},
		{[]string{"replay", "--report", ""}, nil, true},
		{[]string{"doctor", "--snapshot", ""}, nil, true},
		{[]string{"plan", ""}, nil, true},
		{[]string{"plan", "--picture", ""}, nil, true},
		{[]string{"plan", "--limit", ""}, nil, false},
		{[]string{"replay", ""}, nil, true},
		{[]string{"fit", ""}, nil, true},
		{[]string{"weights", "ins"}, []string{"inspect"}, false},
		{[]string{"weights", "inspect", ""}, nil, true},
		{[]string{"weights", "convert", "--format", ""}, []string{"safetensors", "gguf", "numpy", "raw"}, false},
		{[]string{"weights", "load", "--dtype", ""}, []string{"f32", "f16", "bf16", "f64", "f8_e4m3", "f8_e5m2", "f8_e8m0", "f4_e2m1"}, false},
		{[]string{"graph", ""}, nil, true},
		{[]string{"graph", "--dim", ""}, nil, false},
		{[]string{"run", ""}, nil, true},
		{[]string{"run", "--ids", ""}, nil, false},
		{[]string{"run", "--pool", "m"}, []string{"model", "mean", "cls", "max"}, false},
		{[]string{"devices", ""}, nil, false},
		{[]string{"completion", ""}, []string{"bash", "fish", "zsh"}, false},
	} {
		values, files := offered(t, c.words...)
		assert.Equal(t, c.want, values, c.words)
		assert.Equal(t, c.files, files, "files for %v", c.words)
	}
	t.Setenv("FERRUM_HOST_DEVICES", "none")
	o := invoke(t, cobra.ShellCompRequestCmd, "replay", "--device", "")
	assert.Equal(t, ":1\n", o.out, "without devices nothing is proposed")
}

// Every flag with a value takes a file, or offers its values, or states that it takes no
// file.
func TestCompletionKnowsEveryFlag(t *testing.T) {
	for _, cmd := range verbs(newRoot(streams{})) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Value.Type() == "bool" {
				return
			}
			_, files := offered(t, append(strings.Fields(verbOf(cmd)), "--"+flag.Name, "")...)
			assert.Equal(t, slices.Contains(flagsOfFiles, flag.Name), files, "%s --%s", verbOf(cmd), flag.Name)
		})
	}
}

// A real shell runs the script that make install installs.
func TestCompletionInBash(t *testing.T) {
	cleanEnvironment(t)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	folder := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	program := "#!" + bash + "\nFERRUM_TEST_AS_COMMAND=1 exec '" + self + "' \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "ferrum-mem"), []byte(program), 0o755))
	script := invoke(t, "completion", "bash")
	require.Equal(t, exitDone, script.status)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "script"), []byte(script.out), 0o600))
	cmd := exec.Command(bash, "--norc", "-c", `
# What bash-completion and a shell in which somebody types bring.
compopt() { :; }
_get_comp_words_by_ref() {
    words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
    cur=${words[cword]} prev=${words[cword - 1]}
}
source "$1/script"
PATH=$1:$PATH
COMP_LINE='ferrum-mem replay --strategy ' COMP_POINT=29 COMP_WORDS=(ferrum-mem replay --strategy '') COMP_CWORD=3 COMP_TYPE=9
__start_ferrum-mem
printf '%s\n' "${COMPREPLY[@]%% *}"`, "bash", folder)
	cmd.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.ElementsMatch(t, rangealloc.Names(), strings.Fields(string(out)))
}

func TestCompletionRequiresAShell(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		o := invoke(t, "completion", shell)
		assert.Equal(t, exitDone, o.status)
		assert.Contains(t, o.out, "ferrum-mem")
	}
	for _, args := range [][]string{{"completion"}, {"completion", "tcsh"}, {"completion", "bash", "zsh"}} {
		assert.Equal(t, exitUsage, invoke(t, args...).status, args)
	}
}
