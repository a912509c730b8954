package main

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/library"
)

// The manual contains every subcommand with every flag, and every exit status.
func TestManual(t *testing.T) {
	o := invoke(t, "manual")
	require.Equal(t, exitDone, o.status)
	assert.True(t, strings.HasPrefix(o.out, `.TH FERRUM\-MEM 1 "" "ferrum_mem `+library.Version+`"`))
	for _, cmd := range verbs(newRoot(streams{})) {
		_, section, found := strings.Cut(o.out, "\n.SS "+verbOf(cmd)+"\n")
		require.True(t, found, verbOf(cmd))
		section, _, _ = strings.Cut(section, "\n.S")
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			assert.Contains(t, section, "\n.B "+roff("--"+flag.Name), "%s --%s", verbOf(cmd), flag.Name)
		})
	}
	for _, status := range []int{exitDone, exitNo, exitUsage, exitMachine, exitInterrupted} {
		assert.Contains(t, o.out, "\n.B "+strconv.Itoa(status)+"\n")
	}
	assert.Contains(t, o.out, `\fBferrum\-mem fit\fR CONFIG|DIR|FILE [flags]`)
	assert.Contains(t, o.out, `\fBferrum\-mem weights inspect\fR PATH... [flags]`)
}

// man reports no warning and shows the text.
func TestManualRendersWithoutWarnings(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff here")
	}
	cmd := exec.Command(groff, "-man", "-Tutf8", "-ww", "-P-cbou")
	cmd.Stdin = strings.NewReader(invoke(t, "manual").out)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	shown, err := cmd.Output()
	require.NoError(t, err)
	assert.Empty(t, complaints.String())
	words := strings.Join(strings.Fields(string(shown)), " ")
	for _, want := range []string{"--report=FILE", "ferrum-mem fit CONFIG|DIR|FILE [flags]", "130 Interrupted.", "source <(ferrum-mem completion bash)"} {
		assert.Contains(t, words, want)
	}
}

func TestRoff(t *testing.T) {
	assert.Equal(t, "\\&.5 \\-x\n\\&'a \\e", roff(".5 -x\n'a \\"))
}
