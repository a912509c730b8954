//go:build cgo && linux

package ort

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
)

// fakeLibrary compiles a library that looks like ONNX Runtime.
func fakeLibrary(t *testing.T, defines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libonnxruntime.so.1")
	arguments := append([]string{"-shared", "-fPIC", "-o", path, "testdata/fake_library.c"}, defines...)
	out, err := exec.Command("cc", arguments...).CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

// A library that cannot be used is an error that names the file, and what it lacks.
func TestLibrariesThatLackSomething(t *testing.T) {
	for says, defines := range map[string][]string{
		"lacks OrtGetApiBase":                    {"-DWITHOUT_BASE", "-DNEWEST=24", `-DVERSION="1.24.0"`},
		"OrtGetApiBase returns NULL":             {"-DNULL_BASE", "-DNEWEST=24", `-DVERSION="1.24.0"`},
		"OrtApiBase lacks GetApi":                {"-DWITHOUT_GET_API", "-DNEWEST=24", `-DVERSION="1.24.0"`},
		"has version 1.16.3, and at least 1.17":  {"-DNEWEST=16", `-DVERSION="1.16.3"`},
		"(version 1.24.0) lacks AddInitializer":  {"-DWITHOUT_FUNCTION=150", "-DNEWEST=24", `-DVERSION="1.24.0"`},
		"does not use a shared C++ runtime":      {"-DWITHOUT_EXCEPTIONS", "-DNEWEST=24", `-DVERSION="1.24.0"`},
		"has version next, and at least 1.17 is": {"-DNEWEST=3", `-DVERSION="next"`},
	} {
		t.Run(says, func(t *testing.T) {
			path := fakeLibrary(t, defines...)
			_, err := load([]string{path})
			require.ErrorIs(t, err, device.CodeUnsupported)
			assert.Contains(t, err.Error(), says)
			assert.Contains(t, err.Error(), path)
		})
	}
}

// The newest table that both know is taken.
func TestTablesOfOlderLibraries(t *testing.T) {
	for version, newest := range map[string]string{"1.17.1": "17", "1.20.0": "20", "1.99.0": "99", "other": "21"} {
		made, err := load([]string{fakeLibrary(t, "-DNEWEST="+newest, `-DVERSION="`+version+`"`)})
		require.NoError(t, err)
		assert.Equal(t, version, made.version)
		assert.Equal(t, map[string]int{"1.17.1": 17, "1.20.0": 20, "1.99.0": 24, "other": 21}[version], made.api)
	}
}

// Of two libraries, the first one that loads counts. A process that has loaded one keeps it.
func TestOneLibraryForAProcess(t *testing.T) {
	first := fakeLibrary(t, "-DNEWEST=20", `-DVERSION="1.20.0"`)
	second := fakeLibrary(t, "-DNEWEST=22", `-DVERSION="1.22.0"`)
	made, err := load([]string{"/nowhere/libonnxruntime.so.1", first, second})
	require.NoError(t, err)
	assert.Equal(t, first, made.path)

	var l loader
	t.Setenv(EnvLibrary, "/nowhere/libonnxruntime.so.1")
	_, err = l.library()
	require.ErrorIs(t, err, device.CodeUnsupported)
	assert.Contains(t, err.Error(), "/nowhere/libonnxruntime.so.1", "only the named path is tried")
	assert.NotContains(t, err.Error(), "libonnxruntime.so,")
	t.Setenv(EnvLibrary, second)
	made, err = l.library()
	require.NoError(t, err, "an error does not stay")
	t.Setenv(EnvLibrary, first)
	again, err := l.library()
	require.NoError(t, err)
	assert.Same(t, made, again)
}

// Older libraries report the same refusals with other numbers.
func TestCodesOfRefusals(t *testing.T) {
	for _, number := range []int64{1, 2, 10} {
		assert.Equal(t, device.CodeUnsupported, codeOf(number, "Unsupported model IR version: 14, max supported IR version: 9"))
		assert.Equal(t, device.CodeUnsupported, codeOf(number, "Current official support for domain ai.onnx is till opset 20."))
	}
	assert.Equal(t, device.CodeInvalidArgument, codeOf(2, "Unexpected input data type"))
	assert.Equal(t, device.CodeOutOfMemory, codeOf(6, "std::bad_alloc"))
}

func TestFunctionsHaveNames(t *testing.T) {
	seen := map[function]bool{}
	for _, each := range functions() {
		assert.False(t, seen[each.at], each.name)
		seen[each.at] = true
		assert.Equal(t, each.name, each.at.String())
	}
	assert.Equal(t, "a function", function(1000).String())
}

func TestOptionsThatCannotBe(t *testing.T) {
	_, err := New(compute.Options{InstructionSet: "avx2"})
	require.ErrorIs(t, err, device.CodeUnsupported)
	assert.Contains(t, err.Error(), "avx2")
}

// installed returns the library of the wheel in the environment of the tests. Machines without it skip.
func installed(t testing.TB) *runtimeLibrary {
	t.Helper()
	path := os.Getenv(EnvLibrary)
	if path == "" {
		found, err := filepath.Glob("../../build/venv/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so*")
		require.NoError(t, err)
		if len(found) == 0 {
			t.Skip("no ONNX Runtime: `make test` installs onnxruntime in build/venv, or " + EnvLibrary + " has its path")
		}
		path = found[0]
	}
	t.Setenv(EnvLibrary, path)
	made, err := process.library()
	require.NoError(t, err)
	return made
}
