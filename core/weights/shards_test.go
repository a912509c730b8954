package weights_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

func TestConvertsToSeveralFiles(t *testing.T) {
	m := newModel(t, 300<<10, 200<<10, 1, 3<<20, 600<<10, 300<<10)
	s := m.open(t)
	background, folder := context.Background(), t.TempDir()
	path := filepath.Join(folder, "model.safetensors")
	var written []string
	options := weights.ConvertOptions{
		Format: header.Safetensors, MaxFileBytes: 1 << 20, Texts: map[string]string{"format": "pt"},
		Written: func(paths []string) { written = paths },
	}
	require.NoError(t, s.Convert(background, all(t, s), path, options))
	names := []string{
		"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors",
		"model.safetensors.index.json",
	}
	assert.Equal(t, names, left(t, folder))
	var base []string
	for _, path := range written {
		base = append(base, filepath.Base(path))
		if info, err := os.Stat(path); assert.NoError(t, err) && base[len(base)-1] != names[1] {
			assert.LessOrEqual(t, info.Size(), int64(1<<20), "all but the file of the tensor of 3 MiB")
		}
	}
	assert.Equal(t, names, base)
	for _, opened := range []string{folder, written[3]} {
		got, again := contents(t, opened, weights.Options{}, nil)
		assert.Equal(t, m.bytes, got)
		assert.Equal(t, map[string]string{"format": "pt"}, again.Metadata().Extra.Texts)
		assert.Equal(t, 3, again.Files())
	}
	text, err := os.ReadFile(written[3])
	require.NoError(t, err)
	var index struct {
		Metadata struct {
			Total int `json:"total_size"`
		} `json:"metadata"`
		FileOf map[string]string `json:"weight_map"`
	}
	require.NoError(t, json.Unmarshal(text, &index))
	assert.Equal(t, 1400<<10+3<<20+1, index.Metadata.Total)
	assert.Equal(t, map[string]string{
		m.order[0]: names[0], m.order[1]: names[0], m.order[2]: names[0], m.order[3]: names[1], m.order[4]: names[2], m.order[5]: names[2],
	}, index.FileOf)

	// A conversion into one file writes no index. An index that exists already does not belong to
	// it.
	one := t.TempDir()
	options.MaxFileBytes = 1 << 30
	require.NoError(t, s.Convert(background, all(t, s), filepath.Join(one, "model.safetensors"), options))
	assert.Equal(t, []string{"model.safetensors"}, left(t, one))
	assert.Equal(t, []string{filepath.Join(one, "model.safetensors")}, written)

	options.MaxFileBytes = 1
	for says, of := range map[string]struct {
		name   string
		format weights.Format
		code   device.Code
	}{
		"ends in .safetensors":                       {"model.bin", header.Safetensors, device.CodeInvalidArgument},
		"only safetensors can be written to several": {"model.gguf", header.GGUF, device.CodeUnsupported},
	} {
		options.Format = of.format
		err := s.Convert(background, all(t, s), filepath.Join(one, of.name), options)
		require.ErrorIs(t, err, of.code)
		assert.ErrorContains(t, err, says)
	}
	assert.Equal(t, []string{"model.safetensors"}, left(t, one))
}

// After any failure the folder has exactly the files that it had before.
func TestSeveralFilesAreAllOrNothing(t *testing.T) {
	m := newModel(t, 300<<10, 200<<10, 5<<20)
	background, folder := context.Background(), t.TempDir()
	path := filepath.Join(folder, "m.safetensors")
	options := weights.ConvertOptions{Format: header.Safetensors, MaxFileBytes: 400 << 10, Replace: true}
	before := map[string]string{"m-00001-of-00003.safetensors": "one", "m-00003-of-00003.safetensors": "three", "other": "other"}
	restore := func() {
		t.Helper()
		require.NoError(t, os.RemoveAll(folder))
		require.NoError(t, os.Mkdir(folder, 0o700))
		for name, text := range before {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
		}
	}
	isAsBefore := func() {
		t.Helper()
		require.Len(t, left(t, folder), len(before))
		for name, want := range before {
			text, err := os.ReadFile(filepath.Join(folder, name))
			require.NoError(t, err)
			require.Equal(t, want, string(text))
		}
	}
	for _, code := range []device.Code{device.CodeCancelled, device.CodeIO} {
		restore()
		for n := 1; ; n++ {
			s := m.open(t)
			ctx, cancel := context.WithCancel(background)
			var reads func() int
			if code == device.CodeIO {
				reads = weights.FailRead(s, n)
			} else {
				reads = weights.OnRead(s, n, cancel)
			}
			err := s.Convert(ctx, all(t, s), path, options)
			cancel()
			if err == nil {
				require.Positive(t, reads())
				require.Greater(t, n, 2)
				break
			}
			require.ErrorIs(t, err, code)
			isAsBefore()
		}
		assert.Len(t, left(t, folder), 5)
		got, _ := contents(t, path+".index.json", weights.Options{}, nil)
		assert.Equal(t, m.bytes, got)
	}

	// Giving the last file its name fails.
	restore()
	require.NoError(t, os.Mkdir(path+".index.json", 0o700))
	s := m.open(t)
	err := s.Convert(background, all(t, s), path, options)
	require.Error(t, err)
	assert.ErrorContains(t, err, path+".index.json")
	require.NoError(t, os.Remove(path+".index.json"), "the folder exists and has no tensor file")
	isAsBefore()
	options.Replace = false
	require.ErrorIs(t, s.Convert(background, all(t, s), path, options), device.CodeAlreadyExists)
	isAsBefore()
}

// A file that another program creates under a name of a conversion is kept, and no file of the conversion
// is left.
func TestFilesOfOtherWritersAreKept(t *testing.T) {
	m := newModel(t, 300<<10, 200<<10, 5<<20)
	for name, limit := range map[string]uint64{"m.safetensors": 0, "m-00003-of-00003.safetensors": 400 << 10, "m.safetensors.index.json": 400 << 10} {
		folder := t.TempDir()
		s, other := m.open(t), filepath.Join(folder, name)
		err := s.Convert(context.Background(), all(t, s), filepath.Join(folder, "m.safetensors"), weights.ConvertOptions{
			Format: header.Safetensors, MaxFileBytes: limit,
			Progress: func(weights.Progress) { require.NoError(t, os.WriteFile(other, []byte("other"), 0o600)) },
		})
		require.ErrorIs(t, err, device.CodeAlreadyExists, name)
		require.ErrorContains(t, err, other)
		text, err := os.ReadFile(other)
		require.NoError(t, err)
		require.Equal(t, "other", string(text))
		require.Equal(t, []string{name}, left(t, folder))
	}
}

// A copy of a GGUF file has its keys, with their types and all entries of lists.
func TestKeepsMetadata(t *testing.T) {
	background, folder := context.Background(), t.TempDir()
	from := filepath.Join(fixtures, "model.gguf")
	s, err := weights.Open(from, weights.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	path := filepath.Join(folder, "m.gguf")
	options := weights.ConvertOptions{Format: header.GGUF, KeepMetadata: true, Texts: map[string]string{"general.name": "another"}}
	require.NoError(t, s.Convert(background, all(t, s), path, options))
	again, err := weights.Open(path, weights.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, again.Close()) }()
	one, err := os.ReadFile(from)
	require.NoError(t, err)
	two, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Greater(t, len(s.Values()), 2)
	kept := 0
	for key, want := range s.Values() {
		got, isKept := again.Values()[key]
		switch key {
		case "general.alignment":
			assert.False(t, isKept, "the file has its own")
			continue
		case "general.name":
			assert.Equal(t, "another", got.Text)
			continue
		}
		kept++
		require.True(t, isKept, key)
		assert.Equal(t, one[want.Offset:][:want.SizeBytes], two[got.Offset:][:got.SizeBytes], key)
		want.Offset, got.Offset = 0, 0
		assert.Equal(t, want, got, key)
	}
	assert.Positive(t, kept)
	plain, _ := contents(t, from, weights.Options{}, nil)
	copied, _ := contents(t, path, weights.Options{}, nil)
	assert.Equal(t, plain, copied)

	m, err := weights.Open(filepath.Join(fixtures, "plain.safetensors"), weights.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	path = filepath.Join(folder, "m.safetensors")
	options = weights.ConvertOptions{Format: header.Safetensors, KeepMetadata: true, Texts: map[string]string{"more": "text"}}
	require.NoError(t, m.Convert(background, all(t, m), path, options))
	_, texts := contents(t, path, weights.Options{}, nil)
	assert.Equal(t, map[string]string{"format": "np", "more": "text"}, texts.Metadata().Extra.Texts)
}
