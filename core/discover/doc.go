// Package discover knows the backends of this build: which can be used here,
// why not, with what devices, and how to open one by its id.
//
// It owns the list of drivers that the caller gives, and no device. It never
// imports a driver and never chooses between devices.
//
// Lock order: the package has no locks; its registry does not change.
package discover
