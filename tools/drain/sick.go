package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/report"
)

// illness is a pod that waiting does not make ready.
type illness struct {
	pod *v1.Pod
	why string
}

// young is how long a pod may take to become ready before it counts as sick.
const young = 10 * time.Minute

// sickness returns why waiting does not make a pod ready, "" for a ready pod and for one that never restarted and is young.
func sickness(pod *v1.Pod, at time.Time) string {
	if isReady(pod) {
		return ""
	}
	restarts, why := int32(0), ""
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if !c.Ready {
			restarts = max(restarts, c.RestartCount)
		}
		if w := c.State.Waiting; w != nil && (strings.HasSuffix(w.Reason, "BackOff") || strings.HasPrefix(w.Reason, "Err") || strings.HasSuffix(w.Reason, "Error") || w.Reason == "InvalidImageName") {
			why = w.Reason
		}
	}
	switch since := pod.Status.StartTime; {
	case why != "" && restarts > 0:
		return fmt.Sprintf("%s (%s)", why, report.Count(int(restarts), "restart"))
	case why != "":
		return why
	case restarts > 0:
		return fmt.Sprintf("not ready after %s", report.Count(int(restarts), "restart"))
	case since != nil && at.Sub(since.Time) > young:
		return fmt.Sprintf("not ready for %v", at.Sub(since.Time).Round(time.Minute))
	}
	return ""
}

// saysSick names the first sick pods with what they have.
func saysSick(list []illness) string {
	const most = 3
	var out []string
	for _, x := range list[:min(most, len(list))] {
		out = append(out, x.pod.Name+" is in "+x.why)
	}
	text := strings.ReplaceAll(strings.Join(out, ", "), "is in not", "is not")
	if len(list) > most {
		text += fmt.Sprintf(" and %d more", len(list)-most)
	}
	return text
}

// ownerOf returns "Kind name" of a pod's controller, or the pod's own name.
func ownerOf(pod *v1.Pod) string {
	return cmp.Or(dump.Owner(pod), "Pod "+pod.Name)
}
