package ir

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/similar"
)

// Issue is a finding of Validate.
type Issue struct {
	Severity    Severity `json:"severity"`
	Category    string   `json:"category"`
	Description string   `json:"description"`
	// SuggestedFix is "" if there is no suggestion.
	SuggestedFix string `json:"suggested_fix,omitempty"`
	// ConfigPath is the path of the value in the text of the definition, such as layers[2].config.
	ConfigPath string `json:"config_path"`
}

// Severity is the weight of an issue: Warning < Error < Critical.
type Severity uint8

const (
	// Warning lets a build go on.
	Warning Severity = iota
	// Error stops a build.
	Error
	// Critical states that the definition as a whole has no meaning.
	Critical
)

var severities = [...]string{"warning", "error", "critical"}

// String returns the name of the severity.
func (s Severity) String() string {
	if int(s) < len(severities) {
		return severities[s]
	}
	return fmt.Sprintf("severity %d", uint8(s))
}

// MarshalText returns the name. Errors: CodeSerialization for an unknown severity.
func (s Severity) MarshalText() ([]byte, error) {
	if int(s) >= len(severities) {
		return nil, device.Errorf(device.CodeSerialization, opValidate, "%d is not a severity", uint8(s))
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads a name. Errors: CodeInvalidFormat.
func (s *Severity) UnmarshalText(text []byte) error {
	for at, name := range severities {
		if name == string(text) {
			*s = Severity(at)
			return nil
		}
	}
	return device.Errorf(device.CodeInvalidFormat, opValidate, "%s is not a severity: the severities are warning, error and critical", quoted(string(text)))
}

// The categories of issues.
const (
	CategoryMetadata       = "metadata"
	CategoryArchitecture   = "architecture"
	CategoryParameters     = "parameters"
	CategoryInitialization = "initialization"
	CategoryLayers         = "layers"
	CategoryGraph          = "graph"
	CategoryShapes         = "shapes"
)

const (
	// maxIssues is the maximum number of issues that are kept. More of them help nobody.
	maxIssues = 1000
	// maxCompared is the maximum number of names that are compared to suggest names. It bounds the time
	// of a definition with many wrong names.
	maxCompared = 200_000
)

// findings collects issues.
type findings struct {
	issues []Issue
	// omitted counts the issues that were not kept; worst is the highest severity among them.
	omitted  int
	worst    Severity
	compared int
}

// fault adds an issue that stops a build.
func (f *findings) fault(category, path, format string, values ...any) *Issue {
	return f.report(Error, category, path, format, values...)
}

// report adds an issue and returns it, for a suggestion.
func (f *findings) report(severity Severity, category, path, format string, values ...any) *Issue {
	i := Issue{Severity: severity, Category: category, ConfigPath: path, Description: fmt.Sprintf(format, values...)}
	if len(f.issues) >= maxIssues {
		f.omitted++
		f.worst = max(f.worst, severity)
		return &i
	}
	f.issues = append(f.issues, i)
	return &f.issues[len(f.issues)-1]
}

// suggest sets the suggested fix.
func (i *Issue) suggest(format string, values ...any) {
	i.SuggestedFix = fmt.Sprintf(format, values...)
}

// nearest suggests the known name that is most similar to an unknown one.
func (f *findings) nearest(i *Issue, name string, known []string) {
	f.compared += len(known)
	if len(known) == 0 || f.compared > maxCompared {
		return
	}
	i.suggest("use %s", quoted(similar.Names(name, known, 1)[0]))
}

// all returns the issues, and one more if some were not kept.
func (f *findings) all() []Issue {
	if f.omitted == 0 {
		return f.issues
	}
	return append(f.issues, Issue{
		Severity: f.worst, Category: CategoryGraph, ConfigPath: "graph",
		Description: device.Count(f.omitted, "further issue") + " not listed",
	})
}

// err returns the error for the first issue of the highest severity; nil if no issue stops a build.
func (f *findings) err(op string) error {
	var worst *Issue
	stopping := 0
	issues := f.all()
	for i := range issues {
		one := &issues[i]
		if one.Severity == Warning {
			continue
		}
		stopping++
		if worst == nil || one.Severity > worst.Severity {
			worst = one
		}
	}
	if worst == nil {
		return nil
	}
	text := worst.ConfigPath + ": " + worst.Description
	if worst.SuggestedFix != "" {
		text += ": " + worst.SuggestedFix
	}
	if stopping > 1 {
		text += " (and " + device.Count(stopping-1, "further issue") + ")"
	}
	return device.Errorf(device.CodeInvalidConfig, op, "%s", text)
}
