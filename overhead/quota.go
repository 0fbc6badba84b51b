package overhead

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/resources"
)

const (
	countPods         = v1.ResourceName("count/pods")
	deviceClassPrefix = "deviceclass.resource.kubernetes.io/"
)

// QuotaUsage returns what the pod is charged with in its namespace's resource quotas: count/pods always; and, unless it has
// ended or should be gone, pods, its requests as "cpu" and "requests.cpu" (also memory, ephemeral-storage and huge pages;
// extended resources as "requests.<name>" only) and its limits as "limits.cpu" (also memory and ephemeral-storage), all with
// overhead. A pod that is resized in place counts what its containers hold; status.resources of the whole pod is not read.
// A deleted pod is charged until its grace period has passed once more after deletionTimestamp, which has the period in it
// already. nil is charged nothing. Rules: documentation, "Resource Quotas", "Pod Overhead".
func QuotaUsage(pod *v1.Pod, now time.Time) v1.ResourceList {
	usage := v1.ResourceList{}
	if pod == nil {
		return usage
	}
	usage[countPods] = *resource.NewQuantity(1, resource.DecimalSI)
	if !charged(pod, now) {
		return usage
	}
	usage[v1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	o := Options{UseStatus: true, IgnorePodStatus: true}
	for name, q := range Requests(pod, o) {
		s := string(name)
		switch {
		case name == v1.ResourceCPU, name == v1.ResourceMemory, name == v1.ResourceEphemeralStorage, strings.HasPrefix(s, v1.ResourceHugePagesPrefix):
			usage[name] = q
			usage[v1.ResourceName(v1.DefaultResourceRequestsPrefix+s)] = q.DeepCopy()
		case resources.IsExtended(name), strings.HasPrefix(s, deviceClassPrefix):
			usage[v1.ResourceName(v1.DefaultResourceRequestsPrefix+s)] = q
		}
	}
	for name, q := range Limits(pod, o) {
		switch name {
		case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
			usage["limits."+name] = q
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
	grace := time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	return !now.After(pod.DeletionTimestamp.Add(grace))
}

// CheckQuota reports with the API server's Forbidden error that a quota rejects a new pod: first when a container or init
// container does not itself name a cpu or memory amount that the quota limits and the pod does not set spec.resources
// (overhead is no substitute), then when what the pod is charged with and used together exceed hard. hard and used are
// those of the quota's status. The quota must be one whose scopes select the pod; used need not name every resource. nil
// means accepted. Rule: documentation, "Resource Quotas".
func CheckQuota(name string, hard, used v1.ResourceList, pod *v1.Pod, now time.Time) error {
	if pod == nil {
		return nil
	}
	if missing := unspecified(pod, hard); missing != "" {
		return forbidden(pod, fmt.Sprintf("failed quota: %s: must specify %s", name, missing))
	}
	usage := QuotaUsage(pod, now)
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

// unspecified returns the resources of hard that containers must name and do not, as "limits.cpu for: a,b; memory for: b".
func unspecified(pod *v1.Pod, hard v1.ResourceList) string {
	if r := pod.Spec.Resources; r != nil && (anySupported(r.Requests) || anySupported(r.Limits)) {
		return ""
	}
	var parts []string
	for _, res := range [...]v1.ResourceName{"cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"} { // sorted
		if !has(hard, res) {
			continue
		}
		var names []string
		for _, containers := range [...][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range containers {
				list := containers[i].Resources.Requests
				base := v1.ResourceName(strings.TrimPrefix(string(res), v1.DefaultResourceRequestsPrefix))
				if limit, ok := strings.CutPrefix(string(res), "limits."); ok {
					list, base = containers[i].Resources.Limits, v1.ResourceName(limit)
				}
				if !has(list, base) {
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
