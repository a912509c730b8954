package devicetest

import (
	"encoding/binary"

	"ferrum_mem/core/device"
)

// hostBuffer is a Go slice with a made-up host address.
type hostBuffer struct {
	addr  device.HostAddr
	bytes []byte
}

// firstHostAddr is where made-up host addresses start.
const firstHostAddr = device.HostAddr(1) << 52

// HostBuffer gives a slice a made-up host address, for the copies from and to
// the host. It is no pointer.
func (d *Device) HostBuffer(bytes []byte) device.HostAddr {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	addr := firstHostAddr
	if n := len(d.hosts); n > 0 {
		last := d.hosts[n-1]
		addr = last.addr + device.HostAddr(len(last.bytes)) + 64
	}
	d.hosts = append(d.hosts, hostBuffer{addr: addr, bytes: bytes})
	return addr
}

// Bytes copies out a range of a backed device; nil if it lies in no segment.
func (d *Device) Bytes(addr device.Addr, size uint64) []byte {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	part, err := d.slice("devicetest.bytes", addr, size)
	if err != nil {
		return nil
	}
	return append([]byte{}, part...)
}

// slice finds a range in the segments. On a device that is not backed it checks
// the range and gives nil.
func (d *Device) slice(op string, addr device.Addr, size uint64) ([]byte, error) {
	for start, s := range d.segments {
		if addr < start || uint64(addr-start) > s.size || size > s.size-uint64(addr-start) {
			continue
		}
		if s.bytes == nil {
			return nil, nil
		}
		return s.bytes[addr-start:][:size], nil
	}
	return nil, device.Errorf(device.CodeInvalidAddress, op,
		"%d bytes at %#x lie in no segment", size, uint64(addr)).On(d.info.ID)
}

func (d *Device) hostSlice(op string, addr device.HostAddr, size uint64) ([]byte, error) {
	for _, h := range d.hosts {
		length := uint64(len(h.bytes))
		if addr >= h.addr && uint64(addr-h.addr) <= length && size <= length-uint64(addr-h.addr) {
			return h.bytes[addr-h.addr:][:size], nil
		}
	}
	return nil, device.Errorf(device.CodeInvalidAddress, op,
		"%d bytes at host address %#x lie in no host buffer", size, uint64(addr)).On(d.info.ID)
}

func (d *Device) move(dst, src device.Addr, size uint64) error {
	from, err := d.slice("devicetest.copy", src, size)
	if err != nil {
		return err
	}
	to, err := d.slice("devicetest.copy", dst, size)
	if err != nil {
		return err
	}
	copy(to, from)
	return nil
}

func (d *Device) moveFromHost(dst device.Addr, src device.HostAddr, size uint64) error {
	from, err := d.hostSlice("devicetest.copy_from_host", src, size)
	if err != nil {
		return err
	}
	to, err := d.slice("devicetest.copy_from_host", dst, size)
	if err != nil {
		return err
	}
	copy(to, from)
	return nil
}

func (d *Device) moveToHost(dst device.HostAddr, src device.Addr, size uint64) error {
	to, err := d.hostSlice("devicetest.copy_to_host", dst, size)
	if err != nil {
		return err
	}
	from, err := d.slice("devicetest.copy_to_host", src, size)
	if err != nil {
		return err
	}
	copy(to, from)
	return nil
}

func (d *Device) fill(dst device.Addr, pattern device.Pattern, size uint64) error {
	to, err := d.slice("devicetest.fill", dst, size)
	if err != nil {
		return err
	}
	var bytes [4]byte
	binary.LittleEndian.PutUint32(bytes[:], pattern.Value)
	for i := range to {
		to[i] = bytes[i%pattern.WidthBytes]
	}
	return nil
}

// CanCopyFrom says yes to every device of the same driver.
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
	return s.push(CopyFromPeer, work{cost: 1, run: func() error {
		from, err := src.(*Device).slice("devicetest.copy_from_peer", srcAddr, size)
		if err != nil {
			return err
		}
		to, err := d.slice("devicetest.copy_from_peer", dst, size)
		if err != nil {
			return err
		}
		copy(to, from)
		return nil
	}})
}

var (
	_ device.Driver      = (*Driver)(nil)
	_ device.Device      = (*Device)(nil)
	_ device.Peer        = (*Device)(nil)
	_ device.HostVisible = (*Device)(nil)
	_ device.Stream      = (*Stream)(nil)
	_ device.Event       = (*Event)(nil)
)
