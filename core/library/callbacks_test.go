package library_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pressure"
)

func TestPressureCallbacksHearOfTheirDevice(t *testing.T) {
	b := startBench(t)
	dev, other := b.open("test:0"), b.open("test:1")
	type news struct {
		device uint64
		level  int32
	}
	heard := make(chan news, 8)
	hear := func(d uint64, level int32) { heard <- news{d, level} }
	first, err := b.PressureCallbackAdd(dev, 1, hear)
	require.NoError(t, err)
	_, err = b.PressureCallbackAdd(other, 2, hear)
	require.NoError(t, err)
	p := b.pool(dev)
	addr, err := b.PoolAlloc(p, capacity/100*90, 0)
	require.NoError(t, err)
	require.Equal(t, news{dev, int32(pressure.High)}, <-heard)
	require.NoError(t, b.RegistrationRemove(first, nil))
	requireCode(t, device.CodeInvalidHandle, b.RegistrationRemove(first, nil))
	require.NoError(t, b.PoolFree(p, addr, 0))
	require.NoError(t, at(b.Pool, p).Destroy(false))
	require.NoError(t, at(b.Device, dev).Close(false))
	require.Empty(t, heard, "no event arrives after the removal or from another device")
}

func TestPressureCallbackRemovesItself(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	const token = 42
	id := make(chan uint64, 1)
	removed := make(chan error, 1)
	registration, err := b.PressureCallbackAdd(dev, token, func(uint64, int32) {
		removed <- b.RegistrationRemove(<-id, []uint64{token})
	})
	require.NoError(t, err)
	id <- registration
	_, err = b.PoolAlloc(b.pool(dev), capacity/100*90, 0)
	require.NoError(t, err)
	require.NoError(t, <-removed)
}

func TestReclaimCallbackFreesForAnAllocation(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	p := b.pool(dev)
	spare, err := b.PoolAlloc(p, capacity/2, 0)
	require.NoError(t, err)
	var asked []uint64
	id, err := b.ReclaimCallbackAdd(dev, 1, engine.ReclaimConfig{Deadline: time.Hour}, func(d, needed uint64) uint64 {
		if d != dev {
			panic("asked for another device")
		}
		asked = append(asked, needed)
		if err := b.PoolFree(p, spare, 0); err != nil {
			panic(err)
		}
		return capacity / 2
	})
	require.NoError(t, err)
	_, err = b.PoolAlloc(p, capacity/4*3, 0)
	require.NoError(t, err)
	require.Len(t, asked, 1)
	require.NoError(t, b.RegistrationRemove(id, nil))
}

func TestCallbacksRefuseBadArguments(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	_, err := b.PressureCallbackAdd(dev, 1, nil)
	requireCode(t, device.CodeNullPointer, err)
	_, err = b.ReclaimCallbackAdd(dev, 1, engine.ReclaimConfig{}, nil)
	requireCode(t, device.CodeNullPointer, err)
	_, err = b.PressureCallbackAdd(0, 1, func(uint64, int32) {})
	requireCode(t, device.CodeInvalidHandle, err)
	requireCode(t, device.CodeInvalidHandle, b.RegistrationRemove(0, nil))
	requireCode(t, device.CodeInvalidHandle, b.RegistrationRemove(dev, nil))
	require.NoError(t, at(b.Device, dev).Close(false))
}
