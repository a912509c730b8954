package library

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/pool"
)

// A kind that the library knows only from its registration. It uses a block of a pool,
// like an object of a package above pools, or, without a device, nothing.

const dummyKind = handle.Kind(200)

type dummy struct {
	object
	device *Device
	uses   *Pool
	block  device.Addr
	ended  *[]string
	over   bool
	refuse error
}

func (d *dummy) hasEnded() bool         { return d.over }
func (d *dummy) of(parent *Device) bool { return d.device == parent }
func (d *dummy) snapshot(_ *Device, s deviceSnapshot) {
	s.add("dummies", map[string]any{"block": d.block})
}
func (d *dummy) known() (uint64, *engine.Engine) {
	if d.device == nil {
		return d.id(), nil
	}
	return d.id(), d.device.Engine
}

func (d *dummy) leak() leak {
	_, e := d.known()
	return d.alive("dummy", e)
}

func (d *dummy) addMemory(_ *Library, r *leakReport) {
	if d.device != nil {
		r.add(leak{Kind: "dummy_memory", Device: d.device.Engine.ID().String(), Handle: d.id(), Address: uint64(d.block), Bytes: 7})
	}
}

func (d *dummy) ownerAt(_ *Device, addr device.Addr) (Owner, bool) {
	return Owner{BlockInfo: pool.BlockInfo{Addr: dummyAddr}, PoolName: "dummy"}, addr == dummyAddr
}

func (d *dummy) endByForce(l *Library, id uint64) error {
	if d.refuse != nil {
		return d.refuse
	}
	table := dummiesOf(l)
	if _, err := table.Remove(id); err != nil {
		return err
	}
	d.over = true
	whole := d.uses == nil || !d.uses.hasEnded()
	*d.ended = append(*d.ended, fmt.Sprintf("%#x, what it uses is whole: %t", id, whole))
	return nil
}

// dummyAddr is in no pool.
const dummyAddr = device.Addr(1) << 60

func dummiesOf(l *Library) *handle.Table[*dummy] {
	return l.registry.kinds[len(l.registry.kinds)-1].(*shelf[*dummy]).table
}

// dummies is a library with two devices and one dummy on the first of them.
type dummies struct {
	*Library
	t        *testing.T
	dev, on  uint64
	made     *dummy
	ended    []string
	messages []string
}

func newDummies(t *testing.T) *dummies {
	l := New(Options{Drivers: func(Settings) ([]device.Driver, error) {
		return []device.Driver{devicetest.New(devicetest.Config{Devices: 2, TotalBytes: 64 << 20})}, nil
	}, Getenv: func(string) string { return "" }})
	b := &dummies{Library: l, t: t}
	l.registry.kinds = append(l.registry.kinds, &shelf[*dummy]{
		kind: dummyKind, table: handle.New[*dummy](dummyKind), is: traits{listed: listedFirst, records: []string{"dummies"}},
	})
	require.NoError(t, l.Init(nil))
	require.NoError(t, l.SetLog(LogWarning, func(_ int32, message string) { b.messages = append(b.messages, message) }, false))
	var err error
	b.dev, err = l.DeviceOpen("test:0")
	require.NoError(t, err)
	_, err = l.DeviceOpen("test:1")
	require.NoError(t, err)
	settings := pool.DefaultConfig()
	settings.InitialSizeBytes, settings.GrowthIncrementBytes = 1<<20, 1<<20
	below, err := l.PoolCreate(b.dev, &settings)
	require.NoError(t, err)
	d, err := l.registry.devices.Get(b.dev)
	require.NoError(t, err)
	b.made = &dummy{device: d, ended: &b.ended}
	b.made.uses, err = l.registry.pools.Get(below)
	require.NoError(t, err)
	b.made.block, err = l.PoolAlloc(below, 4096, 0)
	require.NoError(t, err)
	b.on = b.add(b.made)
	return b
}

func (b *dummies) add(d *dummy) uint64 {
	id, err := insert(b.Library, dummiesOf(b.Library), d)
	require.NoError(b.t, err)
	return id
}

// device returns the first device.
func (b *dummies) device() *Device {
	d, err := b.Device("test", b.dev)
	require.NoError(b.t, err)
	return d
}

// call makes a failing call of a dummy, like an export.
func (b *dummies) call(id uint64) error {
	d, err := find(b.Library, dummiesOf(b.Library), "dummy.call", id)
	if err != nil {
		return err
	}
	return CallError(device.Errorf(device.CodeDevice, "dummy.call", "it is over"), d)
}

func (b *dummies) leaks(kind string) (found []leak) {
	var report leakReport
	require.NoError(b.t, json.Unmarshal(b.LeakReportJSON(), &report))
	for _, one := range report.Leaks {
		if one.Kind == kind {
			found = append(found, one)
		}
	}
	return found
}

func TestADummyKindIsInTheReports(t *testing.T) {
	b := newDummies(t)
	none := b.add(&dummy{ended: &b.ended})
	all := b.leaks("dummy")
	require.Len(t, all, 2)
	require.Equal(t, b.on, all[0].Handle)
	require.Equal(t, "test:0", all[0].Device)
	require.Equal(t, none, all[1].Handle)
	require.Empty(t, all[1].Device)
	memory := b.leaks("dummy_memory")
	require.Len(t, memory, 1)
	require.EqualValues(t, b.made.block, memory[0].Address)

	text, err := b.SnapshotJSON()
	require.NoError(t, err)
	var s struct {
		Devices []map[string]json.RawMessage `json:"devices"`
	}
	require.NoError(t, json.Unmarshal(text, &s))
	require.JSONEq(t, fmt.Sprintf(`[{"block": %d}]`, b.made.block), string(s.Devices[0]["dummies"]))
	require.JSONEq(t, `[]`, string(s.Devices[1]["dummies"]), "an empty list is there")

	owner, err := b.device().Owner(dummyAddr)
	require.NoError(t, err)
	require.Equal(t, "dummy", owner.PoolName)
	_, err = b.device().Owner(dummyAddr + 1)
	require.Equal(t, device.CodeNotFound, device.CodeOf(err))
	require.NoError(t, b.Shutdown(true))
}

func TestADummyKindKeepsItsDeviceOpenAndEndsWithIt(t *testing.T) {
	b := newDummies(t)
	none := b.add(&dummy{ended: &b.ended})
	err := b.device().Close(false)
	require.Equal(t, device.CodeBusy, device.CodeOf(err))
	require.ErrorContains(t, err, "1 pool, 1 unknown and 1 block")
	require.ErrorContains(t, b.Shutdown(false), "2 unknowns")

	require.NoError(t, b.device().Close(true))
	require.Equal(t, []string{fmt.Sprintf("%#x, what it uses is whole: true", b.on)}, b.ended)
	table := dummiesOf(b.Library)
	require.Equal(t, device.CodeInvalidHandle, device.CodeOf(b.call(b.on)))
	require.Equal(t, device.CodeDevice, device.CodeOf(b.call(none)), "the object without a device stays")
	late, err := insert(b.Library, table, b.made)
	require.NoError(t, err)
	err = b.call(late)
	require.Equal(t, device.CodeInvalidHandle, device.CodeOf(err), "a handle that was inserted late is rejected")
	require.NoError(t, b.Shutdown(true))
	// All messages have been delivered by now.
	require.Contains(t, fmt.Sprint(b.messages), fmt.Sprintf("test:0: forced close of a device: freed dummy, handle %#x", b.on))
}

func TestObjectThatCannotEndKeepsItsDeviceOpen(t *testing.T) {
	b := newDummies(t)
	b.made.refuse = device.Errorf(device.CodeDevice, "dummy.end", "not now")
	require.Equal(t, device.CodeDevice, device.CodeOf(b.device().Close(true)))
	require.Empty(t, b.ended)
	_, err := b.Device("test", b.dev)
	require.NoError(t, err)
	require.Zero(t, b.registry.pools.Len(), "the others have ended")
	require.Equal(t, device.CodeDevice, device.CodeOf(b.Shutdown(true)))
	b.made.refuse = nil
	require.NoError(t, b.device().Close(true))
	require.Len(t, b.ended, 1)
	require.NoError(t, b.Shutdown(true))
}

func TestADummyKindEndsWithTheLibrary(t *testing.T) {
	b := newDummies(t)
	none := b.add(&dummy{ended: &b.ended})
	require.NoError(t, b.Shutdown(true))
	require.Equal(t, []string{
		fmt.Sprintf("%#x, what it uses is whole: true", none), fmt.Sprintf("%#x, what it uses is whole: true", b.on),
	}, b.ended)
	require.Len(t, b.leaks("dummy"), 2, "the report of the stop has them")
	require.Zero(t, dummiesOf(b.Library).Len())
	_, err := b.Device("test", b.dev)
	require.Equal(t, device.CodeNotInitialized, device.CodeOf(err))
}
