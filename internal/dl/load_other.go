//go:build !darwin && !freebsd && !linux && !windows

package dl

import "errors"

var errNoLoader = errors.New("libraries cannot be loaded at run time on this system")

func load(string) (uintptr, error) { return 0, errNoLoader }

func isMissing(string, error) bool { return false }

func symbol(uintptr, string) (uintptr, error) { return 0, errNoLoader }

// Call is never reached, because no library can be loaded on this system.
func Call(uintptr, ...uintptr) int32 { return -1 }

// CallWord is never reached, because no library can be loaded on this system.
func CallWord(uintptr, ...uintptr) uintptr { return 0 }

// FileOf returns the name.
func FileOf(_ uintptr, name string) string { return name }
