package vmm

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// Pages that others use do not back a guarantee. A new guarantee is rejected with the
// backed bytes, and existing ones do not change.
func TestGuaranteeWithoutBackingPagesIsRejected(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 100)
	g, b := p.model(t, "g", 50, 0, 0), p.model(t, "b", 0, 0, 0)
	used := get(t, b, 40)
	get(t, g, 1)
	config := ModelConfig{VirtualBytes: 64 * page, GuaranteedBytes: 50 * page}
	_, err := p.shared.Register("d", config)
	refused(t, err, device.CodeOutOfPhysicalMemory, "guaranteed_bytes "+text(50*page), "pages back "+sized(10*page)+" of them",
		fmt.Sprintf("limit of %v %v are in use, and %v more are guaranteed", device.Size(100*page), device.Size(41*page), device.Size(49*page)))
	p.check(t)
	d := p.model(t, "d", 10, 0, 0)
	raised := ModelLimits{GuaranteedBytes: 11 * page}
	refused(t, p.shared.SetModelLimits("d", raised), device.CodeOutOfPhysicalMemory, "pages back "+sized(10*page)+" of them")
	require.Equal(t, 10*page, d.Stats().RequestedGuaranteeBytes)
	// A guarantee of the pages that the model already uses needs no further page.
	require.NoError(t, p.shared.SetModelLimits("b", ModelLimits{GuaranteedBytes: 40 * page}))
	require.NoError(t, p.shared.SetModelLimits("b", ModelLimits{}))
	// Each model gets its guarantee at once.
	get(t, g, 49)
	get(t, d, 10)
	p.check(t)
	free(t, b, used)
	p.quit(t)
}

// A guarantee that may wait grows as pages are freed, before waiting allocations get
// them. It is rejected if it could never be complete.
func TestGuaranteeWaitsForPages(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 20)
	b := p.model(t, "b", 0, 0, 2)
	first, middle, third := get(t, b, 4), get(t, b, 6), get(t, b, 6)
	late := ModelConfig{VirtualBytes: 64 * page, GuaranteedBytes: 10 * page, GuaranteeMayWait: true}
	d, err := p.shared.Register("d", late)
	require.NoError(t, err)
	effective := func(pages uint64) {
		t.Helper()
		stats := d.Stats()
		require.Equal(t, []uint64{pages * page, 10 * page}, []uint64{stats.GuaranteedBytes, stats.RequestedGuaranteeBytes})
		require.Equal(t, pages*page, p.shared.GlobalStats().GuaranteedBytes)
		p.check(t)
	}
	effective(4)
	late.GuaranteedBytes = 11 * page
	refused(t, second(p.shared.Register("e", late)), device.CodeInvalidConfig, "above the limit of "+sized(20*page))
	refused(t, p.shared.SetLimit(9*page), device.CodeInvalidConfig, "the 10 that models are guaranteed")
	free(t, b, first)
	effective(8)
	get(t, d, 8)
	effective(8)
	free(t, b, middle)
	effective(10)
	get(t, d, 2)
	// A guarantee above its request does not wait for the others.
	get(t, b, 4)
	require.NoError(t, p.shared.SetModelLimits("d", ModelLimits{GuaranteedBytes: 3 * page}))
	require.Equal(t, 3*page, d.Stats().GuaranteedBytes)
	free(t, b, third)
	p.quit(t)
}

// Pages are freed in all possible ways: the work of a freed range completes, the limit
// is raised, another guarantee is lowered, a model is unregistered.
func TestWaitingGuaranteeGrowsWhenPagesAreFreed(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 10)
	b, c := p.model(t, "b", 0, 0, 0), p.model(t, "c", 2, 0, 0)
	used := get(t, b, 6)
	get(t, b, 2)
	wants := ModelLimits{GuaranteedBytes: 8 * page, GuaranteeMayWait: true}
	d := p.model(t, "d", 0, 0, 0)
	require.NoError(t, p.shared.SetModelLimits("d", wants))
	has := func(pages uint64) { t.Helper(); require.Equal(t, pages*page, d.Stats().GuaranteedBytes) }
	has(0)
	require.NoError(t, p.shared.SetLimit(11*page))
	has(1)
	require.NoError(t, p.shared.SetModelLimits("c", ModelLimits{GuaranteedBytes: page}))
	has(2)
	require.NoError(t, p.shared.Unregister(c.ID(), false))
	has(3)
	queued(t, p.dev.Default())
	free(t, b, used)
	has(3)
	refused(t, second(p.shared.Register("e", ModelConfig{VirtualBytes: page, GuaranteedBytes: page})),
		device.CodeOutOfPhysicalMemory, "pages back 0 bytes of them")
	p.dev.Default().Release()
	// A request parks the ranges whose work has completed.
	_, err := p.shared.Register("e", ModelConfig{VirtualBytes: page, GuaranteedBytes: page})
	require.NoError(t, err)
	has(8)
	p.quit(t)
}
