package weights_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

// contents returns the bytes of all tensors of a source, as a load returns them.
func contents(t *testing.T, path string, options weights.Options, specs func(*weights.Source) []weights.Spec) (map[string][]byte, *weights.Source) {
	t.Helper()
	s, err := weights.Open(path, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	order := all(t, s)
	if specs != nil {
		order = specs(s)
	}
	set, err := s.Load(context.Background(), order, weights.LoadOptions{Memory: weights.InPool(newPool(t, newHost(t)), "")})
	require.NoError(t, err)
	found := map[string][]byte{}
	for _, of := range set.Tensors {
		found[of.Name] = append([]byte{}, bytesOf(of)...)
	}
	require.NoError(t, set.Free())
	return found, s
}

// left returns the names of the files in a folder.
func left(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// Each format is written from a file of each other format, and read again.
func TestConvertsBetweenFormats(t *testing.T) {
	const testdata = "header/testdata"
	for _, from := range []string{"plain.safetensors", "zip_protocol2.pt", "legacy.pt", "deflated.npz", "fortran.npy", "big_endian.npy", "inside.onnx", "model.gguf"} {
		for _, to := range []struct {
			name   string
			format weights.Format
		}{{"to.safetensors", header.Safetensors}, {"to.npz", header.NumPy}, {"to.gguf", header.GGUF}} {
			t.Run(from+" "+to.name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), to.name)
				var order []weights.Spec
				want, s := contents(t, filepath.Join(testdata, from), weights.Options{}, func(s *weights.Source) []weights.Spec {
					// The tensors that the format can hold.
					for _, spec := range all(t, s) {
						found, err := s.Find(spec.Tensor)
						require.NoError(t, err)
						known := len(found.Shape) <= 4
						switch to.format {
						case header.Safetensors:
							_, is := header.SafetensorsName(found.Type)
							known = is
						case header.NumPy:
							_, known = header.NumPyName(found.Type)
						default:
							_, is := dtype.GGUFNumber(found.Type)
							known = known && is
						}
						if known {
							order = append(order, spec)
						}
					}
					return order
				})
				require.NotEmpty(t, order)
				last := weights.Progress{}
				require.NoError(t, s.Convert(context.Background(), order, path, weights.ConvertOptions{
					Format: to.format, Progress: func(p weights.Progress) { last = p },
				}))
				assert.Equal(t, last.TotalBytes, last.DoneBytes)
				got, again := contents(t, path, weights.Options{}, nil)
				assert.Equal(t, to.format, again.Format)
				assert.Equal(t, want, got)
				for _, spec := range order {
					before, err := s.Find(spec.Tensor)
					require.NoError(t, err)
					after, err := again.Find(spec.Name)
					require.NoError(t, err)
					assert.Equal(t, append([]uint64{}, before.Shape...), append([]uint64{}, after.Shape...))
					assert.Equal(t, before.Type, after.Type)
				}
				assert.Equal(t, []string{to.name}, left(t, filepath.Dir(path)))
			})
		}
	}
}

func TestConvertsWithTransformationsAndTexts(t *testing.T) {
	m := newModel(t, 9<<20, 300)
	s := m.open(t)
	folder := t.TempDir()
	raw := filepath.Join(folder, "a.raw")
	cast := []weights.Spec{{Name: "a", Tensor: m.order[1], Transformations: []weights.Transformation{{Kind: weights.Cast, Type: dtype.I32}}}}
	require.NoError(t, s.Convert(context.Background(), cast, raw, weights.ConvertOptions{Format: header.RawFormat}))
	got, _ := contents(t, raw, weights.Options{Raw: &weights.RawShape{Type: dtype.I32, Shape: []uint64{300}}}, nil)
	for _, data := range got {
		for at := range 300 {
			require.Equal(t, []byte{m.bytes[m.order[1]][at], 0, 0, 0}, data[4*at:4*at+4])
		}
	}
	for name, format := range map[string]weights.Format{"t.safetensors": header.Safetensors, "t.gguf": header.GGUF} {
		path := filepath.Join(folder, name)
		options := weights.ConvertOptions{Format: format, Texts: map[string]string{"made.by": "a \"test\"\n"}}
		require.NoError(t, s.Convert(context.Background(), cast, path, options))
		_, again := contents(t, path, weights.Options{}, nil)
		assert.Equal(t, "a \"test\"\n", again.Metadata().Extra.Texts["made.by"])
		err := s.Convert(context.Background(), cast, path, options)
		require.ErrorIs(t, err, device.CodeAlreadyExists)
		options.Replace = true
		require.NoError(t, s.Convert(context.Background(), cast, path, options))
	}
}

// A file of GGUF has the blocks that a load with the same cast makes.
func TestConvertsToBlocks(t *testing.T) {
	q80, _ := dtype.GGUF(8)
	m := newModel(t, 6400)
	specs := func(*weights.Source) []weights.Spec {
		list := []weights.Transformation{{Kind: weights.Cast, Type: dtype.F32}, {Kind: weights.Reshape, Shape: []uint64{100, 64}}, {Kind: weights.Cast, Type: q80}}
		return []weights.Spec{{Name: "a", Tensor: m.order[0], Transformations: list, Type: &q80}}
	}
	want, s := contents(t, m.path, weights.Options{}, specs)
	require.Len(t, want["a"], 6400/32*34)
	path := filepath.Join(t.TempDir(), "t.gguf")
	require.NoError(t, s.Convert(context.Background(), specs(s), path, weights.ConvertOptions{Format: header.GGUF}))
	got, _ := contents(t, path, weights.Options{}, nil)
	assert.Equal(t, want, got)
	path = filepath.Join(t.TempDir(), "t.safetensors")
	require.ErrorIs(t, s.Convert(context.Background(), specs(s), path, weights.ConvertOptions{Format: header.Safetensors}), device.CodeUnsupported)
}

// After any failure no new file remains, and a file that was to be replaced is unchanged.
func TestConversionsThatFail(t *testing.T) {
	m := newModel(t, 9<<20, 300)
	background := context.Background()
	folder := t.TempDir()
	path := filepath.Join(folder, "to.safetensors")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o600))
	options := weights.ConvertOptions{Format: header.Safetensors, Replace: true}
	for n := 1; ; n++ {
		s := m.open(t)
		reads := weights.FailRead(s, n)
		err := s.Convert(background, all(t, s), path, options)
		if reads() < n {
			require.NoError(t, err)
			break
		}
		require.ErrorIs(t, err, device.CodeIO)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "before", string(text))
		require.Equal(t, []string{"to.safetensors"}, left(t, folder))
	}
	s := m.open(t)
	ctx, cancel := context.WithCancel(background)
	options.Progress = func(weights.Progress) { cancel() }
	require.ErrorIs(t, s.Convert(ctx, all(t, s), path, options), device.CodeCancelled)
	assert.Equal(t, []string{"to.safetensors"}, left(t, folder))
	options.Progress = nil

	f64 := []weights.Transformation{{Kind: weights.Cast, Type: dtype.BF16}}
	slash := []weights.Spec{{Name: "../a", Tensor: m.order[0]}}
	for says, of := range map[string]struct {
		name   string
		specs  []weights.Spec
		format weights.Format
		code   device.Code
	}{
		"it has no type bf16":               {"a.npz", []weights.Spec{{Name: "a", Tensor: m.order[0], Transformations: f64}}, header.NumPy, device.CodeUnsupported},
		"cannot be the name of a member":    {"a.npz", slash, header.NumPy, device.CodeUnsupported},
		"holds one tensor, not 2":           {"a.npy", all(t, s), header.NumPy, device.CodeInvalidArgument},
		"a raw file holds one":              {"a", all(t, s), header.RawFormat, device.CodeInvalidArgument},
		`files of the format "pytorch" are`: {"a", all(t, s), header.PyTorch, device.CodeUnsupported},
		"there is no such file or folder":   {"no/a", all(t, s), header.Safetensors, device.CodeNotFound},
		"is empty, or another spec has it":  {"a", append(all(t, s), all(t, s)...), header.Safetensors, device.CodeInvalidArgument},
	} {
		err := s.Convert(background, of.specs, filepath.Join(folder, of.name), weights.ConvertOptions{Format: of.format})
		require.ErrorIs(t, err, of.code, says)
		assert.ErrorContains(t, err, says)
	}
	assert.Equal(t, []string{"to.safetensors"}, left(t, folder))
}

// The free space of the disk is checked before a byte is written.
func TestConversionsLargerThanTheDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sparse.raw")
	file, err := os.Create(path)
	require.NoError(t, err)
	const size = 1 << 42
	if err := errors.Join(file.Truncate(size), file.Close()); err != nil {
		t.Skip("the file system has no files of 4 TiB")
	}
	s, err := weights.Open(path, weights.Options{Raw: &weights.RawShape{Type: dtype.U8, Shape: []uint64{size}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	f64 := []weights.Transformation{{Kind: weights.Cast, Type: dtype.F64}}
	err = s.Convert(context.Background(), []weights.Spec{{Name: "a", Tensor: "sparse", Transformations: f64}}, path+".out", weights.ConvertOptions{Format: header.RawFormat})
	require.ErrorIs(t, err, device.CodeResourceExhausted)
	assert.ErrorContains(t, err, "the disk has")
	assert.Equal(t, []string{"sparse.raw"}, left(t, filepath.Dir(path)))
}
