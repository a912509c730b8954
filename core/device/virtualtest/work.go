package virtualtest

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// Work on mapped and unmapped ranges: by streams and by the process.

// stretch draws a range of cells.
func (p *program) stretch() (device.Addr, uint64) {
	addr, size := p.spread()
	addr -= addr % device.Addr(p.model.cellBytes())
	skip := device.Addr(rapid.IntRange(0, cellsOfGranule).Draw(p.t, "skip")) * device.Addr(p.model.cellBytes())
	size = uint64(rapid.IntRange(1, int(max(size/p.model.cellBytes(), 1))).Draw(p.t, "cells")) * p.model.cellBytes()
	return addr + skip, size
}

// queued waits for the work of a stream. A device may reject it at once or when it
// runs.
func (p *program) queued(err error) error {
	if err != nil {
		return err
	}
	return p.dev.DefaultStream().Synchronize(device.Forever)
}

func (p *program) write(addr device.Addr, values []byte) {
	for i, value := range values {
		*p.model.cell(addr + device.Addr(i)*device.Addr(p.model.cellBytes())) = value
	}
	p.touch(addr, uint64(len(values))*p.model.cellBytes())
}

// touch records that the pages under a range may have memory. Reading zeros may also
// allocate it.
func (p *program) touch(addr device.Addr, size uint64) {
	found, _ := p.model.under(addr, size)
	for _, x := range found {
		x.touched = true
	}
}

func (p *program) fill(*rapid.T) {
	addr, size := p.stretch()
	value := rapid.Byte().Draw(p.t, "value")
	var err error
	if rapid.Bool().Draw(p.t, "stream") {
		err = p.queued(p.dev.DefaultStream().Fill(addr, device.Pattern{Value: uint64(value), WidthBytes: 1}, size))
	} else {
		err = p.dev.visible.FillNow(addr, value, size)
	}
	if p.expect(p.model.useCode(addr, size, device.AccessReadWrite), err, "fill %#x, %d", addr, size) {
		p.write(addr, slices.Repeat([]byte{value}, int(size/p.model.cellBytes())))
	}
}

func (p *program) copy(*rapid.T) {
	src, size := p.stretch()
	dst, _ := p.stretch()
	err := p.queued(p.dev.DefaultStream().Copy(dst, src, size))
	read, write := p.model.useCode(src, size, device.AccessRead), p.model.useCode(dst, size, device.AccessReadWrite)
	if read != device.CodeOK || write != device.CodeOK {
		wrong := slices.DeleteFunc([]device.Code{read, write}, func(c device.Code) bool { return c == device.CodeOK })
		require.Contains(p.t, wrong, device.CodeOf(err), "copy to %#x from %#x, %d: %v", dst, src, size, err)
		return
	}
	require.NoError(p.t, err)
	values := make([]byte, size/p.model.cellBytes())
	for i := range values {
		values[i] = *p.model.cell(src + device.Addr(i)*device.Addr(p.model.cellBytes()))
	}
	p.touch(src, size)
	p.write(dst, values)
}

func (p *program) look(*rapid.T) {
	addr, size := p.stretch()
	code := p.model.useCode(addr, size, device.AccessRead)
	if code != device.CodeOK {
		_, _, err := p.dev.visible.FirstOther(addr, 0, size)
		p.expect(code, err, "look at %#x, %d", addr, size)
		return
	}
	p.compare(addr, size)
}

// compare compares a readable range with the model.
func (p *program) compare(addr device.Addr, size uint64) {
	for at := addr; at < addr+device.Addr(size); at += device.Addr(p.model.cellBytes()) {
		want := *p.model.cell(at)
		found, other, err := p.dev.visible.FirstOther(at, want, p.model.cellBytes())
		require.NoError(p.t, err)
		require.False(p.t, other, "at %#x of %#x: %v, wanted is %d", found.OffsetBytes, at, found, want)
	}
	p.touch(addr, size)
}

// end checks every page, mapped where it is or at a new address, and releases
// everything.
func (p *program) end() {
	for _, x := range slices.Clone(p.model.pages) {
		if !x.mapped {
			addr, err := p.dev.Reserve(x.bytes, x.bytes)
			require.NoError(p.t, err)
			p.model.reservations = append(p.model.reservations, reservation{addr: addr, size: x.bytes})
			require.NoError(p.t, p.dev.Map(addr, []device.Page{x.number}))
			p.model.mapPages(addr, []device.Page{x.number})
		}
		require.NoError(p.t, p.dev.SetAccess(x.addr, x.bytes, device.AccessRead))
		x.access = device.AccessRead
	}
	for _, x := range p.model.pages {
		p.compare(x.addr, x.bytes)
	}
	p.giveBack()
}

// giveBack removes everything of the program from the device.
func (p *program) giveBack() {
	for _, x := range p.model.pages {
		if x.mapped {
			require.NoError(p.t, p.dev.Unmap(x.addr, x.bytes))
		}
		require.NoError(p.t, p.dev.Release([]device.Page{x.number}))
	}
	for _, r := range p.model.reservations {
		require.NoError(p.t, p.dev.Unreserve(r.addr, r.size))
	}
	p.model = model{granule: p.model.granule, at: map[device.Addr]*page{}}
}
