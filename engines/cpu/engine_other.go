//go:build !cgo || windows || !(amd64 || arm64)

package cpu

import "ferrum_mem/core/dtype"

// Engine computes requests. This build has no kernels, so Open never returns one.
type Engine struct{}

// Open returns CodeUnsupported, with the reason.
func Open(c Config) (*Engine, error) {
	_, err := choose(c.Instructions)
	return nil, err
}

// Instructions returns the name of the instruction set.
func (e *Engine) Instructions() string { return "" }

// Threads returns the number of threads.
func (e *Engine) Threads() int { return 0 }

// PackedBytes returns CodeUnsupported.
func (e *Engine) PackedBytes(dtype.DType, int64, int64) (int64, error) { return 0, refuse() }

// Workspace returns CodeUnsupported.
func (e *Engine) Workspace(Request) (int64, error) { return 0, refuse() }

// Run returns CodeUnsupported.
func (e *Engine) Run(Request, uint64, int64) error { return refuse() }

func (e *Engine) prepare(Request) (kernel uintptr, parts, threadBytes int64) { return 0, 0, 0 }

// Run returns CodeUnsupported.
func (p *Program) Run(*Operands) error { return refuse() }

// Close does nothing.
func (e *Engine) Close() {}

func refuse() error {
	_, err := choose("")
	return err
}
