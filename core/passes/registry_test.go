package passes

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

func namesOfPasses(list []Pass) []string {
	var names []string
	for _, p := range list {
		names = append(names, p.Name())
	}
	return names
}

func TestRegistryFindsPasses(t *testing.T) {
	var r Registry
	_, done, err := r.Take([]string{"fold_constants", "merge_same"})
	require.NoError(t, err)
	done()
	own := fake{name: "own", dependencies: []string{"fold_constants"}}
	require.NoError(t, r.Add(own))
	list, done, err := r.Take([]string{"own", "fold_constants"})
	require.NoError(t, err)
	assert.Equal(t, []string{"own", "fold_constants"}, namesOfPasses(list))
	_, results, err := Run(context.Background(), small(t), list, Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"fold_constants", "own"}, namesOfResults(results))

	described := r.List()
	assert.Equal(t, Description{Name: "remove_dead_code", Technique: DeadCodeElimination, Level: 1, Dependencies: []string{}}, described[0])
	assert.Equal(t, Description{Name: "own", Dependencies: []string{"fold_constants"}, IsRegistered: true}, described[len(described)-1])

	require.ErrorIs(t, r.Remove("own", false), device.CodeBusy)
	done()
	require.NoError(t, r.Remove("own", false))
	require.ErrorIs(t, r.Remove("own", false), device.CodeNotFound)
	require.ErrorIs(t, r.Remove("fold_constants", true), device.CodeNotFound, "a pass of the library stays")
	require.NoError(t, r.Add(own), "the name is free again")
	_, _, err = r.Take([]string{"own"})
	require.NoError(t, err)
	require.NoError(t, r.Remove("own", true), "by force")
}

func TestRegistryRefusesPassesAndNames(t *testing.T) {
	var r Registry
	require.NoError(t, r.Add(fake{name: "own"}))
	for _, c := range []struct {
		pass fake
		code device.Code
		text string
	}{
		{fake{name: "own"}, device.CodeAlreadyExists, `"own"`},
		{fake{name: "fuse_norm"}, device.CodeAlreadyExists, `"fuse_norm"`},
		{fake{}, device.CodeInvalidArgument, "1 to 63"},
		{fake{name: strings.Repeat("x", 64)}, device.CodeInvalidArgument, "64 bytes"},
		{fake{name: "a b"}, device.CodeInvalidArgument, "' '"},
		{fake{name: "\xff"}, device.CodeInvalidArgument, "letters"},
		{fake{name: "new", dependencies: []string{"fine", ""}}, device.CodeInvalidArgument, "dependencies[1]"},
		{fake{name: "new", dependencies: make([]string, maxPasses+1)}, device.CodeInvalidArgument, "at most 1024"},
	} {
		err := r.Add(c.pass)
		require.ErrorIs(t, err, c.code)
		require.ErrorContains(t, err, c.text)
	}
	for name, code := range map[string]device.Code{
		"owm": device.CodeNotFound, "pruning": device.CodeUnsupported, "": device.CodeNotFound,
	} {
		_, done, err := r.Take([]string{"own", name})
		require.ErrorIs(t, err, code)
		assert.Nil(t, done)
	}
	_, _, err := r.Take([]string{"owm"})
	require.ErrorContains(t, err, `the nearest is "own"`)
	_, _, err = r.Take(make([]string, maxPasses+1))
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	require.NoError(t, r.Remove("own", false), "a failed call uses nothing")
}

// A pipeline of random passes of the library and of the program runs in a topological order, or not at all.
func TestRandomPipelinesKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Registry
		own := []string{"p", "q", "r", "s"}
		known := append(slices.Clone(own), "fold_constants", "merge_same", "absent")
		needs := map[string][]string{}
		for _, name := range own {
			needs[name] = rapid.SliceOfN(rapid.SampledFrom(known), 0, 2).Draw(t, "needs of "+name)
			require.NoError(t, r.Add(fake{name: name, dependencies: needs[name]}))
		}
		names := rapid.SliceOfNDistinct(rapid.SampledFrom(known[:len(known)-1]), 0, 6, rapid.ID[string]).Draw(t, "names")
		list, done, err := r.Take(names)
		require.NoError(t, err)
		_, results, err := Run(context.Background(), small(t), list, Options{})
		done()
		isMissing := slices.ContainsFunc(names, func(name string) bool {
			return slices.ContainsFunc(needs[name], func(need string) bool { return !slices.Contains(names, need) })
		})
		switch {
		case isMissing:
			require.ErrorIs(t, err, device.CodeNotFound)
		case !hasOrder(list):
			require.ErrorIs(t, err, device.CodeInvalidArgument)
			require.ErrorContains(t, err, "cycle")
		default:
			require.NoError(t, err)
			ran := namesOfResults(results)
			require.ElementsMatch(t, names, ran)
			for at, name := range ran {
				for _, need := range needs[name] {
					require.Contains(t, ran[:at], need)
				}
			}
		}
		for _, name := range own {
			require.NoError(t, r.Remove(name, false), "nothing is in use")
		}
	})
}

// Registrations, removals and uses at the same time: a pass is never removed while it is in use.
func TestRegistryOfManyThreads(t *testing.T) {
	var r Registry
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 500 {
				if r.Add(fake{name: "own"}) == nil {
					for r.Remove("own", false) != nil {
					}
				}
				list, done, err := r.Take([]string{"own"})
				if err != nil {
					assert.ErrorIs(t, err, device.CodeNotFound)
					continue
				}
				assert.ErrorIs(t, r.Remove("own", false), device.CodeBusy)
				assert.Len(t, list, 1)
				done()
			}
		})
	}
	all.Wait()
	assert.Len(t, r.List(), len(Names()), "no pass of the program is left")
}
