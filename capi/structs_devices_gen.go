// Code generated from include/ferrum_mem/devices.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/discover"
	"ferrum_mem/core/library"
)

// putBackendChoice fills a ferrum_backend_choice.
func putBackendChoice(to *C.ferrum_backend_choice, from *discover.Choice) {
	set(&to.backend, from.Backend)
	set(&to.device_index, from.Device.ID.Index)
	set(&to.total_bytes, from.Device.TotalBytes)
	set(&to.free_bytes, from.Device.FreeBytes)
	putText(to.id[:], from.Device.ID.String())
	putText(to.tried[:], from.Tried())
}

// putHostInfo fills a ferrum_host_info.
func putHostInfo(to *C.ferrum_host_info, from *library.HostInfo) {
	setTruth(&to.available_known, from.AvailableKnown)
	set(&to.total_bytes, from.TotalBytes)
	set(&to.available_bytes, from.AvailableBytes)
	putText(to.cpu_name[:], from.Processor)
}

// putDeviceInfo fills a ferrum_device_info.
func putDeviceInfo(to *C.ferrum_device_info, from *library.DeviceInfo) {
	set(&to.ordinal, from.ID.Index)
	set(&to.capabilities, from.Capabilities)
	set(&to.total_bytes, from.TotalBytes)
	set(&to.granularity_bytes, from.GranularityBytes)
	set(&to.alignment_bytes, from.AlignmentBytes)
	putText(to.id[:], from.ID.String())
	putText(to.backend[:], from.ID.Backend)
	putText(to.name[:], from.Name)
}
