// Package backend computes operations on tensors, as programs see it: backends that are found by
// requirements and opened from settings, operations that are prepared once and run many times, and
// sequences of them.
//
// A Registry has the backends of a process. Each is an engine of this build, or a backend that the
// program has registered. Find chooses one by requirements, and states for each other one why not.
//
// The package computes no elements: an engine of package compute does. It opens no device and
// imports no engine: both are given from above.
//
// Lock order: Registry.probing, then Registry.mu. An engine is opened with probing held; nothing
// else is called with a lock held.
//
// # Files in reading order
//
// failure.go, type.go, options.go, config.go, lists.go, capabilities.go, requirements.go, custom.go,
// registry.go, find.go.
package backend
