// Code generated from include/ferrum_mem/sleep.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/library"
	"ferrum_mem/core/vmm"
)

// sleepConfigOf reads a ferrum_sleep_config.
func sleepConfigOf(argument string, from *C.ferrum_sleep_config) (to library.SleepRequest, err error) {
	f := fields{argument: argument}
	read(&to.Backing, from.backing)
	f.text(&to.Tag, from.tag, "tag")
	f.path(&to.Dir, from.directory, "directory")
	read(&to.StreamHandle, from.stream.id)
	readWait(&to.Timeout, from.timeout_ns)
	read(&to.Streams, from.num_streams)
	f.reserved(uint64(from.reserved), "reserved")
	return to, f.err
}

// putSleepReport fills a ferrum_sleep_report.
func putSleepReport(to *C.ferrum_sleep_report, from *vmm.SleepReport) {
	set(&to.released_bytes, from.Bytes)
	set(&to.elapsed_ns, from.Ns)
	putText(to.path[:], from.Path)
}

// wakeConfigOf reads a ferrum_wake_config.
func wakeConfigOf(argument string, from *C.ferrum_wake_config) (to library.WakeRequest, err error) {
	f := fields{argument: argument}
	read(&to.Streams, from.num_streams)
	f.text(&to.Tag, from.tag, "tag")
	readWait(&to.Timeout, from.timeout_ns)
	return to, f.err
}

// putWakeReport fills a ferrum_wake_report.
func putWakeReport(to *C.ferrum_wake_report, from *vmm.WakeReport) {
	set(&to.restored_bytes, from.Bytes)
	set(&to.elapsed_ns, from.Ns)
}
