package config

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// OldVersionError refuses a document of a version that kube-scheduler v1.36 does not read.
type OldVersionError struct {
	// Err is what v1.36 says.
	Err error
	// Equivalent is the same in v1, as YAML; empty if the document cannot be read at all.
	Equivalent []byte
	// Notes say what of the document has no equivalent, or one that differs.
	Notes []string
}

// Error returns what v1.36 says and the equivalent.
func (e *OldVersionError) Error() string {
	text := e.Err.Error()
	for _, n := range e.Notes {
		text += "\n# " + n
	}
	if len(e.Equivalent) > 0 {
		text += "\nin " + current1 + " it is\n" + string(e.Equivalent)
	}
	return text
}

// Unwrap returns Err.
func (e *OldVersionError) Unwrap() error { return e.Err }

const current1 = "kubescheduler.config.k8s.io/v1"

func oldVersion(err error, gvk schema.GroupVersionKind, data []byte) error {
	return &OldVersionError{Err: err}
}
