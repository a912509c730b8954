package library_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/tests/mutation"
)

// exampleText is a definition with an input, a table, a product and a Softmax.
func exampleText(t testing.TB) string {
	text, err := os.ReadFile("../ir/testdata/example.json")
	require.NoError(t, err)
	return string(text)
}

// textPass is a pass that returns what a function makes of the definition.
func textPass(name string, change func(text string) string, needs ...string) library.ProgramPass {
	return library.ProgramPass{Name: name, Dependencies: needs, Apply: func(c library.PassCall) ([]byte, []string, error) {
		return []byte(change(string(c.Definition))), nil, nil
	}}
}

// replaced is a change that replaces a text, which must be there.
func replaced(t testing.TB, old, by string) func(string) string {
	return func(text string) string {
		require.Contains(t, text, old)
		return strings.Replace(text, old, by, 1)
	}
}

// optimizedText is the result of Executors.OptimizeJSON.
type optimizedText struct {
	Definition json.RawMessage
	Passes     []struct {
		Pass     string
		Applied  bool
		Warnings []string
		Stats    struct {
			OperationsEliminated uint64 `json:"operations_eliminated"`
		}
	}
}

func (b *bench) optimize(definition, names string) (o optimizedText, err error) {
	made, err := b.Executors.OptimizeJSON([]byte(definition), []byte(names))
	if err == nil {
		require.NoError(b.t, json.Unmarshal(made, &o))
	}
	return o, err
}

func (b *bench) registerPass(p library.ProgramPass) uint64 {
	id, err := b.Executors.RegisterPass(p)
	require.NoError(b.t, err)
	return id
}

func TestPassesOfTheProgramChangeADefinition(t *testing.T) {
	b := startBench(t)
	text := exampleText(t)
	b.registerPass(textPass("second", replaced(t, "renamed", "renamed twice"), "first"))
	b.registerPass(textPass("first", replaced(t, `"name":"example","version"`, `"name":"renamed","version"`), "fold_constants"))
	same := textPass("same", func(text string) string { return " " + text + "\n" })
	b.registerPass(same)
	skipped := textPass("skipped", func(string) string { t.Error("it is not applicable"); return "" })
	skipped.IsApplicable = func(c library.PassCall) (bool, error) { return len(c.Definition) == 0, nil }
	b.registerPass(skipped)
	b.registerPass(library.ProgramPass{Name: "warns", Apply: func(library.PassCall) ([]byte, []string, error) {
		return nil, []string{"nothing to do"}, nil
	}})
	made, err := b.optimize(text, `["second", "same", "skipped", "warns", "first", "fold_constants"]`)
	require.NoError(t, err)
	assert.Contains(t, string(made.Definition), `"name":"renamed twice"`)
	applied := map[string]bool{}
	var order []string
	for _, result := range made.Passes {
		applied[result.Pass] = result.Applied
		order = append(order, result.Pass)
	}
	assert.Equal(t, []string{"same", "skipped", "warns", "fold_constants", "first", "second"}, order)
	assert.Equal(t, map[string]bool{"first": true, "second": true, "same": false, "skipped": false, "warns": false, "fold_constants": false}, applied)
	assert.Equal(t, []string{"nothing to do"}, made.Passes[2].Warnings)

	info, err := b.Executors.BuilderInfoJSON()
	require.NoError(t, err)
	assert.Contains(t, string(info), `{"name":"second","level":0,"dependencies":["first"],"is_registered":true}`)
	unchanged, err := b.optimize(text, `[]`)
	require.NoError(t, err)
	assert.JSONEq(t, text, string(unchanged.Definition))
	assert.NotNil(t, unchanged.Passes)
}

// What a pass breaks is a typed error with the pass and the path.
func TestBrokenDefinitionsOfPassesAreRefused(t *testing.T) {
	b := startBench(t)
	text := exampleText(t)
	for name, c := range map[string]struct {
		change func(string) string
		code   device.Code
		says   []string
	}{
		"removes-node":   {replaced(t, `{"id":"product","layer_name":"product"},`, ``), device.CodeInvalidConfig, []string{"graph.edges"}},
		"removes-edges":  {replaced(t, `{"source":"embedded","target":"product"},`, ``), device.CodeInvalidConfig, []string{"graph.nodes[2]", "product"}},
		"doubles-id":     {replaced(t, `"id":"product"`, `"id":"embedded"`), device.CodeInvalidConfig, []string{"graph.nodes[2]", "embedded"}},
		"makes-cycle":    {replaced(t, `{"source":"embedded","target":"product"}`, `{"source":"probabilities","target":"product"}`), device.CodeInvalidConfig, []string{"cycle"}},
		"unknown-op":     {replaced(t, `"layer_type":"Softmax"`, `"layer_type":"Softmaxx"`), device.CodeInvalidConfig, []string{"layers[3]", "Softmax"}},
		"wrong-shape":    {replaced(t, `"shape":[4,8]`, `"shape":[4,9]`), device.CodeInvalidConfig, []string{"weight"}},
		"changes-output": {replaced(t, `"outputs": ["probabilities"]`, `"outputs": ["product"]`), device.CodeModel, []string{"outputs"}},
		"not-json":       {func(text string) string { return text[:len(text)/2] }, device.CodeInvalidFormat, []string{"definition that it returned"}},
		"empty":          {func(string) string { return "" }, device.CodeInvalidFormat, []string{"definition that it returned"}},
		"unknown-field":  {replaced(t, `"graph":`, `"graf":{},"graph":`), device.CodeInvalidFormat, []string{"graf"}},
		"number":         {func(string) string { return "5" }, device.CodeInvalidFormat, nil},
		"deep":           {func(string) string { return strings.Repeat("[", 1<<20) }, device.CodeInvalidFormat, nil},
		"huge":           {func(string) string { return strings.Repeat(" ", 64<<20+1) }, device.CodeInvalidFormat, []string{"64 MiB"}},
	} {
		change := c.change
		canonical := func(given string) string { return change(respaced(t, text, given)) }
		id := b.registerPass(textPass(name, canonical))
		_, err := b.optimize(text, fmt.Sprintf("[%q]", name))
		require.ErrorIs(t, err, c.code, name)
		require.ErrorContains(t, err, fmt.Sprintf("pass %q", name))
		for _, says := range c.says {
			require.ErrorContains(t, err, says)
		}
		require.NoError(t, b.RegistrationRemove(id, nil), "a failed call does not use it any more")
	}
}

// respaced checks that a pass gets a definition, and returns the same one in the spacing of the file.
func respaced(t testing.TB, file, given string) string {
	require.JSONEq(t, file, given)
	return file
}

func TestErrorsOfPassesAreCarriedBack(t *testing.T) {
	b := startBench(t)
	text := exampleText(t)
	calls := 0
	b.registerPass(library.ProgramPass{
		Name: "fails",
		IsApplicable: func(library.PassCall) (bool, error) {
			if calls++; calls == 1 {
				return true, device.Errorf(device.CodeResourceExhausted, "test", "not now")
			}
			return true, nil
		},
		Apply: func(library.PassCall) ([]byte, []string, error) {
			return []byte(text), nil, errors.New("cannot")
		},
	})
	_, err := b.optimize(text, `["fails"]`)
	require.ErrorIs(t, err, device.CodeResourceExhausted)
	require.ErrorContains(t, err, `pass "fails": `)
	_, err = b.optimize(text, `["fails"]`)
	require.ErrorIs(t, err, device.CodeModel)
	require.ErrorContains(t, err, "cannot")
}

func TestWrongPipelinesAreRefused(t *testing.T) {
	b := startBench(t)
	text := exampleText(t)
	same := func(text string) string { return text }
	b.registerPass(textPass("a", same, "b"))
	b.registerPass(textPass("b", same, "c"))
	b.registerPass(textPass("c", same, "a"))
	b.registerPass(textPass("self", same, "self"))
	for names, want := range map[string]struct {
		code device.Code
		says string
	}{
		`["a", "b", "c"]`:              {device.CodeInvalidArgument, "a -> b -> c -> a"},
		`["self"]`:                     {device.CodeInvalidArgument, "self -> self"},
		`["a"]`:                        {device.CodeNotFound, `depends on "b", which is not in the list`},
		`["absent"]`:                   {device.CodeNotFound, `there is no pass "absent"`},
		`["merge_same", "merge_same"]`: {device.CodeAlreadyExists, "occurs twice"},
		`{"a": 1}`:                     {device.CodeInvalidFormat, "list of names"},
		`[1]`:                          {device.CodeInvalidFormat, "list of names"},
		`null`:                         {device.CodeInvalidFormat, "list of names"},
	} {
		_, err := b.optimize(text, names)
		require.ErrorIs(t, err, want.code, names)
		require.ErrorContains(t, err, want.says)
	}
	_, err := b.Executors.RegisterPass(library.ProgramPass{Name: "new"})
	requireCode(t, device.CodeNullPointer, err)
	_, err = b.Executors.RegisterPass(textPass("a", same))
	requireCode(t, device.CodeAlreadyExists, err)
	_, err = b.Executors.RegisterPass(textPass("fuse_norm", same))
	requireCode(t, device.CodeAlreadyExists, err)
}

// A pass that runs cannot be removed, also not from inside, and is released once after its end.
func TestPassInUseIsBusy(t *testing.T) {
	b := startBench(t)
	text := exampleText(t)
	var released atomic.Int32
	var id uint64
	inside := textPass("own", func(text string) string {
		requireCode(t, device.CodeBusy, b.RegistrationRemove(id, nil))
		// A pass may run passes itself.
		_, err := b.Executors.OptimizeJSON([]byte(text), []byte(`["merge_same"]`))
		assert.NoError(t, err)
		return text
	})
	inside.Release = func() { released.Add(1) }
	id = b.registerPass(inside)
	_, err := b.optimize(text, `["own"]`)
	require.NoError(t, err)
	require.Zero(t, released.Load())
	requireCode(t, device.CodeBusy, b.Shutdown(false))
	require.NoError(t, b.RegistrationRemove(id, nil))
	require.EqualValues(t, 1, released.Load())
	requireCode(t, device.CodeInvalidHandle, b.RegistrationRemove(id, nil))
	_, err = b.optimize(text, `["own"]`)
	requireCode(t, device.CodeNotFound, err)
	id = b.registerPass(textPass("own", strings.TrimSpace))
	require.NoError(t, b.RegistrationRemove(id, nil))
}

// A forced stop waits for the running function, and the call fails at its next one.
func TestForcedStopWaitsForPasses(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.Init(nil))
	text := exampleText(t)
	running, goOn := make(chan struct{}), make(chan struct{})
	var ended, released atomic.Bool
	waits := textPass("waits", func(text string) string {
		close(running)
		<-goOn
		ended.Store(true)
		return text
	})
	waits.Release = func() {
		assert.True(t, ended.Load(), "it is released after its function")
		released.Store(true)
	}
	b.registerPass(waits)
	b.registerPass(textPass("next", strings.TrimSpace, "waits"))
	result := make(chan error)
	go func() {
		_, err := b.Executors.OptimizeJSON([]byte(text), []byte(`["waits", "next"]`))
		result <- err
	}()
	<-running
	stopped := make(chan error)
	go func() { stopped <- b.Shutdown(true) }()
	for {
		if _, err := b.Executors.BuilderInfoJSON(); err != nil {
			requireCode(t, device.CodeNotInitialized, err)
			break
		}
	}
	close(goOn)
	require.NoError(t, <-stopped)
	require.True(t, released.Load())
	// The next pass ran before its own end, or was refused.
	if err := <-result; err != nil {
		requireCode(t, device.CodeInvalidHandle, err)
	}
}

// Whatever text a pass returns, the call succeeds with a valid definition, or fails with a typed error.
func FuzzTextsOfPasses(f *testing.F) {
	text := exampleText(f)
	f.Add([]byte(text))
	f.Add([]byte(strings.Replace(text, `"nodes"`, `"node"`, 1)))
	f.Add([]byte(nil))
	// All inputs share one library, which is quick. The go command makes an input with new coverage smaller for up
	// to a minute; scripts/fuzz.sh bounds that by -fuzzminimizetime.
	var returned []byte
	var l *library.Library
	f.Fuzz(mutation.Also(func(t *testing.T, made []byte) {
		if l == nil {
			l = newBench(t).Library
			require.NoError(t, l.Init(nil))
			_, err := l.Executors.RegisterPass(library.ProgramPass{Name: "own", Apply: func(library.PassCall) ([]byte, []string, error) {
				return returned, nil, nil
			}})
			require.NoError(t, err)
		}
		returned = append([]byte{}, made...)
		result, err := l.Executors.OptimizeJSON([]byte(text), []byte(`["own"]`))
		if err != nil {
			var typed *device.Error
			require.ErrorAs(t, err, &typed)
			require.NotEqual(t, device.CodeInternal, typed.Code, err)
			return
		}
		var o optimizedText
		require.NoError(t, json.Unmarshal(result, &o))
		issues, err := l.Executors.ValidateDefinitionJSON(o.Definition)
		require.NoError(t, err)
		require.Contains(t, string(issues), `"stops_build":false`)
	}))
}
