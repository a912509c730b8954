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

// writeReport writes the report under a temporary name and renames it when it is complete.
// So no reader sees a partial report, and an existing report stays if writing fails.
func writeReport(ctx context.Context, s streams, path string, r *replay.Result) error {
	return writeShowing(ctx, s, path, func(w io.Writer) error { return renderReport(w, r) })
}

// writeShowing is writeAtomically with a progress line.
func writeShowing(ctx context.Context, s streams, path string, write func(io.Writer) error) error {
	defer busy(s.progress, "writing "+path)()
	return writeAtomically(ctx, path, write)
}

func writeAtomically(ctx context.Context, path string, write func(io.Writer) error) (err error) {
	// A link is followed: its target is replaced, not the link.
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

// checkOutput finds out before a long run whether the file of a flag can be written after
// it. source is the path of the input.
func checkOutput(flag, path, source string) error {
	if path == "" {
		return nil
	}
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	if !folder.IsDir() {
		return fmt.Errorf("--%s %s: the path before the last / is not a folder", flag, path)
	}
	there, err := os.Stat(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !there.Mode().IsRegular() {
		return fmt.Errorf("--%s %s: this exists and is not a file", flag, path)
	}
	if read, err := os.Stat(source); err == nil && os.SameFile(read, there) {
		return fmt.Errorf("--%s %s: this is the input file", flag, path)
	}
	return nil
}
