package scheduler

import (
	"errors"
	"fmt"
	"strings"

	"github.com/podberth/podberth/filter"
)

// Code is the result of one plugin at one extension point.
type Code = filter.Code

// The codes, with upstream's names and numbers.
const (
	Success                      = filter.Success
	Error                        = filter.Error
	Unschedulable                = filter.Unschedulable
	UnschedulableAndUnresolvable = filter.UnschedulableAndUnresolvable
	Wait                         = filter.Wait
	Skip                         = filter.Skip
	Pending                      = filter.Pending
)

// Status is a plugin's answer: a code, reasons for users, and perhaps an error. A nil Status is [Success]. A Status never
// changes; the framework adds the plugin's name to a copy.
type Status struct {
	code    Code
	reasons []string
	err     error
	plugin  string
}

// NewStatus returns a status with reasons.
func NewStatus(code Code, reasons ...string) *Status { return &Status{code: code, reasons: reasons} }

// AsStatus wraps an error; nil gives nil, which is [Success].
func AsStatus(err error) *Status {
	if err == nil {
		return nil
	}
	return &Status{code: Error, err: err}
}

// Code returns the code; Success for nil.
func (s *Status) Code() Code {
	if s == nil {
		return Success
	}
	return s.code
}

// Plugin returns the name of the plugin that rejected the pod or failed, "" if no plugin is recorded.
func (s *Status) Plugin() string {
	if s == nil {
		return ""
	}
	return s.plugin
}

// Reasons returns the error's text, if there is an error, and then the reasons.
func (s *Status) Reasons() []string {
	if s == nil {
		return nil
	}
	if s.err != nil {
		return append([]string{s.err.Error()}, s.reasons...)
	}
	return s.reasons
}

// Message returns the reasons joined with ", ".
func (s *Status) Message() string { return strings.Join(s.Reasons(), ", ") }

// Success reports whether the code is Success.
func (s *Status) Success() bool { return s.Code() == Success }

// Rejected reports whether the pod is rejected: the code is [Unschedulable], [UnschedulableAndUnresolvable] or [Pending].
func (s *Status) Rejected() bool {
	c := s.Code()
	return c == Unschedulable || c == UnschedulableAndUnresolvable || c == Pending
}

// AsError returns nil for [Success], [Wait] and [Skip]. For other codes it returns the wrapped error, or an error with the
// message.
func (s *Status) AsError() error {
	switch {
	case s.Code() == Success, s.Code() == Wait, s.Code() == Skip:
		return nil
	case s.err != nil:
		return s.err
	}
	return errors.New(s.Message())
}

// by returns a copy that names the plugin.
func (s *Status) by(plugin string) *Status {
	c := *s
	c.plugin = plugin
	return &c
}

// failure returns the error of a status that ends a step without success. For Wait and Skip, for which upstream prints
// a nil error, the error names the code.
func (s *Status) failure() error {
	if s.Code() == Error || s.Rejected() {
		return s.AsError()
	}
	return fmt.Errorf("unexpected status %s", s.Code())
}
