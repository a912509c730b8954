//go:build !linux

package hostpages

// System returns no calls: this system has no such pages.
func System() Calls { return Calls{} }
