package main

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/drivers/host"
)

// room is a device and its free memory.
type room struct {
	device                string
	totalBytes, freeBytes uint64
}

// rooms returns the requested devices, or the hypothetical device of the flags.
func (f fitFlags) rooms(cmd *cobra.Command, s streams) ([]room, error) {
	size := func(name, text string) (uint64, error) {
		bytes, err := host.ParseSize(text)
		if err != nil {
			return 0, usagef(cmd, "--%s %s", name, message(err))
		}
		return bytes, nil
	}
	if cmd.Flags().Changed("memory") {
		if cmd.Flags().Changed("device") || cmd.Flags().Changed("limit") {
			return nil, usagef(cmd, "--memory queries no device: use it without --device and --limit")
		}
		bytes, err := size("memory", f.memory)
		return []room{{device: "memory", totalBytes: bytes, freeBytes: bytes}}, err
	}
	limit := ^uint64(0)
	if cmd.Flags().Changed("limit") {
		var err error
		if limit, err = size("limit", f.limit); err != nil {
			return nil, err
		}
	}
	for _, id := range f.devices {
		if _, err := device.ParseID(id); err != nil {
			return nil, usagef(cmd, "--device: %s", message(err))
		}
	}
	rooms, err := readRooms(s, f.devices)
	for i := range rooms {
		rooms[i].freeBytes = min(rooms[i].freeBytes, limit)
	}
	return rooms, err
}

// found is the result of discovery about devices and their memory.
type found struct {
	Backends []struct {
		Usable  bool `json:"usable"`
		Devices []struct {
			ID         string `json:"id"`
			TotalBytes uint64 `json:"total_bytes"`
			// FreeBytes is null if it is not known.
			FreeBytes *uint64 `json:"free_bytes"`
		} `json:"devices"`
	} `json:"backends"`
}

// readRooms queries the free memory of the devices with these ids, or of all devices.
func readRooms(s streams, ids []string) (rooms []room, err error) {
	defer busy(s.progress, "looking for devices")()
	l := newLibrary(s)
	if err := l.Init(nil); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Shutdown(false)) }()
	if len(ids) == 0 {
		return allRooms(l)
	}
	for _, id := range ids {
		r, err := readRoom(l, id)
		if err != nil {
			if r, err = discoveredRoom(l, id, err); err != nil {
				return nil, err
			}
		}
		rooms = append(rooms, r)
	}
	return rooms, nil
}

// allRooms queries every device. For a device that cannot be opened, because its backend
// has no driver in this build or an old one, it uses the result of discovery.
func allRooms(l *library.Library) (rooms []room, err error) {
	f, err := discovered(l)
	if err != nil {
		return nil, err
	}
	for _, b := range f.Backends {
		for _, d := range b.Devices {
			if b.Usable {
				r, err := readRoom(l, d.ID)
				if err == nil {
					rooms = append(rooms, r)
					continue
				}
				if d.FreeBytes == nil {
					return nil, err
				}
			}
			if d.FreeBytes != nil {
				rooms = append(rooms, room{device: d.ID, totalBytes: d.TotalBytes, freeBytes: *d.FreeBytes})
			}
		}
	}
	if len(rooms) == 0 {
		return nil, device.Errorf(device.CodeBackendUnavailable, "fit.devices", "there is no device; see 'ferrum-mem devices' for the reasons")
	}
	return rooms, nil
}

// readRoom opens a device and queries it.
func readRoom(l *library.Library, id string) (room, error) {
	handle, err := l.DeviceOpen(id)
	if err != nil {
		return room{}, ofDevice(id, err)
	}
	dev, err := l.Device("fit", handle)
	if err != nil {
		return room{}, err
	}
	info, err := dev.MemoryInfo()
	if err := errors.Join(err, dev.Close(false)); err != nil {
		return room{}, err
	}
	return room{device: id, totalBytes: info.TotalBytes, freeBytes: info.FreeBytes}, nil
}

// discoveredRoom returns the result of discovery for a device that cannot be opened. If
// discovery has no value either, the error is why.
func discoveredRoom(l *library.Library, id string, why error) (room, error) {
	f, err := discovered(l)
	if err != nil {
		return room{}, err
	}
	parsed, err := device.ParseID(id)
	if err != nil {
		return room{}, err
	}
	return f.room(parsed.String(), why)
}

func (f found) room(id string, why error) (room, error) {
	for _, b := range f.Backends {
		for _, d := range b.Devices {
			if d.ID == id && d.FreeBytes != nil {
				return room{device: id, totalBytes: d.TotalBytes, freeBytes: *d.FreeBytes}, nil
			}
		}
	}
	return room{}, why
}

func discovered(l *library.Library) (f found, err error) {
	text, err := l.BackendsJSON()
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(text, &f)
}
