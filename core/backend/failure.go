package backend

import (
	"fmt"
	"strings"

	"ferrum_mem/core/device"
)

// The operations in errors.
const (
	opConfig       = "backend.config"
	opCapabilities = "backend.capabilities"
	opRegister     = "backend.register"
	opUnregister   = "backend.unregister"
	opCustom       = "backend.custom"
	opOpen         = "backend.open"
	opPrepare      = "op.prepare"
	opInfer        = "op.infer"
	opRun          = "op.run"
	opPack         = "op.pack"
	opPlan         = "op.plan"
)

// wrongField is the error for a wrong value of a setting, which it names.
func wrongField(name, format string, values ...any) *device.Error {
	return device.Errorf(device.CodeInvalidConfig, opConfig, "%s: %s", name, fmt.Sprintf(format, values...))
}

// shortened quotes a name of the caller, without its end if it is long.
func shortened(name string) string {
	const most = 64
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "..."
	}
	return fmt.Sprintf("%q", name)
}
