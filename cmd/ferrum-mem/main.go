package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"ferrum_mem/drivers"
	"ferrum_mem/drivers/probe"
)

// streams are the files that the command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	// progress receives progress bars. nil: no progress is shown.
	progress io.Writer
}

func main() {
	// The helper starts before anything that could disturb a vendor's library.
	if probe.Asked(os.Args[1:]) {
		os.Exit(probe.Serve(os.Args[1:], drivers.Surveyors()))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	s := streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	if isTerminal(os.Stderr) {
		s.progress = os.Stderr
	}
	os.Exit(run(ctx, os.Args[1:], s))
}
