package probe

import (
	"strconv"
	"time"

	"ferrum_mem/core/device"
)

// maxLimitMilliseconds is one hour. The parent process waits for less time.
const maxLimitMilliseconds = 3600_000

// Asked states whether the program was started as a helper process.
func Asked(arguments []string) bool {
	return len(arguments) > 0 && arguments[0] == device.ProbeVerb
}

// Serve queries one of the surveyors, writes the answer and returns the exit status. The
// arguments are those of the process from the subcommand on. Serve changes the process
// permanently: a signal of a crash ends it at once, it writes no core file, and inherited
// files are closed.
func Serve(arguments []string, surveyors []device.Surveyor) int {
	if len(arguments) != 3 || !Asked(arguments) {
		return device.ProbeExitUsage
	}
	limit, err := strconv.ParseUint(arguments[2], 10, 32)
	if err != nil || limit == 0 || limit > maxLimitMilliseconds {
		return device.ProbeExitUsage
	}
	for _, surveyor := range surveyors {
		if surveyor.Backend() == arguments[1] {
			return serve(surveyor, time.Duration(limit)*time.Millisecond)
		}
	}
	return device.ProbeExitUsage
}

func serve(surveyor device.Surveyor, limit time.Duration) int {
	fd, err := isolate(limit)
	if err != nil {
		return device.ProbeExitUsage
	}
	line, err := device.EncodeSurvey(surveyor.Backend(), surveyor.Survey())
	if err != nil {
		return device.ProbeExitUsage
	}
	if reply(fd, line) != nil {
		return device.ProbeExitClosed
	}
	return 0
}
