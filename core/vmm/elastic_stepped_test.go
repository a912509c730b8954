package vmm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// A stepped pool has no worker. Freed pages stay until the caller ends a window, and
// pages that go to another model are counted.
func TestAPoolWithoutAWorkerKeepsFreedPages(t *testing.T) {
	e := engine.New(devicetest.Open(devicetest.Config{TotalBytes: 64 * mib}), engine.Options{})
	s, err := NewElastic(e, ElasticConfig{Name: "stepped", LimitBytes: 4 * page, PageBytes: page, ReadyPages: -1, Stepped: true})
	require.NoError(t, err)
	p := &party{engine: e, shared: s}
	a, b := p.model(t, "a", 0, 0, 0), p.model(t, "b", 0, 0, 0)
	all := get(t, a, 4)
	free(t, a, all)
	assert.EqualValues(t, 4*page, s.GlobalStats().HeldBytes)
	all = get(t, b, 3)
	assert.EqualValues(t, 3, b.Stats().MovedPages)
	assert.Zero(t, a.Stats().MovedPages)
	free(t, b, all)
	free(t, b, get(t, b, 3))
	assert.EqualValues(t, 3, b.Stats().MovedPages, "its own pages do not move")
	s.Physical().Tick()
	s.Physical().Tick()
	assert.Zero(t, s.GlobalStats().HeldBytes, "pages that no one requested for a window are released")
	require.NoError(t, s.Close(false))
	require.NoError(t, e.Close())
}
