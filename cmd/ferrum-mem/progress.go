package main

import (
	"fmt"
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"ferrum_mem/core/device"
)

// busyAfter is the time after which busy shows a line.
const busyAfter = 500 * time.Millisecond

// busy shows what runs and for how long, on a line that the returned function removes.
// Without a terminal it shows nothing.
func busy(out io.Writer, what string) (end func()) {
	return busyShowing(out, func() string { return what })
}

// busyShowing is busy with a text that changes. text runs on a goroutine of its own.
func busyShowing(out io.Writer, text func() string) (end func()) {
	if out == nil {
		return func() {}
	}
	ended := make(chan struct{})
	gone := device.Go("progress", func() {
		started := time.Now()
		tick := time.NewTicker(busyAfter)
		defer tick.Stop()
		const clear = "\r\x1b[K"
		for shown := false; ; shown = true {
			select {
			case <-tick.C:
				fmt.Fprintf(out, "%s%s … %s", clear, text(), time.Since(started).Round(time.Second))
			case <-ended:
				if shown {
					fmt.Fprint(out, clear)
				}
				return
			}
		}
	})
	return func() {
		close(ended)
		<-gone
	}
}

// bar is a progress bar, or nothing without a terminal.
type bar struct {
	all *mpb.Progress
	bar *mpb.Bar
}

// newBar shows a number of requests.
func newBar(out io.Writer, what string, total int) *bar {
	return startBar(out, what, int64(total), decor.CountersNoUnit("%d / %d requests "), decor.Elapsed(decor.ET_STYLE_GO))
}

// newByteBar shows bytes and their rate. The first call of bytes sets the total.
func newByteBar(out io.Writer, what string) *bar {
	return startBar(out, what, 0, decor.CountersKibiByte("% .2f / % .2f "), decor.AverageSpeed(decor.SizeB1024(0), "% .2f"))
}

func startBar(out io.Writer, what string, total int64, after ...decor.Decorator) *bar {
	if out == nil {
		return &bar{}
	}
	all := mpb.New(mpb.WithOutput(out), mpb.WithWidth(60), mpb.WithAutoRefresh(), mpb.WithRefreshRate(100*time.Millisecond))
	return &bar{all: all, bar: all.New(total, mpb.BarStyle(),
		mpb.PrependDecorators(decor.Name(what)), mpb.AppendDecorators(after...))}
}

func (b *bar) set(done, _ int) {
	if b.bar != nil {
		b.bar.SetCurrent(int64(done))
	}
}

func (b *bar) bytes(done, all uint64) {
	if b.bar != nil {
		b.bar.SetTotal(int64(all), false)
		b.bar.SetCurrent(int64(done))
	}
}

// finish stops drawing and leaves the bar as it is.
func (b *bar) finish(done bool) {
	if b.bar == nil {
		return
	}
	if !done {
		b.bar.Abort(false)
	} else {
		b.bar.EnableTriggerComplete()
		b.bar.SetTotal(-1, true)
	}
	b.all.Wait()
}
