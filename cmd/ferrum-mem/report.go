package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
	"strings"
	"time"

	"ferrum_mem/core/library"
	"ferrum_mem/core/replay"
)

// The report is one page without external resources. Its numbers and charts work without a
// script. The script only reads values from the charts, from the same object that --json
// prints, which the page contains.

//go:embed report.html
var reportTemplate string

// reportParts has the parts that several pages share.
//
//go:embed report_parts.html
var reportParts string

//go:embed report.css
var reportStyle string

//go:embed report_format.js
var formatScript string

//go:embed report.js
var reportScript string

//go:embed report_map.js
var mapScript string

// page holds the values of the template.
type page struct {
	Title   string
	Version string
	Written string
	Style   template.CSS
	Script  template.JS
	Result  *replay.Result
	// Raw holds the result's fields by their names in the JSON, in their JSON form.
	Raw map[string]json.RawMessage
	// Key holds the most important facts, with short names.
	Key     []fact
	Facts   []fact
	Memory  chart
	Unused  chart
	Failed  chart
	Map     mapPlot
	Limited bool
	// Fragmentation is the same text as in the facts.
	Fragmentation string
}

// plot is a chart with the id that its parts on the page share.
type plot struct {
	ID    string
	Chart chart
}

var keyFields = []string{
	"peak_live_bytes", "high_water_bytes", "fragmentation", "reserved_peak_bytes", "physical_peak_bytes", "failed",
}

// newPage parses the template of a page and the parts that pages share.
func newPage(text string, functions template.FuncMap) (*template.Template, error) {
	t, err := template.New("page").Funcs(functions).Parse(reportParts)
	if err != nil {
		return nil, err
	}
	return t.Parse(text)
}

func renderReport(w io.Writer, r *replay.Result) error {
	functions := template.FuncMap{
		"bytes":  formatBytes,
		"reason": func(reason string) string { return reasonText(reason, r.PageBytes) },
		"plot":   func(id string, c chart) plot { return plot{id, c} },
		"time":   func(at int64) string { return formatTime(at, r.TimeUnit) },
		"ratio": func(m replay.Moment) string {
			return formatRatio(float64(m.ReservedBytes) / float64(m.LiveBytes))
		},
	}
	t, err := newPage(reportTemplate, functions)
	if err != nil {
		return err
	}
	p := page{
		Title: "Replay of " + r.Trace, Version: library.Version,
		Written: time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		Style:   template.CSS(reportStyle), Script: template.JS(formatScript + reportScript + mapScript),
		Result: r, Facts: summary(r), Limited: r.LimitBytes > 0,
		Fragmentation: formatRatio(r.Fragmentation),
	}
	p.Memory, p.Unused, p.Failed = charts(r)
	p.Map = addressMapPlot(r)
	if p.Raw, err = rawFields(r); err != nil {
		return err
	}
	for _, field := range keyFields {
		for _, f := range p.Facts {
			if f.Field == field {
				f.Name, _, _ = strings.Cut(f.Name, " (")
				p.Key = append(p.Key, f)
			}
		}
	}
	return t.Execute(w, p)
}

func rawFields(r *replay.Result) (map[string]json.RawMessage, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	var raw map[string]json.RawMessage
	return raw, decoder.Decode(&raw)
}
