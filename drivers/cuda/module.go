package cuda

import (
	"fmt"
	"runtime"
	"strings"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

var (
	_ device.Compiler = (*openDevice)(nil)
	_ device.Module   = (*module)(nil)
)

// module is a module of the vendor driver, compiled from PTX.
type module struct {
	owner *openDevice
	// entries are the sizes of the arguments of each kernel, by its name.
	entries map[string][]int

	// using is held for reading while the handle is in use, and for writing while it is
	// unloaded.
	using  sync.RWMutex
	handle uintptr
	closed bool
}

// Compile accepts PTX, for which the vendor driver has a compiler. cuda.h has no way to
// pass the length of any other code.
func (o *openDevice) Compile(text []byte) (device.Module, error) {
	const op = "cuda.compile"
	if err := o.ctx.checkOpen(op); err != nil {
		return nil, err
	}
	if !o.info.Compiler {
		return nil, o.ctx.errorf(device.CodeUnsupported, op, "the driver lacks %v", o.driver.lacking[groupKernels])
	}
	if err := o.hold(op, 1); err != nil {
		return nil, err
	}
	m, err := o.loadModule(op, text)
	if err != nil {
		o.drop(1)
		return nil, err
	}
	return m, nil
}

// logBytes is the maximum length of the compiler's log that is kept.
const logBytes = 4096

// loadModule is Compile without the count of live objects.
func (o *openDevice) loadModule(op string, text []byte) (*module, error) {
	if len(text) == 0 || len(text) > mostTextBytes {
		return nil, o.ctx.errorf(device.CodeInvalidSize, op, "text of %v: want 1 to %d", device.Size(len(text)), mostTextBytes)
	}
	// The vendor driver stops reading at a NUL.
	code, _, _ := strings.Cut(string(text), "\x00")
	entries, err := readEntries(code)
	if err != nil {
		return nil, o.ctx.errorf(device.CodeInvalidFormat, op, "%w", err)
	}
	m := &module{owner: o, entries: entries}
	image, log := append([]byte(code), 0), make([]byte, logBytes)
	options := &[2]int32{jitErrorLog, jitErrorLogBytes}
	values := &[2]uintptr{dl.Pointer(&log[0]), logBytes}
	err = o.ctx.within(op, func() error {
		number := o.ctx.api.moduleLoad.Call(dl.Pointer(&m.handle), dl.Pointer(&image[0]), uintptr(len(options)),
			dl.Pointer(options), dl.Pointer(values))
		if number == 0 {
			return nil
		}
		return o.notLoaded(op, code, number, dl.Text(log))
	})
	runtime.KeepAlive(image)
	runtime.KeepAlive(options)
	runtime.KeepAlive(values)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// notLoaded returns the error of a text that the vendor driver does not load. said is the
// message of its translator. Driver 580 calls a text for a newer device invalid.
func (o *openDevice) notLoaded(op, code string, number int32, said string) error {
	what := ""
	if said != "" {
		what = "the translator reports: " + said
	}
	err := o.ctx.failure(op, &o.ctx.api.moduleLoad, number, what)
	if number != resultInvalidPTX || o.ctx.lost.Load() != nil {
		return err
	}
	own := int(10*o.driver.attribute(o.ctx.cuDevice, attributeMajor) + o.driver.attribute(o.ctx.cuDevice, attributeMinor))
	if target := readTarget(code); target > own {
		failure := err.(*device.Error)
		failure.Code = device.CodeUnsupported
		failure.Message += fmt.Sprintf("; the text is for sm_%d, and the device is sm_%d", target, own)
	}
	return err
}

// use runs body while the module is loaded, in its device's context.
func (m *module) use(op string, body func() error) error {
	m.using.RLock()
	defer m.using.RUnlock()
	if m.closed {
		return m.owner.ctx.errorf(device.CodeInvalidState, op, "the module is closed")
	}
	return m.owner.ctx.within(op, body)
}

func (m *module) Kernel(name string) (device.Kernel, error) {
	k, err := m.kernel("cuda.kernel", name)
	if err != nil {
		return nil, err
	}
	return k, nil
}

func (m *module) kernel(op, name string) (*kernel, error) {
	o := m.owner
	sizes, found := m.entries[name]
	if !found {
		return nil, o.ctx.errorf(device.CodeNotFound, op, "kernel %q: the module has no entry of that name", name)
	}
	k := &kernel{module: m, name: name}
	text := append([]byte(name), 0)
	err := m.use(op, func() error {
		what := "kernel " + name
		err := o.ctx.call(op, what, &o.ctx.api.moduleFunction, dl.Pointer(&k.handle), m.handle, dl.Pointer(&text[0]))
		runtime.KeepAlive(text)
		if err != nil {
			return err
		}
		var threads, shared int32
		for _, one := range []struct {
			out       *int32
			attribute uintptr
		}{{&threads, functionMaxThreads}, {&shared, functionSharedBytes}} {
			if err := o.ctx.call(op, what, &o.ctx.api.functionAttribute, dl.Pointer(one.out), one.attribute, k.handle); err != nil {
				return err
			}
		}
		if err := o.ctx.readKernelLimits(op, &k.limits); err != nil {
			return err
		}
		k.limits.ArgumentBytes = sizes
		k.limits.Threads = min(k.limits.Threads, uint32(max(threads, 0)))
		k.limits.SharedBytes -= min(k.limits.SharedBytes, uint32(max(shared, 0)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// readKernelLimits queries the limits of the device for any kernel. The caller has the
// context current.
func (c *driverContext) readKernelLimits(op string, limits *device.KernelLimits) error {
	for _, one := range []struct {
		out       *uint32
		attribute uintptr
	}{
		{&limits.Threads, attributeThreads}, {&limits.SharedBytes, attributeSharedBytes},
		{&limits.Block.X, attributeBlockX}, {&limits.Block.Y, attributeBlockY}, {&limits.Block.Z, attributeBlockZ},
		{&limits.Grid.X, attributeGridX}, {&limits.Grid.Y, attributeGridY}, {&limits.Grid.Z, attributeGridZ},
	} {
		var value int32
		err := c.call(op, "", &c.api.deviceAttribute, dl.Pointer(&value), one.attribute, uintptr(c.cuDevice))
		if err != nil {
			return err
		}
		*one.out = uint32(max(value, 0))
	}
	return nil
}

// Close unloads the module.
func (m *module) Close() error {
	const op = "cuda.close_module"
	o := m.owner
	m.using.Lock()
	defer m.using.Unlock()
	if m.closed {
		return o.ctx.errorf(device.CodeInvalidState, op, "the module is closed already")
	}
	err := o.ctx.releasing(op, func() error { return m.unload(op) })
	if err != nil {
		return err
	}
	m.closed = true
	o.drop(1)
	return nil
}

func (m *module) unload(op string) error {
	return m.owner.ctx.call(op, fmt.Sprintf("module with %d kernels", len(m.entries)), &m.owner.ctx.api.moduleUnload, m.handle)
}
