package model

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ferrum_mem/core/device"
)

// The operations in errors.
const (
	opCompile = "model.compile"
	opBuild   = "model.build"
	opPlan    = "model.plan"
	opRun     = "model.run"
	opSleep   = "model.sleep"
	opWake    = "model.wake"
	opClose   = "model.close"
)

// ended returns the error of a context that has ended, or err if it has not. err may be nil then.
func ended(ctx context.Context, op string, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return device.Errorf(device.CodeTimeout, op, "the time for it is over")
	case ctx.Err() != nil:
		return device.Errorf(device.CodeCancelled, op, "it was cancelled")
	}
	return err
}

// aboutModel is an error about a model. Its message names the model once, also if the cause names it.
func aboutModel(id string, code device.Code, op, format string, values ...any) *device.Error {
	e := device.Errorf(code, op, format, values...)
	if !strings.Contains(e.Message, fmt.Sprintf("model %q", id)) {
		e = device.Errorf(code, op, "model %q: "+format, append([]any{id}, values...)...)
	}
	return e.OfModel(id)
}
