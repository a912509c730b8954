//go:build cgo && (amd64 || arm64) && linux

package engines

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
)

// Each type has one engine, which starts and has the name of its type.
func TestEveryEngineStarts(t *testing.T) {
	seen := map[backend.Type]bool{}
	for _, listed := range List() {
		assert.False(t, seen[listed.Type], "two engines of %v", listed.Type)
		seen[listed.Type] = true
		if listed.NewGraphs != nil {
			continue // its library may be missing
		}
		e, err := listed.New(compute.Options{Threads: 1})
		require.NoError(t, err)
		stated := e.Capabilities()
		assert.Equal(t, listed.Type.String(), stated.Name)
		assert.True(t, slices.Contains(stated.Operations["MatMul"], stated.Types[0]))
		e.Close()
	}
	assert.True(t, seen[backend.CPU])
	assert.True(t, seen[backend.ONNXRuntime])
}
