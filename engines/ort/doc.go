// Package ort runs graphs with ONNX Runtime, through its C interface and without its headers.
//
// # Library
//
// The library is loaded when an engine is opened for the first time: from the path in FERRUM_ORT_LIBRARY, and
// if that is not set, by the usual names. A library that the process has loaded already is found by its
// name. A process uses one library: the first that it could load, until it ends. The functions are called by
// their places in struct OrtApi, whose order never changes. The package asks for the table of version 24, and
// then for older ones. A library that is absent, too old or incomplete is CodeUnsupported.
//
// # Memory
//
// Each session has its own allocator. ONNX Runtime has one allocator of the environment for each device,
// and a session keeps the one that is registered when it is created. So the package registers the allocator
// of a session, creates the session, and unregisters the allocator, all with one lock held. Constants are not
// copied: a session reads them where they are, also after their pages were away. The arena of ONNX Runtime
// is off. Its prepacking, which copies matrices, is off unless the options ask for it.
//
// Optimisations of ONNX Runtime that read a large constant would copy it. They find no elements, and the
// session is opened again with fewer optimisations.
//
// # Failures
//
// A status becomes an error with its text. If an allocator has no memory, it throws std::bad_alloc, as that
// of ONNX Runtime does: allocate.c says why. ONNX Runtime catches exceptions in the thread of a call. What it
// cannot catch ends the process: an exception in one of its own threads, an access to wrong memory, and a
// failed assertion of a library that it uses.
//
// # Devices
//
// A session computes on the CPU, or through an execution provider on a device: CUDA's is the one that the
// package knows. The library of the provider is loaded when an engine is opened for such a device. What is
// missing, such as a library that it needs, is CodeUnsupported. A session then has a stream of its own, made by
// the driver of the device, on which all its work is queued. Its constants, its allocator and the values of a
// run are in the memory of the device. Every call that works on the device is made in the context of the stream
// (device.ContextRunner), and a run waits for the stream. Tensors for nodes of the CPU inside such a session are
// in memory of ONNX Runtime.
//
// The package knows no tensors and no operators. Graphs come from package onnx, which has checked them.
//
// Lock order: loader.mu is taken first, alone. runtimeLibrary.mu is held while ONNX Runtime creates a session,
// which calls the memory of the session. allocator.mu is a leaf.
//
// # Files in reading order
//
// functions.go, allocate.h, allocate.c, allocate.go, allocate_other.go, runtime.go, allocator.go, values.go,
// kernel.h, kernel.c, custom.go, provider.go, session.go, binding.go, run.go, engine.go.
package ort
