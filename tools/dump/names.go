package dump

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/tools/report"
)

// Name returns a pod's namespace/name.
func Name(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// Owner returns the kind and the name of a pod's controller, "" for a pod without one.
func Owner(pod *v1.Pod) string {
	if c := metav1.GetControllerOfNoCopy(pod); c != nil {
		return c.Kind + " " + c.Name
	}
	return ""
}

// SchedulerName returns spec.schedulerName of a pod, "default-scheduler" when the field is empty.
func SchedulerName(pod *v1.Pod) string {
	if pod.Spec.SchedulerName == "" {
		return v1.DefaultSchedulerName
	}
	return pod.Spec.SchedulerName
}

// ShortNodes returns the short forms of the nodes' names, for tables. O(nodes).
func (o *Objects) ShortNodes() *report.Nodes {
	names := make([]string, len(o.Nodes))
	for i, n := range o.Nodes {
		names[i] = n.Name
	}
	return report.ShortNodes(names)
}
