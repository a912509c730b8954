// Package coretest holds what pools, virtual and elastic pools, managers and fallback
// managers do on the CUDA driver while calls of the driver fail, one after the other, and
// while the device is lost in the middle of an operation. It has tests only, which run
// over the simulated driver.
//
// Lock order: the package has no locks.
package coretest
