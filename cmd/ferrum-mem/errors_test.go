package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// innerWords match texts of Go and its packages that a user should not see.
var innerWords = regexp.MustCompile(`strconv\.|json: |json\.|invalid character|unexpected end of JSON|unexpected EOF|\bEOF\b|` +
	`context (deadline|canceled)|deadline exceeded|invalid syntax|value out of range|time: |parsing "|csv|in quoted-field|non-quoted|` +
	`runtime error|\*[a-z]+\.[A-Z]|%!|<nil>|0x[0-9a-f]{6,}|\bslice\b|unmarshal|reflect|goroutine`)

var nameOfFile = regexp.MustCompile(`[\w./-]+\.(json|csv|trace|safetensors|gguf)\b`)

// badFile writes a file into a folder whose name must be in every message about the file.
func badFile(t *testing.T, name, text string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "deep", "folder")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	path := filepath.Join(folder, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// said checks the message of a call with bad input, and that it contains names.
func said(t *testing.T, o outcome, names string) {
	t.Helper()
	assert.Contains(t, []int{exitUsage, exitMachine, exitNo, exitInterrupted}, o.status)
	text := o.err + o.out
	assert.Contains(t, text, names)
	// The check ignores the input itself, which may contain any word, and names of files.
	text = nameOfFile.ReplaceAllString(strings.ReplaceAll(text, names, "…"), "…")
	assert.NotRegexp(t, innerWords, text)
}

func TestErrorsOfFlags(t *testing.T) {
	cleanEnvironment(t)
	trace := beginning(t)
	for _, args := range [][]string{
		{"replay", trace, "--bytes-per-token", "x"}, {"replay", trace, "--bytes-per-token", "-1"}, {"replay", trace, "--bytes-per-token", "18446744073709551616"},
		{"replay", trace, "--bytes-per-token", "0x10000000000000000"}, {"replay", trace, "--seed", "1.5"}, {"replay", trace, "--jitter", "soon"},
		{"replay", trace, "--jitter", "9999999999h"}, {"replay", trace, "--jitter", "-1s"}, {"replay", trace, "--limit", "many"},
		{"replay", trace, "--limit", "99999999999TiB"}, {"replay", trace, "--mode", "odd"}, {"replay", trace, "--format", "odd"},
		{"replay", trace, "--strategy", "odd"}, {"replay", trace, "--device", "odd"}, {"replay", trace, "--device", "cpu:99999999999999999999"},
		{"replay", trace, "--device", "cpu:-1"}, {"replay", trace, "--lifetime-hints=maybe"}, {"replay", trace, "--json=maybe"},
		{"replay", "--limit", "1GiB", "--model", "a=" + trace, "--policy", "odd"}, {"replay", "--limit", "1GiB", "--model", "a=" + trace, "--page", "odd"},
		{"replay", "--limit", "1GiB", "--model", "a=" + trace, "--wait", "odd"}, {"replay", "--limit", "1GiB", "--model", "a=" + trace, "--share", "a=odd"},
		{"replay", "--limit", "1GiB", "--model", "a=" + trace, "--guarantee", "b=odd"}, {"replay", "--limit", "1GiB", "--model", "a=" + trace + "@odd"},
		{"replay", "--limit", "1GiB", "--model", "a=" + trace + "@99999999999h"}, {"replay", "--limit", "1GiB", "--model", "odd"},
		{"fit", llama, "--context", "odd"}, {"fit", llama, "--batch", "-3"}, {"fit", llama, "--tensor-parallel", "99999999999999999999"},
		{"fit", llama, "--prefill-tokens", ""}, {"fit", llama, "--memory", "odd"}, {"fit", llama, "--limit", "odd"}, {"fit", llama, "--kv-dtype", "odd"},
		{"fit", llama, "--dtype", "odd"}, {"fit", llama, "--attention", "odd"}, {"fit", llama, "--logits", "odd"}, {"fit", llama, "--device", "odd"},
		{"fit", llama, "--overhead-permille", "1e3"}, {"weights", "inspect", llama, "--limit", "odd"}, {"weights", "inspect", llama, "--raw", "odd"}, {"weights", "odd"},
		{"plan", trace, "--limit", "odd"}, {"plan", trace, "--time", "odd"}, {"plan", trace, "--time", "9999999999h"}, {"plan", trace, "--alignment", "odd"},
		{"plan", trace, "--alignment", "48"}, {"plan", trace, "--json=odd"}, {"plan", trace, "--batch", "odd"},
		{"run", example, "--ids", "odd"}, {"run", example, "--ids", "1,-5"}, {"run", example, "--ids", "1,,2"}, {"run", example, "--ids", "9223372036854775808"},
		{"run", example, "--ids", "1", "--repeat", "odd"}, {"run", example, "--ids", "1", "--repeat", "0"}, {"run", example, "--ids", "1", "--limit", "odd"},
		{"run", example, "--ids", "1", "--threads", "-1"}, {"run", example, "--ids", "1", "--pool", "odd"}, {"run", example, "--ids", "1", "--output", "odd"},
		{"graph", llama, "--dim", "odd"}, {"graph", llama, "--dim", "=1"}, {"graph", llama, "--dim", "batch=-1"},
		{"graph", llama, "--dim", "batch=9223372036854775808"}, {"graph", llama, "--dot=odd"}, {"graph", llama, "--json=odd"},
		{"doctor", "--json=odd"}, {"devices", "--json=odd"}, {"version", "--json=odd"}, {"--odd"}, {"-o"}, {"odd"},
	} {
		t.Run(strings.Join(args[:1], " ")+" "+args[len(args)-1], func(t *testing.T) {
			o := invoke(t, args...)
			assert.Equal(t, exitUsage, o.status)
			assert.Empty(t, o.out)
			_, value, assigned := strings.Cut(args[len(args)-1], "=")
			if !assigned || strings.Contains(value, "/") {
				value = strings.TrimLeft(args[len(args)-1], "-")
			}
			said(t, o, value)
		})
	}
}

// Errors about files, by the subcommand that reads them. Every message names the file as
// the user named it.
func TestErrorsOfFiles(t *testing.T) {
	cleanEnvironment(t)
	const azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	length := func(text string) string {
		return string(binary.LittleEndian.AppendUint64(nil, uint64(len(text)))) + text
	}
	traces := map[string]string{
		"empty": "", "binary": "\x00\x01\x02\xff", "no header": "1,2,3\n", "header only": azure, "column missing": "TIMESTAMP,ContextTokens\n1,2\n",
		"short record": azure + "2023-11-16 18:17:03,5\n", "a time": azure + "yesterday,5,6\n", "a number": azure + "2023-11-16 18:17:03,many,6\n",
		"a negative": azure + "2023-11-16 18:17:03,-5,6\n", "too large": azure + "2023-11-16 18:17:03,99999999999999999999999,6\n",
		"a quote inside": azure + "2023-11-16 18:17:03,5\"5,6\n", "an open quote": azure + "\"2023-11-16 18:17:03,5,6\n", "after a quote": azure + "\"2023\"x,5,6\n",
		"json cut": `{"timestamp": 1, "input_length"`, "json wrong": `{"timestamp": x}`, "json last": `{"timestamp": 1}}`, "json string": `{"timestamp": "1"}`,
		"json list": `{"timestamp": 1, "input_length": 5, "output_length": 5, "hash_ids": 7}`, "json fraction": `{"timestamp": 1.5}`,
		"json deep": `{"timestamp": ` + strings.Repeat("[", 20000) + `}`, "json other": `{"timestamp": 1` + "\n" + `}`,
		"lifetimes": "id,lower,upper,size\na,5,1,10\n", "lifetimes size": "id,lower,upper,size\na,1,5,0\n",
	}
	for what, text := range traces {
		path := badFile(t, "t.trace", text)
		t.Run("replay "+what, func(t *testing.T) {
			said(t, invoke(t, "replay", path), path)
			said(t, invoke(t, "replay", "--model", "a="+path, "--limit", "1GiB"), path)
			said(t, invoke(t, "replay", "--model", "a="+path, "--find-limit"), path)
			said(t, invoke(t, "plan", path), path)
		})
	}
	configs := map[string]string{
		"empty": "", "binary": "\xff\xfe", "cut": `{"model_type": "llama"`, "cut string": `{"model_type": "lla`, "comma": `{"a": 1,}`, "word": `{"a": nothing}`,
		"escape": `{"a": "\q"}`, "list": `[1]`, "number": `7`, "more": `{} {}`, "no type": `{}`, "a string": `{"model_type": "llama", "hidden_size": "x"}`,
		"too large": `{"model_type": "llama", "hidden_size": 1e99}`, "negative": `{"model_type": "llama", "hidden_size": -4}`, "deep": strings.Repeat(`{"a":`, 20000),
		"null": `{"model_type": null}`, "twice": `{"a": 1, "a": 2}`,
	}
	for what, text := range configs {
		path := badFile(t, "config.json", text)
		t.Run("fit "+what, func(t *testing.T) {
			said(t, invoke(t, "fit", path, "--memory", "1GiB"), path)
			said(t, invoke(t, "graph", path), path)
		})
	}
	weights := map[string]string{
		"empty": "", "short": "abc", "header cut": length(`{"a":{`), "header word": length(`{"a": nothing}`), "header beyond": "\xff\xff\xff\xff\xff\xff\xff\x00{}",
		"a type": length(`{"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}}`), "a shape": length(`{"a":{"dtype":"F32","shape":["x"],"data_offsets":[0,4]}}`),
		"an offset": length(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,-4]}}`), "beyond the end": length(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`),
		"a comma": length(`{"a":{"dtype":"F32",}}`), "a list": length(`[]`),
	}
	for what, text := range weights {
		path := badFile(t, "model.safetensors", text)
		t.Run("fit weights "+what, func(t *testing.T) {
			said(t, invoke(t, "fit", path, "--memory", "1GiB", "--context", "1"), path)
			said(t, invoke(t, "fit", filepath.Dir(path), "--memory", "1GiB", "--context", "1"), path)
			said(t, invoke(t, "weights", "inspect", path), path)
			said(t, invoke(t, "weights", "inspect", filepath.Dir(path)), path)
			said(t, invoke(t, "graph", path), path)
			said(t, invoke(t, "graph", filepath.Dir(path)), path)
		})
	}
	for what, text := range map[string]string{
		"empty": "", "magic": "GGUF", "other": "nothing of the kind", "version": "GGUF\xff\xff\xff\xff", "cut": "GGUF\x03\x00\x00\x00\x01\x00\x00\x00",
		"too many": "GGUF\x03\x00\x00\x00" + strings.Repeat("\xff", 16),
	} {
		path := badFile(t, "model.gguf", text)
		t.Run("fit gguf "+what, func(t *testing.T) {
			said(t, invoke(t, "fit", path, "--memory", "1GiB", "--context", "1"), path)
			said(t, invoke(t, "weights", "inspect", path), path)
			said(t, invoke(t, "graph", path), path)
		})
	}
	for what, text := range map[string]string{
		"empty": "", "word": "nothing", "list": `{"weight_map": [1]}`, "cut": `{"weight_map": {"a": `, "a number": `{"weight_map": {"a": 1}}`,
		"not there": `{"weight_map": {"a": "b.safetensors"}}`, "outside": `{"weight_map": {"a": "../b.safetensors"}}`,
	} {
		path := badFile(t, "model.safetensors.index.json", text)
		t.Run("fit index "+what, func(t *testing.T) {
			said(t, invoke(t, "fit", path, "--memory", "1GiB", "--context", "1"), filepath.Dir(path))
			said(t, invoke(t, "weights", "inspect", path), filepath.Dir(path))
			said(t, invoke(t, "graph", path), filepath.Dir(path))
		})
	}
	for what, text := range map[string]string{"empty": "", "word": "nothing", "list": "[]", "number": `{"signal_handlers": 7}`, "cut": `{"signal_handlers": [`} {
		path := badFile(t, "snapshot.json", text)
		t.Run("doctor "+what, func(t *testing.T) { said(t, invoke(t, "doctor", "--snapshot", path), path) })
	}
}

// Missing files, folders in place of files, and missing folders.
func TestErrorsOfPaths(t *testing.T) {
	cleanEnvironment(t)
	folder := t.TempDir()
	missing := filepath.Join(folder, "no", "such", "file")
	for _, path := range []string{missing, folder, filepath.Join(beginning(t), "below")} {
		said(t, invoke(t, "replay", path), path)
		said(t, invoke(t, "replay", "--model", "a="+path, "--find-limit"), path)
		said(t, invoke(t, "fit", path, "--memory", "1GiB"), path)
		said(t, invoke(t, "plan", path), path)
		said(t, invoke(t, "weights", "inspect", path), path)
		said(t, invoke(t, "doctor", "--snapshot", path), path)
	}
	trace := beginning(t)
	said(t, invoke(t, "replay", trace, "--report", missing), filepath.Dir(missing))
	said(t, invoke(t, "replay", trace, "--report", folder), folder)
	said(t, invoke(t, "replay", trace, "--report", trace), trace)
	said(t, invoke(t, "replay", trace, "--report", filepath.Join(trace, "below")), trace)
}

// Every subcommand that opens devices reads the environment.
func TestErrorsOfEnvironment(t *testing.T) {
	for _, setting := range []string{
		"FERRUM_HOST_MEMORY=many", "FERRUM_HOST_MEMORY=9e9", "FERRUM_HOST_MEMORY=99999999999999TiB", "FERRUM_HOST_DEVICES=x", "FERRUM_HOST_DEVICES=99999999999999999999",
		"FERRUM_PROBE=odd", "FERRUM_PROBE_TIMEOUT=odd", "FERRUM_PROBE_TIMEOUT=99999999999h", "FERRUM_DEBUG=odd", "FERRUM_LOG=odd",
	} {
		t.Run(setting, func(t *testing.T) {
			cleanEnvironment(t)
			name, value, _ := strings.Cut(setting, "=")
			t.Setenv(name, value)
			for _, args := range [][]string{{"devices"}, {"doctor"}, {"fit", llama, "--context", "1"}} {
				said(t, invoke(t, args...), fmt.Sprintf("%s=%q", name, value))
			}
		})
	}
}

// After a cancellation the message states what was running, not how Go cancels.
func TestErrorsOfCancellation(t *testing.T) {
	cleanEnvironment(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	trace := beginning(t)
	for _, args := range [][]string{
		{"replay", trace}, {"replay", "-"}, {"plan", "-"}, {"replay", "--model", "a=" + trace, "--limit", "1GiB"}, {"replay", "--model", "a=" + trace, "--find-limit"},
	} {
		o := invokeWith(t, ctx, strings.NewReader(""), args...)
		assert.Equal(t, exitInterrupted, o.status, o.err)
		said(t, o, "stopped")
	}
}
