package device

import (
	"encoding/json"
	"strconv"
)

// A survey in a separate process is requested with the arguments
//
//	probe-backend BACKEND LIMIT_MS
//
// The answer is one line of JSON on the file descriptor ProbeFile. A careless library
// does not write to this descriptor by accident.
const (
	// ProbeVerb is the first argument.
	ProbeVerb = "probe-backend"
	// ProbeFile is the file descriptor of the answer.
	ProbeFile = 3
	// ProbeAnswerMax bounds the answer in bytes.
	ProbeAnswerMax = 1 << 20
	// probeProtocol changes when the format of the answer changes.
	probeProtocol = 1
)

// The exit codes of a process without an answer.
const (
	// ProbeExitUsage: the arguments are invalid.
	ProbeExitUsage = 64
	// ProbeExitLate: the process ended itself at the time limit.
	ProbeExitLate = 65
	// ProbeExitClosed: the vendor's library closed the file descriptor of the answer.
	ProbeExitClosed = 66
)

type probeAnswer struct {
	Protocol int    `json:"protocol"`
	Backend  string `json:"backend"`
	Survey   Survey `json:"survey"`
}

// EncodeSurvey returns the answer as a line.
func EncodeSurvey(backend string, survey Survey) ([]byte, error) {
	text, err := json.Marshal(probeAnswer{Protocol: probeProtocol, Backend: backend, Survey: survey})
	if err != nil {
		return nil, Errorf(CodeSerialization, "survey.encode", "%w", err)
	}
	return append(text, '\n'), nil
}

// DecodeSurvey parses an answer about that backend. It returns CodeInvalidFormat if the
// answer is malformed, of another version or about another backend.
func DecodeSurvey(backend string, line []byte) (Survey, error) {
	const op = "survey.decode"
	var answer probeAnswer
	if err := json.Unmarshal(line, &answer); err != nil {
		return Survey{}, Errorf(CodeInvalidFormat, op, "the reply is damaged: %s", strconv.QuoteToASCII(cut(line)))
	}
	if answer.Protocol != probeProtocol {
		return Survey{}, Errorf(CodeInvalidFormat, op,
			"the probe program is of another version: it uses protocol %d, this library uses %d", answer.Protocol, probeProtocol)
	}
	if answer.Backend != backend {
		return Survey{}, Errorf(CodeInvalidFormat, op, "the reply names the backend %q, not %q", cut([]byte(answer.Backend)), backend)
	}
	if answer.Survey.Absence == AbsenceNone && len(answer.Survey.Devices) == 0 {
		return Survey{}, Errorf(CodeInvalidFormat, op, "the reply has neither devices nor a reason")
	}
	for i := range answer.Survey.Devices {
		if one := &answer.Survey.Devices[i]; one.Index != i {
			return Survey{}, Errorf(CodeInvalidFormat, op, "device %d of the reply has the index %d", i, one.Index)
		}
	}
	return answer.Survey, nil
}

// cut shortens a text for a message.
func cut(text []byte) string { return string(text[:min(len(text), 80)]) }
