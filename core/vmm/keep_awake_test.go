package vmm

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// A Sleep waits for the calls that keep its tag awake, and for no other call.
func TestTagsThatMustStayAwake(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	keep(r.pool.physical, r.dev)
	for at, tag := range []string{"a", "b", ""} {
		_, err := r.pool.AllocTagged(AllocRequest{OffsetBytes: uint64(at) * page, SizeBytes: page, Tag: tag})
		require.NoError(t, err)
	}
	release, err := r.pool.KeepAwake("a")
	require.NoError(t, err)
	second, err := r.pool.KeepAwake("a")
	require.NoError(t, err)
	short, cancel := context.WithTimeout(background, 2*time.Millisecond)
	defer cancel()
	refused := func() {
		t.Helper()
		for _, tag := range []string{"a", ""} {
			_, err := r.pool.Sleep(background, SleepRequest{Tag: tag, NoWait: true})
			require.ErrorIs(t, err, device.CodeTimeout)
			require.ErrorContains(t, err, `a load into tag "a" of virtual pool "p" is still running`)
			_, err = r.pool.Sleep(short, SleepRequest{Tag: tag})
			require.ErrorIs(t, err, device.CodeTimeout)
			require.False(t, r.pool.IsAsleep(tag))
		}
		_, err := r.pool.AllocTagged(AllocRequest{OffsetBytes: 4 * page, SizeBytes: page, Tag: "a"})
		require.NoError(t, err, "the load may allocate")
		require.NoError(t, r.pool.Free(4*page, page, nil))
	}
	refused()
	_, err = r.pool.Sleep(background, SleepRequest{Tag: "b", NoWait: true})
	require.NoError(t, err)
	_, err = r.pool.KeepAwake("b")
	require.ErrorIs(t, err, device.CodeInvalidState)
	require.ErrorContains(t, err, `tag "b" is asleep`)
	release()
	release()
	refused()
	second()
	_, err = r.pool.Sleep(background, SleepRequest{Tag: "a", NoWait: true})
	require.NoError(t, err)
	_, err = r.pool.Wake(background, WakeRequest{})
	require.NoError(t, err)

	release, err = r.pool.KeepAwake("")
	require.NoError(t, err)
	_, err = r.pool.Sleep(background, SleepRequest{Tag: "p", NoWait: true})
	require.ErrorIs(t, err, device.CodeTimeout, "the tag of allocations without a tag is the name of the pool")
	done := make(chan error, 1)
	go func() {
		_, err := r.pool.Sleep(background, SleepRequest{})
		done <- err
	}()
	select {
	case err := <-done:
		require.Fail(t, "the sleep did not wait", err)
	case <-time.After(10 * time.Millisecond):
	}
	release()
	require.NoError(t, <-done)
	require.NoError(t, r.pool.space.audit())
	require.NoError(t, r.pool.Close(true))
	_, err = r.pool.KeepAwake("a")
	require.ErrorIs(t, err, device.CodeInvalidState)
}

// A forced end waits for those who keep a tag awake: they may access the memory.
func TestForcedEndsWaitForThoseWhoKeepATagAwake(t *testing.T) {
	for name, end := range map[string]func(p *party) error{
		"model": func(p *party) error { return p.shared.Unregister("m", true) },
		"pool":  func(p *party) error { return p.shared.Close(true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newParty(t, devicetest.Config{}, 10)
				m := p.model(t, "m", 0, 0, 0)
				get(t, m, 2)
				release, err := m.KeepAwake("m")
				require.NoError(t, err)
				done := make(chan error, 1)
				go func() { done <- end(p) }()
				synctest.Wait()
				require.Empty(t, done, "the end waits")
				require.Equal(t, 2, p.dev.Pages(), "the memory is still there")
				_, err = m.KeepAwake("m")
				require.Error(t, err, "no further call begins")
				release()
				require.NoError(t, <-done)
				if name == "model" {
					require.NoError(t, p.shared.Close(true))
				}
				require.Zero(t, p.dev.Pages())
				require.NoError(t, p.engine.Close())
			})
		})
	}
}

// A Sleep that waits for those who keep a tag awake ends with the model.
func TestClosesWhileATagMustStayAwake(t *testing.T) {
	p := newPartyBacked(t, device.BackingMovable, 10)
	m := p.model(t, "m", 0, 0, 0)
	get(t, m, 2)
	release, err := m.KeepAwake("m")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := m.Sleep(background, SleepRequest{})
		done <- err
	}()
	require.Eventually(t, func() bool {
		_, err := m.Sleep(background, SleepRequest{NoWait: true})
		require.ErrorIs(t, err, device.CodeTimeout)
		return len(done) == 0
	}, time.Second, time.Millisecond)
	ended := make(chan error, 1)
	go func() { ended <- p.shared.Unregister("m", true) }()
	require.ErrorIs(t, <-done, device.CodeModelNotFound)
	release()
	require.NoError(t, <-ended)
	_, err = m.KeepAwake("m")
	require.ErrorIs(t, err, device.CodeModelNotFound)
	p.quit(t)
}
