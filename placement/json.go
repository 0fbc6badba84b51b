package placement

import (
	"encoding/json"
)

// failureJSON is the stable form of a Failure.
type failureJSON struct {
	Code      string       `json:"code"`
	Message   string       `json:"message"`
	Reasons   []reasonJSON `json:"reasons,omitempty"`
	Rejecters []string     `json:"rejecters,omitempty"`
	Error     string       `json:"error,omitempty"`
}

type reasonJSON struct {
	Reason string `json:"reason"`
	Nodes  int    `json:"nodes"`
}

// MarshalJSON writes {"code", "message", "reasons": [{"reason", "nodes"}], "rejecters", "error"}: the names of the code and
// of the plugins are kube-scheduler's, message is its text, error stands in place of reasons when the attempt failed.
func (f *Failure) MarshalJSON() ([]byte, error) {
	out := failureJSON{Code: f.Code.String(), Message: f.Text(), Rejecters: f.Rejecters}
	if f.Err != nil {
		out.Error = f.Err.Error()
	}
	for _, r := range f.Message.Reasons {
		out.Reasons = append(out.Reasons, reasonJSON(r))
	}
	return json.Marshal(out)
}
