package vmm

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device/devicetest"
)

// coming counts the comparisons of owners or spaces while that many models are
// registered and unregistered, in an order that is neither theirs nor its reverse.
func coming(t *testing.T, models int) (compared int) {
	t.Helper()
	p := newParty(t, devicetest.Config{}, 64)
	ph := p.shared.physical
	owners, spaces := ph.owners.Compare, ph.spaces.Compare
	ph.owners.Compare = func(a, b *owner) int { compared++; return owners(a, b) }
	ph.spaces.Compare = func(a, b *space) int { compared++; return spaces(a, b) }
	for i := range models {
		p.model(t, fmt.Sprint(i), 0, 64, int32(i%5))
	}
	for i := range models {
		require.NoError(t, p.shared.Unregister(fmt.Sprint((i*7919)%models), false))
	}
	require.NoError(t, p.shared.Close(false))
	require.NoError(t, p.engine.Close())
	return compared
}

// TestRegisterAndUnregisterCostLinearWork tests that one more or one less model does not sort
// all of them again.
func TestRegisterAndUnregisterCostLinearWork(t *testing.T) {
	const few = 200
	compared := coming(t, few)
	require.LessOrEqual(t, compared, 40*few)
	require.LessOrEqual(t, coming(t, 2*few), 3*compared+few)
}

// TestUnusedPagesAreTakenInOrderOfPriority tests that spaces and owners are in order of
// priority, and of registration among equal ones, while priorities change and models
// are unregistered.
func TestUnusedPagesAreTakenInOrderOfPriority(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 64)
	var models []*Model
	for i := range 40 {
		models = append(models, p.model(t, fmt.Sprint(i), 0, 64, int32(i%3)))
	}
	for i, m := range slices.Clone(models) {
		switch i % 4 {
		case 1:
			require.NoError(t, p.shared.SetModelLimits(m.id, ModelLimits{Priority: int32(i % 7)}))
		case 2:
			require.NoError(t, p.shared.Unregister(m.id, false))
			models = slices.DeleteFunc(models, func(other *Model) bool { return other == m })
		}
		want := slices.Clone(models)
		slices.SortStableFunc(want, func(a, b *Model) int { return int(a.space.owner.priority) - int(b.space.owner.priority) })
		for at, s := range p.shared.physical.spacesFrom(nil) {
			require.Same(t, want[at].space, s)
			require.Same(t, want[at].space.owner, p.shared.physical.owners.All()[at])
		}
		require.Equal(t, len(want), p.shared.physical.owners.Len())
	}
	require.NoError(t, p.shared.Close(true))
	require.NoError(t, p.engine.Close())
}
