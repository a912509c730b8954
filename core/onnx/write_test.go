package onnx_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/onnx"
	"ferrum_mem/core/weights"
)

func example(t *testing.T) *ir.Model {
	t.Helper()
	text, err := os.ReadFile("../ir/testdata/example.json")
	require.NoError(t, err)
	m, err := ir.Parse(text)
	require.NoError(t, err)
	return m
}

// counted writes the numbers 0, 1, 2 ... as the elements of a parameter.
func counted(p *ir.Parameter, to io.Writer) error {
	all := int64(1)
	for _, length := range p.Shape {
		all *= length
	}
	var bytes []byte
	for i := range all {
		bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(float32(i)))
	}
	_, err := to.Write(bytes)
	return err
}

func namesIn(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A file that is written has the elements of the parameters, a matrix of a product with its dimensions
// exchanged, and the definition is the same after it is read.
func TestWrites(t *testing.T) {
	for _, isExternal := range []bool{false, true} {
		m, folder := example(t), t.TempDir()
		path := filepath.Join(folder, "example.onnx")
		o := onnx.WriteOptions{Elements: counted, IsExternal: isExternal}
		require.NoError(t, onnx.Write(context.Background(), path, m, o))
		want := []string{"example.onnx"}
		if isExternal {
			want = append(want, "example.onnx.data")
		}
		assert.Equal(t, want, namesIn(t, folder))
		f, err := onnx.Open(path)
		require.NoError(t, err)
		for name, element := range map[string]func(at int) float32{
			"table":             func(at int) float32 { return float32(at) },
			"weight.transposed": func(at int) float32 { return float32(at%4*8 + at/4) },
		} {
			found, err := f.Source.Elements(weights.Spec{Name: name}, 1<<20)
			require.NoError(t, err)
			for at := range len(found) / 4 {
				require.Equal(t, element(at), math.Float32frombits(binary.LittleEndian.Uint32(found[4*at:])), "%s %d", name, at)
			}
			tensor, err := f.Source.Find(name)
			require.NoError(t, err)
			if isExternal {
				assert.Zero(t, tensor.Offset%4096)
			}
		}
		again, err := f.Definition()
		require.NoError(t, err)
		assert.Empty(t, again.Validate())
		assert.Equal(t, m.Graph.Inputs, again.Graph.Inputs)
		assert.Equal(t, m.Graph.Outputs, again.Graph.Outputs)
		assert.Equal(t, m.Architecture, again.Architecture)
		assert.JSONEq(t, `["batch","sequence"]`, string(again.Graph.Nodes[0].Metadata["dims"]))
		err = onnx.Write(context.Background(), path, m, o)
		require.ErrorIs(t, err, device.CodeAlreadyExists)
		assert.Equal(t, want, namesIn(t, folder))
		require.NoError(t, f.Close())
	}
}

// A model with more bytes of elements than a file may have gets a second file, at exactly the next byte.
func TestLargeModelsGetASecondFile(t *testing.T) {
	m := example(t)
	g, err := onnx.FromDefinition(m)
	require.NoError(t, err)
	inside := uint64(0)
	for _, of := range g.Initializers {
		inside += of.SizeBytes
	}
	for most, want := range map[uint64][]string{inside: {"example.onnx"}, inside - 1: {"example.onnx", "example.onnx.data"}, 0: {"example.onnx"}} {
		folder := t.TempDir()
		path := filepath.Join(folder, "example.onnx")
		require.NoError(t, onnx.Write(context.Background(), path, m, onnx.WriteOptions{Elements: counted, InsideBytes: most}))
		require.Equal(t, want, namesIn(t, folder), "at most %d bytes", most)
		f, err := onnx.Open(path)
		require.NoError(t, err)
		table, err := f.Source.Find("table")
		require.NoError(t, err)
		assert.Equal(t, len(want) > 1, table.External != nil)
		require.NoError(t, f.Close())
	}
}

// The limit without a setting is that of protocol buffers. The test stops at the first element, so it writes
// nothing of the 2 GiB.
func TestModelsAboveTheLimitOfProtocolBuffers(t *testing.T) {
	text, err := os.ReadFile("../ir/testdata/example.json")
	require.NoError(t, err)
	const row, others = 32, 4096
	for bytes, isExternal := range map[int64]bool{onnx.MaxInsideBytes - others: false, onnx.MaxInsideBytes + row: true} {
		m, err := ir.Parse([]byte(strings.ReplaceAll(string(text), "[16,8]", fmt.Sprintf("[%d,8]", bytes/row))))
		require.NoError(t, err)
		stopped, folder, names := errors.New("stopped"), t.TempDir(), ""
		err = onnx.Write(context.Background(), filepath.Join(folder, "example.onnx"), m, onnx.WriteOptions{Elements: func(*ir.Parameter, io.Writer) error {
			names = strings.Join(namesIn(t, folder), " ")
			return stopped
		}})
		if errors.Is(err, device.CodeResourceExhausted) {
			t.Skipf("the disk has no room for a file of 2 GiB: %v", err)
		}
		require.ErrorIs(t, err, stopped)
		assert.Equal(t, isExternal, strings.Contains(names, "example.onnx.data."), names)
		assert.Contains(t, names, "example.onnx.")
		assert.Empty(t, namesIn(t, folder))
	}
}

// After each failure of a write, no new file exists, and an old file is as before.
func TestFailedWritesLeaveNothing(t *testing.T) {
	m := example(t)
	broken := errors.New("no elements")
	for _, isExternal := range []bool{false, true} {
		for failing := range len(m.Parameters) {
			folder := t.TempDir()
			path := filepath.Join(folder, "example.onnx")
			require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
			calls := 0
			err := onnx.Write(context.Background(), path, m, onnx.WriteOptions{IsExternal: isExternal, Replace: true, Elements: func(p *ir.Parameter, to io.Writer) error {
				if calls++; calls > failing {
					return broken
				}
				return counted(p, to)
			}})
			require.ErrorIs(t, err, broken)
			assert.Equal(t, []string{"example.onnx"}, namesIn(t, folder))
			old, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, "old", string(old))
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		folder := t.TempDir()
		err := onnx.Write(ctx, filepath.Join(folder, "example.onnx"), m, onnx.WriteOptions{IsExternal: isExternal, Elements: counted})
		require.ErrorIs(t, err, device.CodeCancelled)
		assert.Empty(t, namesIn(t, folder))
	}
	folder := t.TempDir()
	err := onnx.Write(context.Background(), filepath.Join(folder, "example.onnx"), m, onnx.WriteOptions{})
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	require.ErrorContains(t, err, `"table": the weights do not have it`)
	err = onnx.Write(context.Background(), filepath.Join(folder, "no", "example.onnx"), m, onnx.WriteOptions{Elements: counted})
	require.ErrorIs(t, err, device.CodeNotFound)
	assert.Empty(t, namesIn(t, folder))
}

// Files that may not grow further stand for a full disk: each size of a file is the last possible one.
func TestAFullDiskLeavesNothing(t *testing.T) {
	folder := os.Getenv("FERRUM_TEST_FULL_DISK")
	if folder == "" {
		child := exec.Command(os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), "FERRUM_TEST_FULL_DISK="+t.TempDir())
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "PASS: "+t.Name())
		return
	}
	signal.Ignore(unix.SIGXFSZ)
	m := example(t)
	failures := 0
	for _, isExternal := range []bool{false, true} {
		for size := uint64(1); size < 8192; size += 97 {
			var whole unix.Rlimit
			require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &whole))
			require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: whole.Max}))
			err := onnx.Write(context.Background(), filepath.Join(folder, "example.onnx"), m, onnx.WriteOptions{IsExternal: isExternal, Replace: true, Elements: counted})
			require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &whole))
			if err == nil {
				require.NoError(t, os.Remove(filepath.Join(folder, "example.onnx")))
				if isExternal {
					require.NoError(t, os.Remove(filepath.Join(folder, "example.onnx.data")))
				}
				continue
			}
			failures++
			require.ErrorIs(t, err, device.CodeResourceExhausted)
			require.Empty(t, namesIn(t, folder))
		}
	}
	require.Greater(t, failures, 50)
}
