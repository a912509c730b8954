package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"ferrum_mem/core/device"
	"ferrum_mem/core/replay"
)

// writeReport writes the report under a name of its own and gives it its real
// one when it is complete, so that nobody ever sees a part of it and a report
// that is there already stays as it is when this one fails.
func writeReport(ctx context.Context, s streams, path string, r *replay.Result) error {
	return writeShowing(ctx, s, path, func(w io.Writer) error { return renderReport(w, r) })
}

// writeShowing is writeAtomically, with its progress.
func writeShowing(ctx context.Context, s streams, path string, write func(io.Writer) error) error {
	defer busy(s.progress, "writing "+path)()
	return writeAtomically(ctx, path, write)
}

func writeAtomically(ctx context.Context, path string, write func(io.Writer) error) (err error) {
	// A link is followed: what it points to is replaced, not the link.
	if target, linkErr := filepath.EvalSymlinks(path); linkErr == nil {
		path = target
	}
	part := fmt.Sprintf("%s.%08x.part", path, rand.Uint32())
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(part))
		}
	}()
	buffered := bufio.NewWriter(file)
	err = write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil && ctx.Err() != nil {
		err = device.Errorf(device.CodeCancelled, "replay.report", "stopped before the report was written")
	}
	if err != nil {
		return err
	}
	return os.Rename(part, path)
}
