package library_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
)

func TestHandlersAreWatchedAsAskedFor(t *testing.T) {
	for _, c := range []struct {
		value    string
		settings *library.Settings
		leave    bool
	}{
		{"", nil, false},
		{"repair", nil, false},
		{"leave", nil, true},
		{"repair", &library.Settings{LeaveHandlers: true}, true},
	} {
		var asked []bool
		b := newBench(t, func(o *library.Options) { o.WatchHandlers = func(leave bool) { asked = append(asked, leave) } })
		b.env[library.EnvSignalHandlers] = c.value
		require.NoError(t, b.Init(c.settings))
		assert.Equal(t, []bool{c.leave}, asked, "%+v", c)
		require.NoError(t, b.Shutdown(false))
	}
	b := newBench(t)
	b.env[library.EnvSignalHandlers] = "yes"
	err := b.Init(nil)
	assert.ErrorIs(t, err, device.CodeInvalidConfig)
	assert.ErrorContains(t, err, `FERRUM_SIGNAL_HANDLERS="yes"`)
}

func TestHandlersAreLoggedAndRecorded(t *testing.T) {
	b := newBench(t)
	var said []string
	require.NoError(t, b.SetLog(library.LogInfo, func(level int32, message string) {
		said = append(said, fmt.Sprint(level, " ", message))
	}, true))
	early := library.Handler{Signal: 27, Name: "SIGPROF", Address: 1, Symbol: "tick", File: "libprofiler.so", Repaired: true}
	late := library.Handler{Signal: 10, Name: "SIGUSR1", Address: 0x20, Repaired: true}
	left := library.Handler{Signal: 40, Address: 3}
	b.ReportHandler(early)
	require.NoError(t, b.Init(nil))
	b.ReportHandler(late)
	b.ReportHandler(left)
	text, err := b.SnapshotJSON()
	require.NoError(t, err)
	require.NoError(t, b.Shutdown(false))
	require.NoError(t, b.SetLog(library.LogInfo, nil, true))

	all := strings.Join(said, "\n")
	assert.Contains(t, all, "1 signal handler without SA_ONSTACK; the flag was added: SIGPROF: tick of libprofiler.so")
	assert.Contains(t, all, "2 signal handler was installed without SA_ONSTACK after ferrum_init; the flag was added now: SIGUSR1: 0x20")
	assert.Contains(t, all, "2 signal handler without SA_ONSTACK, left as it is: signal 40: 0x3")
	var snapshot struct {
		Handlers []library.Handler `json:"signal_handlers"`
	}
	require.NoError(t, json.Unmarshal(text, &snapshot))
	late.Late, left.Late = true, true
	assert.Equal(t, []library.Handler{late, early, left}, snapshot.Handlers)
}

func TestRecordedHandlersAreBounded(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.Init(nil))
	for i := range 10000 {
		b.ReportHandler(library.Handler{Signal: 10, Address: uint64(i)})
	}
	text, err := b.SnapshotJSON()
	require.NoError(t, err)
	assert.Less(t, strings.Count(string(text), `"signal":10`), 1000)
	require.NoError(t, b.Shutdown(false))
}

func TestAStartThatCannotPrepareDoesNotStart(t *testing.T) {
	refused := device.Errorf(device.CodeResourceExhausted, "library.init", "no descriptor")
	prepared := 0
	b := newBench(t, func(o *library.Options) {
		o.Prepare = func() error {
			prepared++
			if prepared == 1 {
				return refused
			}
			return nil
		}
		o.WatchHandlers = func(bool) { assert.Equal(t, 2, prepared) }
	})
	assert.ErrorIs(t, b.Init(nil), device.CodeResourceExhausted)
	_, err := b.DeviceOpen("cpu:0")
	assert.ErrorIs(t, err, device.CodeNotInitialized)
	require.NoError(t, b.Init(nil))
	require.NoError(t, b.Init(nil), "a second init prepares nothing that could fail")
	assert.Equal(t, 2, prepared)
	require.NoError(t, b.Shutdown(false))
	require.NoError(t, b.Shutdown(false))
}
