package model_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/model"
)

func (r *rig) named(id string) *model.Executor {
	r.t.Helper()
	s := r.settings(chain(r.t))
	s.ID = id
	x, err := model.New(context.Background(), s)
	require.NoError(r.t, err)
	return x
}

func TestRegistry(t *testing.T) {
	r := newRig(t)
	g := model.NewRegistry()
	one, two := r.named("one"), r.named("two")
	require.NoError(t, g.Put("a", one))
	requireError(t, device.CodeAlreadyExists, g.Put("a", two), `"a"`)
	requireError(t, device.CodeAlreadyExists, g.Put("b", one), `"a"`)
	requireError(t, device.CodeInvalidArgument, g.Put("", two))
	requireError(t, device.CodeInvalidArgument, g.Put("c", nil))
	require.NoError(t, g.Put("b", two))
	assert.Equal(t, []string{"a", "b"}, g.List())
	assert.True(t, g.Contains("a"))
	assert.False(t, g.Contains("c"))
	info, isThere := g.Info("a")
	require.True(t, isThere)
	assert.Equal(t, "one", info.ID)
	_, isThere = g.Info("c")
	assert.False(t, isThere)
	_, isThere = g.Get("c")
	assert.False(t, isThere)
	_, isThere = g.Remove("c")
	assert.False(t, isThere)

	held, isThere := g.Get("a")
	require.True(t, isThere)
	removed, isThere := g.Remove("a")
	require.True(t, isThere)
	assert.Same(t, one, held.Executor())
	assert.False(t, g.Contains("a"))
	require.NoError(t, removed.Release())
	requireError(t, device.CodeInvalidState, removed.Release(), "released")
	assert.False(t, one.HasEnded(), "another reference keeps the model open")
	require.NoError(t, held.Release())
	assert.True(t, one.HasEnded())
	require.NoError(t, g.Close())
	assert.True(t, two.HasEnded())
	assert.Empty(t, g.List())
}

func TestAModelThatIsClosedElsewhereCanBeReleased(t *testing.T) {
	r := newRig(t)
	g := model.NewRegistry()
	x := r.named("one")
	require.NoError(t, g.Put("a", x))
	require.NoError(t, x.Close(false))
	info, _ := g.Info("a")
	assert.Equal(t, model.StateClosed, info.State)
	require.NoError(t, g.Close())
}

func TestRegistryUnderThreads(t *testing.T) {
	r := newRig(t)
	g := model.NewRegistry()
	var closed atomic.Int64
	var over []<-chan struct{}
	for thread := range 4 {
		over = append(over, device.Go("registry", func() {
			for i := range 10 {
				name := fmt.Sprint(i % 3)
				s := r.settings(chain(t))
				s.ID = fmt.Sprint(thread, ".", i)
				x, err := model.New(context.Background(), s)
				if !assert.NoError(t, err) {
					return
				}
				if err := g.Put(name, x); err != nil {
					assert.ErrorIs(t, err, device.CodeAlreadyExists)
					assert.NoError(t, x.Close(false))
					closed.Add(1)
				}
				if of, isThere := g.Get(name); isThere {
					_ = of.Executor().Info()
					assert.NoError(t, of.Release())
				}
				if of, isThere := g.Remove(name); isThere {
					assert.NoError(t, of.Release())
					closed.Add(1)
				}
			}
		}))
	}
	for _, one := range over {
		<-one
	}
	require.NoError(t, g.Close())
}
