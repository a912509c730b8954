package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/discover"
	"ferrum_mem/core/track"
)

// Init starts the library. If it runs already, Init joins it: always with nil, and with
// settings only if they equal those of the start (otherwise CodeInvalidState). Each
// successful call needs one Shutdown. While a forced stop is in progress, Init waits
// for its end.
func (l *Library) Init(s *Settings) error {
	const op = "library.init"
	inside := l.running.insideAnyCallback()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.stopping {
		if inside {
			// The stop waits for this callback.
			return device.Errorf(device.CodeInvalidState, op,
				"the library is being stopped, and the call comes from one of its callbacks")
		}
		l.changed.Wait()
	}
	if r := l.current.Load(); r != nil {
		if s != nil && *s != r.settings {
			return device.Errorf(device.CodeInvalidState, op,
				"the library runs with other settings: %v, not %v", r.settings, *s)
		}
		l.users++
		return nil
	}
	r, err := l.newRun(s)
	if err != nil {
		return err
	}
	l.setRun(r)
	l.users = 1
	l.log.printf(LogInfo, "started, version %s", Version)
	if r.debug != 0 {
		l.log.printf(LogInfo, "all pools debug: %v", r.debug)
	}
	return nil
}

func (l *Library) newRun(s *Settings) (*run, error) {
	r := &run{}
	if s != nil {
		r.settings = *s
	}
	toStderr, err := logEnvironment(l.options.Getenv, l.options.Stderr)
	if err != nil {
		return nil, err
	}
	if r.debug, err = debugEnvironment(l.options.Getenv); err != nil {
		return nil, err
	}
	if r.debug != 0 && toStderr == nil {
		// FERRUM_DEBUG is set for a program that does not read the log itself.
		toStderr = stderrReceiver(LogWarning, l.options.Stderr)
	}
	isolation, err := l.options.isolation(r.settings)
	if err != nil {
		return nil, err
	}
	leave, err := handlersEnvironment(l.options.Getenv)
	if err != nil {
		return nil, err
	}
	drivers, err := l.options.Drivers(r.settings)
	if err != nil {
		return nil, err
	}
	if l.options.Prepare != nil {
		if err := l.options.Prepare(); err != nil {
			return nil, err
		}
	}
	r.backends = discover.NewRegistry(discover.Config{
		Drivers: drivers, Surveyors: l.options.Surveyors, Isolation: isolation,
	})
	l.log.fallBack(toStderr)
	if l.options.WatchHandlers != nil {
		l.options.WatchHandlers(leave || r.settings.LeaveHandlers)
	}
	r.startedAt, r.startedClock = time.Now(), track.Now()
	return r, nil
}

// isolation decides how the vendor libraries are queried: as the settings state,
// otherwise as the environment states.
func (o *Options) isolation(s Settings) (discover.Isolation, error) {
	isolation, err := discover.ReadIsolation(o.Getenv)
	if err != nil {
		return discover.Isolation{}, err
	}
	if s.ProbeInProcess {
		isolation.Mode = discover.ModeInProcess
	}
	isolation.Candidates = o.ProbeHelpers
	isolation.Environ = o.Environ
	return isolation, nil
}

// Shutdown undoes one Init. The last Shutdown stops the library.
//
// Without force the last Shutdown returns CodeBusy, and changes nothing, while objects
// exist. With force everything is freed, reported through the log and recorded for
// LeakReportJSON. The last Shutdown waits for running callbacks, including those that
// removed themselves; a forced one also waits for streams. Other calls return
// CodeNotInitialized during that time. If a driver fails to release something, Shutdown
// returns its error, and the library continues to run with what is left. Inside a
// callback it returns CodeInvalidState.
func (l *Library) Shutdown(force bool) error {
	const op = "library.shutdown"
	if l.running.insideAnyCallback() {
		err := device.Errorf(device.CodeInvalidState, op, "called from a callback of the library")
		if force {
			l.log.printf(LogError, "the library was not stopped: %v", err)
		}
		return err
	}
	l.mu.Lock()
	r := l.current.Load()
	if r == nil {
		l.mu.Unlock()
		return notStarted(op)
	}
	if l.users > 1 {
		l.users--
		l.mu.Unlock()
		return nil
	}
	left := l.registry.countLeft(nil)
	if !force && left.any() {
		l.mu.Unlock()
		return device.Errorf(device.CodeBusy, op, "still in use: %s", left)
	}
	l.setRun(nil)
	l.stopping = true
	l.mu.Unlock()

	leaks := l.sealEverything()
	l.log.logLeaks("shutdown", leaks)
	// The library is stopping, so no device can be opened during this.
	err := l.endAll(nil)
	// Callbacks of devices that were closed from inside a callback may still run.
	l.running.awaitAll()

	l.mu.Lock()
	l.lastLeaks = leaks
	l.stopping = false
	if err != nil {
		l.setRun(r)
		l.log.printf(LogError, "shutdown failed, the library continues to run: %v", err)
	} else {
		l.users = 0
		l.log.printf(LogInfo, "stopped")
	}
	l.changed.Broadcast()
	l.mu.Unlock()
	l.log.dispatcher.Flush()
	return err
}

// sealEverything waits for the objects that other calls are creating on the devices,
// prevents new ones, and lists what exists then.
func (l *Library) sealEverything() leakReport {
	l.registry.devices.Each(func(_ uint64, d *Device) bool {
		d.gate.close()
		return true
	})
	return l.collectLeaks(nil)
}

// setRun sets the present run; nil stops the library. The caller holds mu.
func (l *Library) setRun(r *run) {
	if r == nil && l.options.Mirrors != nil {
		l.options.Mirrors.Running(false)
	}
	l.current.Store(r)
	if r != nil && l.options.Mirrors != nil {
		l.options.Mirrors.Running(true)
	}
}
