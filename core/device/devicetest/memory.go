package devicetest

import (
	"encoding/binary"

	"ferrum_mem/core/device"
)

// firstHostAddr is the first simulated host address.
const firstHostAddr = device.HostAddr(1) << 52

// HostBuffer assigns a simulated host address to a slice, for copies from and to the
// host. The address is not a pointer.
func (d *Device) HostBuffer(bytes []byte) device.HostAddr {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	return d.addHost(bytes)
}

func (d *Device) addHost(bytes []byte) device.HostAddr {
	addr := firstHostAddr + d.hostBytes
	d.hostBytes += device.HostAddr(len(bytes)) + 64
	d.hosts = append(d.hosts, hostBuffer{addr: addr, bytes: bytes})
	return addr
}

// Bytes returns a copy of a range of a backed device. It returns nil if the range lies
// in no segment and is not fully mapped. Access rights do not matter.
func (d *Device) Bytes(addr device.Addr, size uint64) []byte {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	found, err := d.locate("devicetest.bytes", addr, size, device.AccessNone)
	if err != nil || !d.driver.config.Backed {
		return nil
	}
	return found.read()
}

// place is the memory of a range: a part of one segment, or adjacent mapped pages.
type place struct {
	size uint64
	// bytes are the bytes of a segment; nil unless the device is backed.
	bytes  []byte
	pieces []piece
	backed bool
}

// locate finds a range with the needed access in the segments and reservations.
func (d *Device) locate(op string, addr device.Addr, size uint64, need device.Access) (place, error) {
	for start, s := range d.segments {
		if addr < start || uint64(addr-start) > s.size || size > s.size-uint64(addr-start) {
			continue
		}
		if other := s.linked.dev; other != nil {
			return other.locate(op, s.linked.addr+(addr-start), size, need)
		}
		if s.readOnly && need != device.AccessRead {
			return place{}, device.Errorf(device.CodePermissionDenied, op,
				"%v at %#x are adopted to be read only", device.Size(size), uint64(addr)).On(d.info.ID)
		}
		found := place{size: size, backed: s.bytes != nil}
		if found.backed {
			found.bytes = s.bytes[addr-start:][:size]
		}
		return found, nil
	}
	r := d.reservationOf(addr, size)
	if r == nil {
		return place{}, device.Errorf(device.CodeInvalidAddress, op,
			"%v at %#x lie in no segment", device.Size(size), uint64(addr)).On(d.info.ID)
	}
	pieces, covered := d.pieces(r, addr, size)
	if !covered {
		return place{}, device.Errorf(device.CodeNotMapped, op,
			"%v at %#x are not mapped throughout", device.Size(size), uint64(addr)).On(d.info.ID)
	}
	for _, part := range pieces {
		if part.page.access < need {
			return place{}, device.Errorf(device.CodePermissionDenied, op,
				"%v at %#x: the page at %#x has access %d, wanted is %d", device.Size(size), uint64(addr),
				uint64(r.base)+part.page.offset, part.page.access, need).On(d.info.ID)
		}
	}
	return place{size: size, pieces: pieces, backed: d.driver.config.Backed}, nil
}

// read returns a copy of the bytes; nil unless the device is backed.
func (p place) read() []byte {
	if !p.backed {
		return nil
	}
	out := append(make([]byte, 0, p.size), p.bytes...)
	for _, part := range p.pieces {
		out = part.page.appendTo(out, part.offset, part.size)
	}
	return out
}

// write writes bytes to the range, which has the same length. On a device without bytes
// it only records the write.
func (p place) write(bytes []byte) {
	copy(p.bytes, bytes)
	for _, part := range p.pieces {
		part.page.touched = true
		if p.backed {
			part.page.write(part.offset, bytes[:part.size])
			bytes = bytes[part.size:]
		}
	}
}

func (d *Device) hostSlice(op string, addr device.HostAddr, size uint64) ([]byte, error) {
	for _, h := range d.hosts {
		length := uint64(len(h.bytes))
		if addr >= h.addr && uint64(addr-h.addr) <= length && size <= length-uint64(addr-h.addr) {
			return h.bytes[addr-h.addr:][:size], nil
		}
	}
	return nil, device.Errorf(device.CodeInvalidAddress, op,
		"%v at host address %#x lie in no host buffer", device.Size(size), uint64(addr)).On(d.info.ID)
}

// transfer reads before it writes, so that overlapping ranges are copied as with
// memmove.
func (d *Device) transfer(op string, dst device.Addr, from *Device, src device.Addr, size uint64) error {
	source, err := from.locate(op, src, size, device.AccessRead)
	if err != nil {
		return err
	}
	target, err := d.locate(op, dst, size, device.AccessReadWrite)
	if err != nil {
		return err
	}
	target.write(source.read())
	return nil
}

func (d *Device) moveFromHost(dst device.Addr, src device.HostAddr, size uint64) error {
	from, err := d.hostSlice("devicetest.copy_from_host", src, size)
	if err != nil {
		return err
	}
	to, err := d.locate("devicetest.copy_from_host", dst, size, device.AccessReadWrite)
	if err != nil {
		return err
	}
	to.write(from)
	return nil
}

func (d *Device) moveToHost(dst device.HostAddr, src device.Addr, size uint64) error {
	to, err := d.hostSlice("devicetest.copy_to_host", dst, size)
	if err != nil {
		return err
	}
	from, err := d.locate("devicetest.copy_to_host", src, size, device.AccessRead)
	if err != nil {
		return err
	}
	copy(to, from.read())
	return nil
}

func (d *Device) fill(dst device.Addr, pattern device.Pattern, size uint64) error {
	to, err := d.locate("devicetest.fill", dst, size, device.AccessReadWrite)
	if err != nil {
		return err
	}
	if !to.backed {
		to.write(nil)
		return nil
	}
	var value [8]byte
	binary.LittleEndian.PutUint64(value[:], pattern.Value)
	bytes := make([]byte, size)
	for i := range bytes {
		bytes[i] = value[i%pattern.WidthBytes]
	}
	to.write(bytes)
	return nil
}

// CanCopyFrom returns true for every device of the same driver.
func (d *Device) CanCopyFrom(src device.Device) bool {
	other, ok := src.(*Device)
	return ok && other.driver == d.driver
}

// CopyFromPeer queues a copy from another device of the same driver.
func (d *Device) CopyFromPeer(stream device.Stream, dst device.Addr, src device.Device,
	srcAddr device.Addr, size uint64) error {
	s, ok := stream.(*Stream)
	if !ok || s.dev != d || !d.CanCopyFrom(src) {
		return device.Errorf(device.CodeUnsupported, "devicetest.copy_from_peer",
			"the stream or the source is not of this driver").On(d.info.ID)
	}
	from := src.(*Device)
	return s.push(CopyFromPeer, work{
		cost: 1, uses: [2]use{{from, srcAddr, size}, {d, dst, size}},
		run: func() error { return d.transfer("devicetest.copy_from_peer", dst, from, srcAddr, size) },
	})
}

var (
	_ device.Driver        = (*Driver)(nil)
	_ device.Device        = (*Device)(nil)
	_ device.Peer          = (*Device)(nil)
	_ device.HostVisible   = (*Device)(nil)
	_ device.VirtualMemory = (*Device)(nil)
	_ device.PinnedHost    = (*Device)(nil)
	_ device.Adopter       = (*Device)(nil)
	_ device.Linker        = (*Device)(nil)
	_ device.Prefetcher    = (*Device)(nil)
	_ device.StreamAdopter = (*Device)(nil)
	_ device.Stream        = (*Stream)(nil)
	_ device.Event         = (*Event)(nil)
)
