package remote

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/conformance/judge/wire"
)

// statusOf returns a status of this version with the code of that name.
func statusOf(s *wire.Status) (*fwk.Status, error) {
	if s == nil {
		return nil, nil
	}
	for code := fwk.Success; code <= fwk.Pending; code++ {
		if code.String() != s.Code {
			continue
		}
		if s.Err != "" {
			return fwk.AsStatus(errors.New(s.Err)), nil
		}
		return fwk.NewStatus(code, s.Reasons...), nil
	}
	return nil, fmt.Errorf("unknown code %q", s.Code)
}

// resultOf returns a result and an error of this version that say the same as the judge's.
func resultOf(pod *v1.Pod, r *wire.Result) (scheduler.ScheduleResult, error) {
	switch r.Kind {
	case "placed":
		return scheduler.ScheduleResult{SuggestedHost: r.Host, EvaluatedNodes: r.Evaluated, FeasibleNodes: r.Feasible}, nil
	case "no nodes":
		return scheduler.ScheduleResult{}, scheduler.ErrNoNodesAvailable
	case "unfit":
		fit := &framework.FitError{Pod: pod, NumAllNodes: r.Nodes, Diagnosis: framework.Diagnosis{
			NodeToStatus: framework.NewDefaultNodeToStatus(), UnschedulablePlugins: sets.New(r.Rejecters...)}}
		// What stands behind the number of nodes is put in as one text.
		_, text, _ := strings.Cut(r.Text, " nodes are available:")
		fit.Diagnosis.PreFilterMsg = strings.TrimSuffix(strings.TrimPrefix(text, " "), ".")
		if fit.Error() != r.Text {
			return scheduler.ScheduleResult{}, fmt.Errorf("the message %q cannot be written by this version: %q", r.Text, fit.Error())
		}
		return scheduler.ScheduleResult{}, fit
	}
	return scheduler.ScheduleResult{}, errors.New(r.Text)
}
