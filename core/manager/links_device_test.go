package manager_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/vmm"
	"ferrum_mem/drivers/testdevice"
)

// linked is one memory of the model: two handles, on two devices, and its bytes.
type linked struct {
	handles [2]manager.MemoryHandle
	content []byte
}

func (l *linked) alive() bool { return l.handles[0] != 0 || l.handles[1] != 0 }

// holds reads both live handles.
func (l *linked) holds(t require.TestingT, r *realRig) {
	for _, h := range l.handles {
		if h == 0 {
			continue
		}
		into := make([]byte, len(l.content))
		require.NoError(t, r.factory.Read(h, 0, hostAddr(into), uint64(len(into))))
		require.Equal(t, l.content, into)
	}
}

// The reference model of links between all pairs of devices: the live handles, and the
// bytes of each memory. At the end managers are closed while links are live.
func TestOnDeviceLinksAgainstByteArrays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := openReal(t, testdevice.Count(t))
		defer r.close(t)
		managers := make([]*manager.Manager, len(r.engines))
		for i := range managers {
			managers[i] = r.manager(t, i, false)
		}
		var live []*linked
		t.Repeat(map[string]func(*rapid.T){
			"link": func(t *rapid.T) {
				from := rapid.IntRange(0, len(managers)-1).Draw(t, "from")
				to := (from + rapid.IntRange(1, len(managers)-1).Draw(t, "to")) % len(managers)
				made := &linked{content: rapid.SliceOfN(rapid.Byte(), 1, 3000).Draw(t, "content")}
				var err error
				made.handles[0], made.handles[1], err = r.factory.CreateMapping(managers[from], managers[to],
					manager.LinkRequest{SizeBytes: uint64(len(made.content))})
				require.NoError(t, err)
				require.NoError(t, r.factory.Write(made.handles[0], 0, hostAddr(made.content), uint64(len(made.content))))
				live = append(live, made)
			},
			"write": func(t *rapid.T) {
				l, h := drawLinked(t, live)
				if h == 0 {
					return
				}
				at := rapid.IntRange(0, len(l.content)-1).Draw(t, "at")
				l.content[at]++
				require.NoError(t, r.factory.Write(h, uint64(at), hostAddr(l.content[at:]), 1))
			},
			"look": func(t *rapid.T) {
				if l, h := drawLinked(t, live); h != 0 {
					l.holds(t, r)
				}
			},
			"free": func(t *rapid.T) {
				l, h := drawLinked(t, live)
				if h == 0 {
					return
				}
				require.NoError(t, r.factory.Free(h))
				if l.handles[0] == h {
					l.handles[0] = 0
				} else {
					l.handles[1] = 0
				}
				for i := 0; i < len(live); i++ {
					if !live[i].alive() {
						live = append(live[:i], live[i+1:]...)
					}
				}
			},
		})
		for _, l := range live {
			l.holds(t, r)
		}
	})
}

// drawLinked picks a live handle; 0: there is none.
func drawLinked(t *rapid.T, live []*linked) (*linked, manager.MemoryHandle) {
	if len(live) == 0 {
		return nil, 0
	}
	l := live[rapid.IntRange(0, len(live)-1).Draw(t, "which")]
	side := rapid.IntRange(0, 1).Draw(t, "side")
	if l.handles[side] == 0 {
		side = 1 - side
	}
	return l, l.handles[side]
}

// The second device can be closed while the memory is live. A forced close of the first
// manager ends both handles.
func TestOnDeviceLinksEnd(t *testing.T) {
	r := openReal(t, 2)
	defer r.close(t)
	a, b := r.manager(t, 0, false), r.manager(t, 1, false)
	content := []byte("one memory of two devices")
	first, second, err := r.factory.CreateMapping(a, b, manager.LinkRequest{SizeBytes: uint64(len(content))})
	require.NoError(t, err)
	require.NoError(t, r.factory.Write(second, 0, hostAddr(content), uint64(len(content))))
	require.Equal(t, device.CodeBusy, device.CodeOf(b.Close(false)))
	require.NoError(t, b.Close(true))
	require.Equal(t, device.CodeInvalidHandle, device.CodeOf(r.factory.Free(second)))
	(&linked{handles: [2]manager.MemoryHandle{first}, content: content}).holds(t, r)
	require.NoError(t, r.factory.Free(first))

	b = r.manager(t, 1, false)
	first, second, err = r.factory.CreateMapping(a, b, manager.LinkRequest{SizeBytes: 64})
	require.NoError(t, err)
	require.NoError(t, a.Close(true))
	for _, h := range []manager.MemoryHandle{first, second} {
		require.Equal(t, device.CodeInvalidHandle, device.CodeOf(r.factory.Free(h)))
	}
	require.NoError(t, b.Close(false))
}

// Pages that a virtual pool exports by fabric handle can be blocks of a manager.
func TestOnDeviceImportedFabricPages(t *testing.T) {
	r := openReal(t, 1)
	defer r.close(t)
	e := r.engines[0]
	if !e.Info().FabricExporter {
		t.Skip("the device has no pages for other hosts")
	}
	page := r.pageBytes()
	p, err := vmm.NewPool(e, vmm.Config{
		Name: "exported", CapacityBytes: 8 * page, PageBytes: page, ReadyPages: -1, Backing: device.BackingFabric,
	})
	require.NoError(t, err)
	addr, err := p.Alloc(page, 3*page)
	if code := device.CodeOf(err); code == device.CodePermissionDenied || code == device.CodeUnsupported {
		require.NoError(t, p.Close(true))
		t.Skipf("no channel of the fabric is open to this process: %v", err)
	}
	require.NoError(t, err)
	_, count, err := p.ExportFabric(page, 3*page, 3*device.FabricHandleBytes-1)
	require.Equal(t, device.CodeBufferTooSmall, device.CodeOf(err))
	require.EqualValues(t, 3*device.FabricHandleBytes, count)
	_, _, err = p.Export(page, 3*page, 3)
	require.Equal(t, device.CodeInvalidArgument, device.CodeOf(err))
	handles, count, err := p.ExportFabric(page, 3*page, 3*device.FabricHandleBytes)
	require.NoError(t, err)
	require.Len(t, handles, int(count))
	m := r.manager(t, 0, false)
	h, err := m.Import(manager.Importation{FabricHandles: handles, PageBytes: page, Tag: "theirs"})
	require.NoError(t, err)
	require.Equal(t, manager.Adopted{Blocks: 1, Bytes: 3 * page}, m.Adopted())
	looks := testdevice.NewBytes(e.Device())
	require.NoError(t, r.factory.FillAsync(manager.Fill{Memory: h, SizeBytes: 3 * page,
		Pattern: device.Pattern{Value: 7, WidthBytes: 1}}, 0))
	require.NoError(t, e.Synchronize(device.Forever))
	_, other, err := looks.FirstOther(addr, 7, 3*page)
	require.NoError(t, err)
	require.False(t, other, "the range of the pool shows the bytes written to the block")
	for words, i := range map[string]manager.Importation{
		"want a multiple of 64": {FabricHandles: handles[:100], PageBytes: page},
		"want one of the three": {FabricHandles: handles, Files: []int{0}, PageBytes: page},
	} {
		_, err := m.Import(i)
		require.Equal(t, device.CodeInvalidArgument, device.CodeOf(err))
		require.ErrorContains(t, err, words)
	}
	require.NoError(t, r.factory.Free(h))
	require.NoError(t, m.Close(false))
	require.NoError(t, p.Close(true))
}

// Pages that a virtual pool exports by descriptor can be blocks of a manager: the same
// memory, as long as any of them exists.
func TestOnDeviceImportedPages(t *testing.T) {
	r := openReal(t, 1)
	defer r.close(t)
	e := r.engines[0]
	if !e.Info().Exporter {
		t.Skip("the device has no pages for other processes")
	}
	page := r.pageBytes()
	p, err := vmm.NewPool(e, vmm.Config{
		Name: "exported", CapacityBytes: 8 * page, PageBytes: page, ReadyPages: -1, Backing: device.BackingShareable,
	})
	require.NoError(t, err)
	addr, err := p.Alloc(page, 3*page)
	require.NoError(t, err)
	m := r.manager(t, 0, false)
	files, count, err := p.Export(page, 3*page, 3)
	require.NoError(t, err)
	require.EqualValues(t, 3, count)
	h, err := m.Import(manager.Importation{Files: files, PageBytes: page, Tag: "theirs"})
	require.NoError(t, err)
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.Equal(t, 3*page, info.SizeBytes)
	require.True(t, info.Adopted)
	require.Equal(t, manager.Adopted{Blocks: 1, Bytes: 3 * page}, m.Adopted())

	looks := testdevice.NewBytes(e.Device())
	require.NoError(t, r.factory.FillAsync(manager.Fill{Memory: h, SizeBytes: 3 * page,
		Pattern: device.Pattern{Value: 7, WidthBytes: 1}}, 0))
	require.NoError(t, e.Synchronize(device.Forever))
	_, other, err := looks.FirstOther(addr, 7, 3*page)
	require.NoError(t, err)
	require.False(t, other, "the range of the pool shows the bytes written to the block")

	for code, i := range map[device.Code]manager.Importation{
		device.CodeInvalidPageSize: {Files: files, PageBytes: 2 * page},
		device.CodeInvalidArgument: {},
	} {
		_, err := m.Import(i)
		require.Equal(t, code, device.CodeOf(err), "%v", err)
	}
	_, err = m.Import(manager.Importation{Files: append(files[:2:2], -1), PageBytes: page})
	require.Equal(t, device.CodeInvalidArgument, device.CodeOf(err), "the third one is none: %v", err)
	_, err = m.Import(manager.Importation{Files: files, PageBytes: 1 << 63})
	require.Equal(t, device.CodeInvalidPageSize, device.CodeOf(err), "%v", err)
	for _, file := range files {
		require.NoError(t, os.NewFile(uintptr(file), "page").Close())
	}
	require.NoError(t, p.Close(true))
	into := []byte{0, 0}
	require.NoError(t, r.factory.Read(h, 3*page-2, hostAddr(into), 2))
	require.Equal(t, []byte{7, 7}, into)
	require.Equal(t, device.CodeBusy, device.CodeOf(m.Close(false)))
	require.NoError(t, r.factory.Free(h))
	require.Equal(t, manager.Adopted{}, m.Adopted())
	require.NoError(t, m.Close(false))
}
