package main

import (
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// bar is a progress bar, or nothing where there is no terminal.
type bar struct {
	all *mpb.Progress
	bar *mpb.Bar
}

func newBar(out io.Writer, what string, total int) *bar {
	if out == nil {
		return &bar{}
	}
	all := mpb.New(mpb.WithOutput(out), mpb.WithWidth(60), mpb.WithAutoRefresh(), mpb.WithRefreshRate(100*time.Millisecond))
	return &bar{all: all, bar: all.New(int64(total), mpb.BarStyle(),
		mpb.PrependDecorators(decor.Name(what)),
		mpb.AppendDecorators(decor.CountersNoUnit("%d / %d requests "), decor.Elapsed(decor.ET_STYLE_GO)),
	)}
}

func (b *bar) set(done, _ int) {
	if b.bar != nil {
		b.bar.SetCurrent(int64(done))
	}
}

// finish leaves the bar as it is and stops drawing.
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
