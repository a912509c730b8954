package weights_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

const fixtures = "header/testdata"

// renamed writes a copy of an archive with other names of members.
func renamed(t *testing.T, from, to string, rename func(string) string) {
	t.Helper()
	archive, err := zip.OpenReader(filepath.Join(fixtures, from))
	require.NoError(t, err)
	defer archive.Close()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, member := range archive.File {
		in, err := member.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(in)
		require.NoError(t, err)
		copied, err := w.CreateHeader(&zip.FileHeader{Name: rename(member.Name), Method: zip.Store})
		require.NoError(t, err)
		_, err = copied.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(to, out.Bytes(), 0o600))
}

// The name of an archive member is never used as a path: no file outside of the archive is read or
// written.
func TestMembersThatLeaveTheArchive(t *testing.T) {
	for _, escape := range []string{"../", "../../../../tmp/", "/", "a/../../", `..\`, "C:"} {
		folder := t.TempDir()
		path := filepath.Join(folder, "in", "m.npz")
		require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
		renamed(t, "stored.npz", path, func(name string) string { return escape + name })
		want, plain := contents(t, filepath.Join(fixtures, "stored.npz"), weights.Options{}, nil)
		s, err := weights.Open(path, weights.Options{})
		require.NoError(t, err)
		require.Len(t, s.Tensors(), len(plain.Tensors()))
		set, err := s.Load(context.Background(), all(t, s), weights.LoadOptions{Memory: weights.InPool(newPool(t, newHost(t)), "")})
		require.NoError(t, err)
		for _, of := range set.Tensors {
			name, escapes := strings.CutPrefix(of.Name, escape)
			require.True(t, escapes, of.Name)
			assert.Equal(t, want[name], append([]byte{}, bytesOf(of)...), of.Name)
		}
		require.NoError(t, set.Free())
		err = s.Convert(context.Background(), all(t, s), filepath.Join(folder, "out.npz"), weights.ConvertOptions{Format: header.NumPy})
		if escape != "C:" {
			require.ErrorIs(t, err, device.CodeUnsupported)
			assert.ErrorContains(t, err, "cannot be the name of a member")
			assert.Equal(t, []string{"in"}, left(t, folder))
		}
		require.NoError(t, s.Convert(context.Background(), all(t, s), filepath.Join(folder, "out.safetensors"), weights.ConvertOptions{Format: header.Safetensors}))
		assert.Contains(t, left(t, folder), "out.safetensors")
		assert.LessOrEqual(t, len(left(t, folder)), 3)
		require.NoError(t, s.Close())
	}
	// The names of the storages in files of torch.save are no paths either.
	path := filepath.Join(t.TempDir(), "m.pt")
	renamed(t, "zip_protocol2.pt", path, func(name string) string { return ".." + name[strings.Index(name, "/"):] })
	want, _ := contents(t, filepath.Join(fixtures, "zip_protocol2.pt"), weights.Options{}, nil)
	got, _ := contents(t, path, weights.Options{}, nil)
	assert.Equal(t, want, got, "the folder of the archive has any name")
	for _, rename := range []func(string) string{
		func(name string) string { return "../../" + name },
		func(name string) string { return strings.Replace(name, "/data/", "/data/../data/", 1) },
	} {
		renamed(t, "zip_protocol2.pt", path, rename)
		_, err := weights.Open(path, weights.Options{})
		require.ErrorIs(t, err, device.CodeInvalidFormat)
		assert.ErrorContains(t, err, path)
	}
}

// An index may name only files beside it, in whatever form the name is written.
func TestIndexesThatLeaveTheFolder(t *testing.T) {
	outside := newModel(t, 10)
	for _, name := range []string{
		outside.path, "../model.safetensors", "./../model.safetensors", "a/../../model.safetensors", `..\model.safetensors`,
		"..", ".", "", "sub/model.safetensors", "model.safetensors/", "model.safetensors\x00.bin",
	} {
		folder := t.TempDir()
		text, err := json.Marshal(map[string]any{"weight_map": map[string]string{outside.order[0]: name}})
		require.NoError(t, err)
		path := filepath.Join(folder, "model.safetensors.index.json")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		_, err = weights.Open(folder, weights.Options{})
		require.ErrorIs(t, err, device.CodeInvalidFormat, "%q", name)
		assert.ErrorContains(t, err, path)
	}
}

// The external data of a model may be the model itself, or a broken link. No file is parsed twice.
func TestExternalDataInCircles(t *testing.T) {
	model, err := os.ReadFile(filepath.Join(fixtures, "external.onnx"))
	require.NoError(t, err)
	make := func(link string) string {
		folder := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(folder, "model.onnx"), model, 0o600))
		require.NoError(t, os.Mkdir(filepath.Join(folder, "weights"), 0o700))
		require.NoError(t, os.Symlink(link, filepath.Join(folder, "weights", "x.bin")))
		return filepath.Join(folder, "model.onnx")
	}
	s, err := weights.Open(make("../model.onnx"), weights.Options{})
	require.NoError(t, err)
	set, err := s.Load(context.Background(), all(t, s), weights.LoadOptions{Memory: weights.InPool(newPool(t, newHost(t)), "")})
	require.NoError(t, err)
	for at, of := range set.Tensors {
		if of.Name == "e" {
			from := s.Tensors()[at].Offset
			assert.Equal(t, model[from:from+of.SizeBytes], append([]byte{}, bytesOf(of)...))
		}
	}
	require.NoError(t, set.Free())
	require.NoError(t, s.Close())
	for _, link := range []string{"x.bin", "../weights/x.bin", "nothing"} {
		path := make(link)
		_, err = weights.Open(path, weights.Options{})
		require.Error(t, err)
		assert.ErrorContains(t, err, filepath.Join(filepath.Dir(path), "weights", "x.bin"))
	}
	_, err = weights.Open(make(".."), weights.Options{})
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	assert.ErrorContains(t, err, "x.bin is not a file")
}
