package disruption

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/internal/podinfo"
)

// DrainOptions are the flags of kubectl drain; the zero value is its default.
type DrainOptions struct {
	// Force (--force) deletes pods without a controller, and pods of a DaemonSet that is gone.
	Force bool
	// IgnoreDaemonSets (--ignore-daemonsets) leaves DaemonSet pods where they are instead of refusing.
	IgnoreDaemonSets bool
	// DeleteEmptyDirData (--delete-emptydir-data) deletes pods whose emptyDir volumes lose their data.
	DeleteEmptyDirData bool
	// DisableEviction (--disable-eviction) deletes without asking budgets.
	DisableEviction bool
	// GracePeriodSeconds (--grace-period) is the grace of all pods; nil (-1) is each pod's own.
	GracePeriodSeconds *int64
	// SkipWaitForDelete (--skip-wait-for-delete-timeout) leaves pods alone that have been terminating for longer; 0 is off.
	SkipWaitForDelete time.Duration
	// PodSelector (--pod-selector) limits the drain to matching pods; nil is all.
	PodSelector labels.Selector
	// DaemonSetExists tells whether a DaemonSet is there; nil: all are.
	DaemonSetExists func(namespace, name string) bool
}

// Treatment is what a drain does with a pod.
type Treatment uint8

// The treatments.
const (
	Leave  Treatment = iota // the pod leaves the node
	Skip                    // the pod stays, and the drain does not mind
	Refuse                  // the drain does not begin
)

// String returns "leave", "skip" or "refuse".
func (t Treatment) String() string { return [...]string{"leave", "skip", "refuse"}[min(t, Refuse)] }

// Texts of kubectl drain.
const (
	daemonSetRefused = "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
	daemonSetSkipped = "ignoring DaemonSet-managed Pods"
	emptyDirRefused  = "cannot delete Pods with local storage (use --delete-emptydir-data to override)"
	unmanagedRefused = "cannot delete Pods that declare no controller (use --force to override)"
	unmanagedDeleted = "deleting Pods that declare no controller"
)

// Treat tells what a drain does with one pod of the node, and the text that kubectl prints: the reason of a refusal, or
// the warning of the others. A pod that leaves has the warning of the last rule or none: kubectl forgets those of local
// storage and of a DaemonSet that is gone. The rules in their order, the first that does not let the pod leave decides:
//
//  1. terminating for longer than SkipWaitForDelete: skipped
//  2. DaemonSet pods (apps/v1): finished ones leave; skipped or refused by IgnoreDaemonSets; by Force when the set is gone
//  3. mirror pods of static pods: skipped silently
//  4. pods with an emptyDir volume: finished ones leave; the others by DeleteEmptyDirData
//  5. pods without a controller: finished ones leave; the others by Force
//
// Source: documentation, "Safely Drain a Node", and kubectl's help.
func Treat(pod *v1.Pod, o DrainOptions, now time.Time) (t Treatment, reason string) {
	if o.SkipWaitForDelete > 0 && pod.DeletionTimestamp != nil && now.Sub(pod.DeletionTimestamp.Time) > o.SkipWaitForDelete {
		return Skip, ""
	}
	finished := podinfo.Finished(pod)
	owner := metav1.GetControllerOf(pod)
	if owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == "apps/v1" && !finished {
		switch {
		case o.DaemonSetExists != nil && !o.DaemonSetExists(pod.Namespace, owner.Name):
			if !o.Force {
				return Refuse, fmt.Sprintf("cannot delete daemonsets.apps %q not found", owner.Name)
			}
		case !o.IgnoreDaemonSets:
			return Refuse, daemonSetRefused
		default:
			return Skip, daemonSetSkipped
		}
	}
	if podinfo.Mirror(pod) {
		return Skip, ""
	}
	if hasEmptyDir(pod) && !finished && !o.DeleteEmptyDirData {
		return Refuse, emptyDirRefused
	}
	if owner == nil && !finished {
		if !o.Force {
			return Refuse, unmanagedRefused
		}
		return Leave, unmanagedDeleted
	}
	return Leave, ""
}

func hasEmptyDir(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].EmptyDir != nil {
			return true
		}
	}
	return false
}

// Treated is a pod with what a drain does with it.
type Treated struct {
	Pod       *v1.Pod
	Treatment Treatment
	Reason    string
}

// Selection is the pods of a node as a drain sorts them.
type Selection struct {
	// Pods are all pods of the node that the options select, in the order given.
	Pods []Treated
	// Errors are kubectl's lines, one for each reason, with the pods joined by commas. With any error nothing on the node is
	// evicted, and the node stays cordoned.
	Errors []string
	// Warnings are its warnings, joined likewise.
	Warnings []string
}

// Select sorts the pods of one node: those of pods with that spec.nodeName. O(pods).
func Select(node string, pods []*v1.Pod, o DrainOptions, now time.Time) Selection {
	var s Selection
	for _, p := range pods {
		if p.Spec.NodeName != node || o.PodSelector != nil && !o.PodSelector.Matches(labels.Set(p.Labels)) {
			continue
		}
		t, reason := Treat(p, o, now)
		s.Pods = append(s.Pods, Treated{p, t, reason})
	}
	s.Errors = grouped(s.Pods, func(t Treated) bool { return t.Treatment == Refuse })
	s.Warnings = grouped(s.Pods, func(t Treated) bool { return t.Treatment != Refuse && t.Reason != "" })
	return s
}

// grouped joins the pods of each reason, in the order in which the reasons first appear.
func grouped(pods []Treated, is func(Treated) bool) (lines []string) {
	var reasons []string
	byReason := map[string][]string{}
	for _, t := range pods {
		if !is(t) {
			continue
		}
		if byReason[t.Reason] == nil {
			reasons = append(reasons, t.Reason)
		}
		byReason[t.Reason] = append(byReason[t.Reason], podinfo.Name(t.Pod))
	}
	for _, r := range reasons {
		lines = append(lines, r+": "+strings.Join(byReason[r], ", "))
	}
	return lines
}
