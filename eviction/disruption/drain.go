package disruption

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/release"
)

// DrainOptions are the flags of kubectl drain. The zero value is the default of every flag.
type DrainOptions struct {
	// Force (--force) deletes pods without a controller, and pods whose DaemonSet does not exist any more.
	Force bool
	// IgnoreDaemonSets (--ignore-daemonsets) leaves DaemonSet pods where they are instead of refusing.
	IgnoreDaemonSets bool
	// DeleteEmptyDirData (--delete-emptydir-data) deletes pods whose emptyDir volumes lose their data.
	DeleteEmptyDirData bool
	// DisableEviction (--disable-eviction) deletes pods and asks no budget.
	DisableEviction bool
	// GracePeriodSeconds (--grace-period) is the grace of all pods in seconds. nil uses each pod's own grace.
	GracePeriodSeconds *int64
	// SkipWaitForDelete (--skip-wait-for-delete-timeout) skips pods that have been terminating for longer; 0 skips no pod.
	SkipWaitForDelete time.Duration
	// PodSelector (--pod-selector) limits the drain to matching pods; nil selects all pods.
	PodSelector labels.Selector
	// DaemonSetExists reports whether a DaemonSet exists; nil means that every DaemonSet exists.
	DaemonSetExists func(namespace, name string) bool
	// Release is the version of kubectl (rule L13.3).
	Release release.Version
}

// treatment is what a drain does with a pod.
type treatment uint8

const (
	leave   treatment = iota // the pod leaves the node
	skip                     // the pod stays, and the drain goes on
	refuses                  // the drain does not begin
)

// Texts of kubectl drain.
const (
	daemonSetRefused = "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
	daemonSetSkipped = "ignoring DaemonSet-managed Pods"
	emptyDirRefused  = "cannot delete Pods with local storage (use --delete-emptydir-data to override)"
	unmanagedRefused = "cannot delete Pods that declare no controller (use --force to override)"
	unmanagedDeleted = "deleting Pods that declare no controller"
)

// treat returns what a drain does with one pod of the node, by the rules of Select, and the text that kubectl prints.
func treat(pod *v1.Pod, o DrainOptions, now time.Time) (t treatment, reason string) {
	if o.SkipWaitForDelete > 0 && pod.DeletionTimestamp != nil && now.Sub(pod.DeletionTimestamp.Time) > o.SkipWaitForDelete {
		return skip, ""
	}
	finished := podinfo.Finished(pod)
	owner := metav1.GetControllerOf(pod)
	if owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == "apps/v1" && !finished {
		switch {
		case o.DaemonSetExists != nil && !o.DaemonSetExists(pod.Namespace, owner.Name):
			if !o.Force {
				return refuses, fmt.Sprintf("cannot delete daemonsets.apps %q not found", owner.Name)
			}
		case !o.IgnoreDaemonSets:
			return refuses, daemonSetRefused
		default:
			return skip, daemonSetSkipped
		}
	}
	if podinfo.Mirror(pod) {
		return skip, ""
	}
	if hasEmptyDir(pod) && !finished && !o.DeleteEmptyDirData {
		return refuses, emptyDirRefused
	}
	if owner == nil && !finished {
		if !o.Force {
			return refuses, refusesUnmanaged(o.Release)
		}
		return leave, unmanagedDeleted
	}
	return leave, ""
}

func hasEmptyDir(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].EmptyDir != nil {
			return true
		}
	}
	return false
}

// Treated is a pod and the text that kubectl drain prints about it: the reason of a refusal, a warning, or "".
type Treated struct {
	Pod    *v1.Pod
	Reason string
}

// Selection is the pods of one node, sorted by what a drain does with them. Each list is in the order given.
type Selection struct {
	// Leaving pods are evicted or deleted. Skipped pods stay, and the drain goes on. When a pod is Refused, no pod of the
	// node is evicted, and the node stays cordoned.
	Leaving, Skipped, Refused []Treated
	// Errors are kubectl's lines about refused pods: one line for each reason, with the pods joined by commas.
	Errors []string
	// Warnings are kubectl's lines about the other pods, in the same form.
	Warnings []string
}

// Select sorts the pods of one node that the options select (rules D7.1 to D7.5). pods are the pods with the spec.nodeName
// of the node. The first rule that does not let the pod leave decides:
//
//  1. A pod that has been terminating for longer than SkipWaitForDelete is skipped.
//  2. A DaemonSet pod (apps/v1) that has finished leaves. Other DaemonSet pods are skipped with IgnoreDaemonSets and
//     refused without. A pod whose DaemonSet does not exist leaves with Force and is refused without.
//  3. A mirror pod of a static pod is skipped without a text.
//  4. A pod with an emptyDir volume leaves when it has finished or with DeleteEmptyDirData, and is refused otherwise.
//  5. A pod without a controller leaves when it has finished or with Force, and is refused otherwise.
//
// A pod that leaves has the warning of the last rule or none: kubectl drops the warnings of the other rules. Source:
// documentation, "Safely Drain a Node", and kubectl's help. Nil pods are ignored. O(pods).
func Select(node string, pods []*v1.Pod, o DrainOptions, now time.Time) Selection {
	return selectionOf(treatAll(node, pods, o, now))
}

type treated struct {
	Treated
	treatment treatment
}

// treatAll treats the pods of one node, in the order given.
func treatAll(node string, pods []*v1.Pod, o DrainOptions, now time.Time) (list []treated) {
	for _, p := range pods {
		if p == nil || p.Spec.NodeName != node || o.PodSelector != nil && !o.PodSelector.Matches(labels.Set(p.Labels)) {
			continue
		}
		t, reason := treat(p, o, now)
		list = append(list, treated{Treated{p, reason}, t})
	}
	return list
}

func selectionOf(list []treated) Selection {
	var s Selection
	var stay []Treated // the pods that are not refused
	for _, t := range list {
		switch t.treatment {
		case leave:
			s.Leaving = append(s.Leaving, t.Treated)
		case skip:
			s.Skipped = append(s.Skipped, t.Treated)
		default:
			s.Refused = append(s.Refused, t.Treated)
			continue
		}
		stay = append(stay, t.Treated)
	}
	s.Errors, s.Warnings = grouped(s.Refused), grouped(stay)
	return s
}

// grouped returns one line for each reason with the pods of that reason. The reasons are in the order in which they first
// appear.
func grouped(pods []Treated) (lines []string) {
	var reasons []string
	byReason := map[string][]string{}
	for _, t := range pods {
		if t.Reason == "" {
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
