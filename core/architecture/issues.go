package architecture

import (
	"errors"
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/estimate"
	"ferrum_mem/core/ir"
)

const opDefine = "architecture.define"

// The categories of issues.
const (
	categoryConfiguration = "configuration"
	categoryUnsupported   = "unsupported"
	categoryWeights       = "weights"
	categorySentence      = "sentence"
)

// issues is a list of findings, with the error that the first of them is that stops a build.
type issues struct {
	list []ir.Issue
	stop error
}

// finding is an issue and the code of its error.
type finding struct {
	severity ir.Severity
	code     device.Code
	category string
	// path is the path of the setting in its file, or weights. with the name of a tensor.
	path string
	what string
	fix  string
}

// add adds an issue. file is the file that the issue is about.
func (s *issues) add(file string, f finding) {
	issue := ir.Issue{Severity: f.severity, Category: f.category, Description: f.what, ConfigPath: f.path, SuggestedFix: f.fix}
	s.list = append(s.list, issue)
	if f.severity != ir.Warning && s.stop == nil {
		s.stop = device.Errorf(f.code, opDefine, "%s: %s: %s", file, f.path, f.what)
	}
}

// addRead adds the error of a configuration that cannot be read, or returns an error that is about no
// field.
func (s *issues) addRead(err error) error {
	field := estimate.FieldOf(err)
	var typed *device.Error
	if field == "" || !errors.As(err, &typed) {
		return err
	}
	issue := ir.Issue{
		Severity: ir.Critical, Category: categoryConfiguration, Description: typed.Message, ConfigPath: field,
		SuggestedFix: fmt.Sprintf("correct %s, or take the file as it was published with the model", field),
	}
	s.stop = err
	if estimate.IsUnknownFamily(err) {
		issue.Category, issue.SuggestedFix = categoryUnsupported, useOfKnown()
		s.stop = device.Errorf(device.CodeUnsupported, opDefine, "%s", typed.Message)
	}
	s.list = append(s.list, issue)
	return nil
}

// unsupported is a finding about a setting whose models are not built.
func unsupported(path, fix, format string, args ...any) finding {
	return finding{ir.Error, device.CodeUnsupported, categoryUnsupported, path, fmt.Sprintf(format, args...), fix}
}

// wrong is a finding about a setting that contradicts another one.
func wrong(path, fix, format string, args ...any) finding {
	return finding{ir.Error, device.CodeInvalidFormat, categoryConfiguration, path, fmt.Sprintf(format, args...), fix}
}

// warning is a finding with which a build goes on.
func warning(category, path, fix, format string, args ...any) finding {
	return finding{ir.Warning, device.CodeOK, category, path, fmt.Sprintf(format, args...), fix}
}
