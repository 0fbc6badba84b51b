// Package quota (experimental) computes what a pod is charged with in the resource quotas of its namespace, and whether a quota rejects
// the pod.
//
//	charge := quota.Usage(pod, now, release.Current)                  // pods, requests.cpu, limits.memory, ...
//	err := quota.Check("team", hard, used, pod, now, release.Current) // nil: accepted; otherwise the API server's Forbidden error
//
// The rule:
//
//	rejected = a resource of the quota that a container must name is not named, or used + charge > hard for a resource
//
// Amounts are quantities as the API writes them. Requests and limits include pod overhead. A nil pod is charged nothing and
// never rejected. The cost is O(containers x resources). What all packages promise is said in
// [github.com/podberth/podberth].
//
// The package does not match scopes, and it does not add up the pods of a namespace: the caller passes what is used.
//
// This package follows Kubernetes v1.37.2. docs/fidelity/overhead.md lists the rules (O7).
package quota

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	countPods    = v1.ResourceName("count/pods")
	limitsPrefix = "limits."
)

// Usage returns what the pod is charged with in the resource quotas of its namespace:
//
//   - count/pods, as long as the pod exists. The other entries are charged until the pod has ended or should be gone.
//   - pods.
//   - The requests of cpu, memory, ephemeral-storage and huge pages, as "cpu" and as "requests.cpu".
//   - The requests of extended resources, as "requests.<name>" only.
//   - The limits of cpu, memory and ephemeral-storage, as "limits.cpu".
//
// Requests and limits include overhead. For a pod that is resized in place the status of its containers counts; the status
// of the pod as a whole does not (rule L4.1 of the release). A deleted pod should be gone one grace period after its deletionTimestamp.
// (The timestamp includes the period already; v1.37 adds it once more.) A nil pod is charged nothing. Rules O7.1 to O7.3: documentation,
// "Resource Quotas", "Pod Overhead".
func Usage(pod *v1.Pod, now time.Time, v release.Version) v1.ResourceList {
	usage := v1.ResourceList{}
	if pod == nil {
		return usage
	}
	usage[countPods] = *resource.NewQuantity(1, resource.DecimalSI)
	if !charged(pod, now) {
		return usage
	}
	usage[v1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	o := overhead.Options{UseStatus: true, IgnorePodStatus: true, Release: v}
	for name, q := range overhead.Requests(pod, o) {
		s := string(name)
		switch {
		case name == v1.ResourceCPU, name == v1.ResourceMemory, name == v1.ResourceEphemeralStorage, strings.HasPrefix(s, v1.ResourceHugePagesPrefix):
			usage[name] = q
			usage[v1.ResourceName(v1.DefaultResourceRequestsPrefix+s)] = q.DeepCopy()
		case resources.IsExtended(name), strings.HasPrefix(s, resources.DeviceClassPrefix):
			usage[v1.ResourceName(v1.DefaultResourceRequestsPrefix+s)] = q
		}
	}
	for name, q := range overhead.Limits(pod, o) {
		switch name {
		case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
			usage[limitsPrefix+name] = q
		}
	}
	return usage
}

func charged(pod *v1.Pod, now time.Time) bool {
	if podinfo.Finished(pod) {
		return false
	}
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return true
	}
	grace := resources.Seconds(*pod.DeletionGracePeriodSeconds)
	return !now.After(pod.DeletionTimestamp.Add(grace))
}

// Check returns the API server's Forbidden error if the quota of that name rejects a new pod, and nil if the quota accepts
// the pod. It rejects the pod in two steps:
//
//  1. A container or init container does not name a request or limit of cpu or memory that the quota limits, and the pod
//     does not set spec.resources. Overhead does not replace what a container must name.
//  2. The pod's [Usage] and used together exceed hard. The error names the exceeded resources, sorted.
//
// hard and used are those of the quota's status. The quota's scopes must select the pod. A resource that used does not name
// counts as 0. A nil pod is accepted. Rules O7.4 and O7.5: documentation, "Resource Quotas".
func Check(name string, hard, used v1.ResourceList, pod *v1.Pod, now time.Time, v release.Version) error {
	if pod == nil {
		return nil
	}
	if missing := unspecified(pod, hard); missing != "" {
		return forbidden(pod, fmt.Sprintf("failed quota: %s: must specify %s", name, missing))
	}
	usage := Usage(pod, now, v)
	var over []v1.ResourceName
	for res, charge := range usage {
		if limit, ok := hard[res]; ok {
			sum := used[res].DeepCopy()
			sum.Add(charge)
			if sum.Cmp(limit) > 0 {
				over = append(over, res)
			}
		}
	}
	if len(over) == 0 {
		return nil
	}
	slices.Sort(over)
	return forbidden(pod, fmt.Sprintf("exceeded quota: %s, requested: %s, used: %s, limited: %s", name, amounts(usage, over), amounts(used, over), amounts(hard, over)))
}

// unspecified returns the resources of hard that a container must name and does not, such as
// "limits.cpu for: a,b; memory for: b".
func unspecified(pod *v1.Pod, hard v1.ResourceList) string {
	if r := pod.Spec.Resources; r != nil && (podLevel(r.Requests) || podLevel(r.Limits)) {
		return ""
	}
	var parts []string
	for _, res := range [...]v1.ResourceName{"cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"} { // sorted
		if _, ok := hard[res]; !ok {
			continue
		}
		var names []string
		for _, containers := range [...][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range containers {
				list := containers[i].Resources.Requests
				base := v1.ResourceName(strings.TrimPrefix(string(res), v1.DefaultResourceRequestsPrefix))
				if limit, ok := strings.CutPrefix(string(res), limitsPrefix); ok {
					list, base = containers[i].Resources.Limits, v1.ResourceName(limit)
				}
				if _, ok := list[base]; !ok {
					names = append(names, containers[i].Name)
				}
			}
		}
		if len(names) > 0 {
			slices.Sort(names)
			parts = append(parts, string(res)+" for: "+strings.Join(slices.Compact(names), ","))
		}
	}
	return strings.Join(parts, "; ")
}

func amounts(list v1.ResourceList, names []v1.ResourceName) string {
	parts := make([]string, len(names))
	for i, name := range names {
		q := list[name]
		parts[i] = string(name) + "=" + q.String()
	}
	return strings.Join(parts, ",")
}

// podLevel reports whether the list names a resource that counts for a pod as a whole.
func podLevel(list v1.ResourceList) bool {
	for name := range list {
		if overhead.PodLevelSupported(name) {
			return true
		}
	}
	return false
}

func forbidden(pod *v1.Pod, message string) error {
	return apierrors.NewForbidden(v1.Resource("pods"), pod.Name, errors.New(message))
}
