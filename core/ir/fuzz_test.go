package ir

import (
	"os"
	"path/filepath"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/tests/mutation"
)

// maxFuzzedBytes bounds what reading, checking and inferring a text of a few kilobytes allocates.
const maxFuzzedBytes = 64 << 20

// seeds adds valid models and texts that are nearly valid.
func seeds(f *testing.F, add func(text string)) {
	for _, m := range []*Model{small(), full(), chain(3)} {
		text, err := m.JSON()
		require.NoError(f, err)
		add(string(text))
	}
	paths, err := filepath.Glob("testdata/*.json")
	require.NoError(f, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		add(string(text))
	}
	add(`{"metadata":{"name":"","version":"","model_type":"","architecture_family":"custom"},"architecture":{"name":"","dimensions":{"vocab_size":0,"hidden_size":0,"num_layers":0,"num_heads":0,"max_sequence_length":0}},"parameters":[],"layers":[],"graph":{"inputs":[],"outputs":[],"nodes":[],"edges":[]}}`)
	add(`{"metadata":{"name":"a","name":"b"}}`)
	add(`{"graph":[[[[[[[[`)
}

// allocated returns the bytes that the process has allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// typed checks that an error has one of the codes.
func typed(t *testing.T, err error, codes ...device.Code) {
	t.Helper()
	var typed *device.Error
	require.ErrorAs(t, err, &typed)
	require.Contains(t, codes, typed.Code)
	require.Less(t, len(err.Error()), 2000)
}

// A text is rejected with a typed error, or its export is read as the same model.
func FuzzParse(f *testing.F) {
	seeds(f, func(text string) { f.Add(text) })
	f.Fuzz(mutation.Also(func(t *testing.T, text string) {
		before := allocated()
		m, err := Parse([]byte(text))
		if err != nil {
			typed(t, err, device.CodeInvalidFormat, device.CodeUnsupported)
			return
		}
		first, err := m.JSON()
		require.NoError(t, err, "what was read can be written")
		again, err := Parse(first)
		require.NoError(t, err)
		second, err := again.JSON()
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
		require.Less(t, allocated()-before, uint64(maxFuzzedBytes))
	}))
}

// Validate ends for any model, and agrees with Resolve: a model without an issue that stops a build can
// be resolved, and one that cannot has such an issue.
func FuzzValidate(f *testing.F) {
	seeds(f, func(text string) { f.Add(text) })
	f.Fuzz(mutation.Also(func(t *testing.T, text string) {
		m, err := Parse([]byte(text))
		if err != nil {
			return
		}
		before := allocated()
		isStopped := false
		for _, i := range m.Validate() {
			isStopped = isStopped || i.Severity > Warning
			require.NotEmpty(t, i.ConfigPath)
			require.NotEmpty(t, i.Description)
			require.Less(t, len(i.Description), 2000)
		}
		_, err = m.Resolve()
		if err != nil {
			typed(t, err, device.CodeInvalidConfig)
			require.True(t, isStopped)
		}
		require.Less(t, allocated()-before, uint64(maxFuzzedBytes))
	}))
}

// Infer returns possible shapes or a typed error for any lengths.
func FuzzInfer(f *testing.F) {
	for _, lengths := range [][2]uint64{{1, 1}, {3, 0}, {1 << 40, 1 << 40}, {1<<63 - 1, 2}, {1 << 63, 1}} {
		seeds(f, func(text string) { f.Add(text, lengths[0], lengths[1]) })
	}
	f.Fuzz(func(t *testing.T, text string, first, second uint64) {
		infer := func(t *testing.T, text string) {
			m, err := Parse([]byte(text))
			if err != nil {
				return
			}
			dims := map[string]uint64{}
			if g, err := m.Resolve(); err == nil {
				for i, name := range g.DynamicDims() {
					dims[name] = []uint64{first, second}[i%2]
				}
			}
			before := allocated()
			s, err := m.Infer(dims)
			require.Less(t, allocated()-before, uint64(maxFuzzedBytes))
			if err != nil {
				typed(t, err, device.CodeInvalidConfig, device.CodeInvalidArgument, device.CodeOverflow)
				return
			}
			require.Len(t, s.Graph.Order, len(m.Graph.Nodes))
			for _, n := range s.Nodes {
				for _, v := range n.Outputs {
					if !v.IsAbsent {
						_, _, wrong := sizeOf(v.Shape, v.Type)
						require.Empty(t, wrong)
					}
				}
			}
		}
		mutation.Also(infer)(t, text)
	})
}
