package admission

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/overhead/kubelet"
	"github.com/podberth/podberth/overhead/quota"
	"github.com/podberth/podberth/release"
)

// Quotas are the ResourceQuotas of a cluster and what of them is used. Charge adds new pods. The zero value has no quota. A Quotas
// belongs to one goroutine.
type Quotas struct {
	quotas  map[string][]*chargedQuota // by namespace, in the order of names
	now     time.Time
	release release.Version
}

type chargedQuota struct {
	name       string
	spec       *v1.ResourceQuotaSpec
	hard, used v1.ResourceList
}

// NewQuotas returns the quotas with what is used of them: status.used where the status has hard values, and otherwise the sum of the
// given pods that the quota selects. pods are the stored pods of the cluster; nil entries of both lists are ignored. now is the
// time for pods that are being deleted. Cost: O(quotas x pods of their namespace) for quotas without status.
func NewQuotas(quotas []*v1.ResourceQuota, pods []*v1.Pod, now time.Time, v release.Version) *Quotas {
	q := &Quotas{quotas: map[string][]*chargedQuota{}, now: now, release: v}
	for _, o := range quotas {
		if o == nil {
			continue
		}
		x := &chargedQuota{name: o.Name, spec: &o.Spec, hard: o.Spec.Hard}
		if len(o.Status.Hard) > 0 {
			x.hard, x.used = o.Status.Hard, o.Status.Used.DeepCopy()
		} else {
			for _, p := range pods {
				if p != nil && p.Namespace == o.Namespace && x.selects(p, v) {
					x.add(quota.Usage(p, now, v))
				}
			}
		}
		q.quotas[o.Namespace] = append(q.quotas[o.Namespace], x)
	}
	for _, list := range q.quotas {
		slices.SortStableFunc(list, func(a, b *chargedQuota) int { return strings.Compare(a.name, b.name) })
	}
	return q
}

// Charge adds a new pod, as [Admit] returns it, to the quotas of its namespace that select the pod. The error is that with which the
// admission plugin ResourceQuota refuses the pod: of the first quota by name that refuses; no quota is charged then. Other kinds than
// pods are not counted. A nil pod, and a nil Quotas, charge nothing.
func (q *Quotas) Charge(pod *v1.Pod) error {
	if q == nil || pod == nil {
		return nil
	}
	var selecting []*chargedQuota
	for _, x := range q.quotas[pod.Namespace] {
		if !x.selects(pod, q.release) {
			continue
		}
		if err := quota.Check(x.name, x.hard, x.used, pod, q.now, q.release); err != nil {
			return err
		}
		selecting = append(selecting, x)
	}
	for _, x := range selecting {
		x.add(quota.Usage(pod, q.now, q.release))
	}
	return nil
}

// Refund gives back what the quotas of the namespace were charged for a stored pod that is deleted. What is used of a quota does not
// fall below 0. A nil pod, and a nil Quotas, give back nothing.
func (q *Quotas) Refund(pod *v1.Pod) {
	if q == nil || pod == nil {
		return
	}
	for _, x := range q.quotas[pod.Namespace] {
		if x.selects(pod, q.release) {
			x.sub(quota.Usage(pod, q.now, q.release))
		}
	}
}

// Clone returns a copy that is charged on its own.
func (q *Quotas) Clone() *Quotas {
	if q == nil {
		return nil
	}
	out := &Quotas{quotas: map[string][]*chargedQuota{}, now: q.now, release: q.release}
	for ns, list := range q.quotas {
		for _, x := range list {
			c := *x
			c.used = x.used.DeepCopy()
			out.quotas[ns] = append(out.quotas[ns], &c)
		}
	}
	return out
}

// Limits reports whether a namespace has a quota.
func (q *Quotas) Limits(namespace string) bool { return q != nil && len(q.quotas[namespace]) > 0 }

func (x *chargedQuota) add(usage v1.ResourceList) {
	if x.used == nil {
		x.used = v1.ResourceList{}
	}
	for name, amount := range usage {
		if _, limited := x.hard[name]; limited {
			sum := x.used[name].DeepCopy()
			sum.Add(amount)
			x.used[name] = sum
		}
	}
}

func (x *chargedQuota) sub(usage v1.ResourceList) {
	for name, amount := range usage {
		if used, is := x.used[name]; is {
			rest := used.DeepCopy()
			rest.Sub(amount)
			if rest.Sign() < 0 {
				rest = resource.Quantity{Format: used.Format}
			}
			x.used[name] = rest
		}
	}
}

// selects reports whether a pod is in every scope of the quota.
func (x *chargedQuota) selects(pod *v1.Pod, v release.Version) bool {
	for _, scope := range x.spec.Scopes {
		if !inScope(pod, v1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: v1.ScopeSelectorOpExists}, v) {
			return false
		}
	}
	if x.spec.ScopeSelector == nil {
		return true
	}
	for _, r := range x.spec.ScopeSelector.MatchExpressions {
		if !inScope(pod, r, v) {
			return false
		}
	}
	return true
}

// inScope reports whether a pod is in a scope (documentation, "Resource Quotas", Quota scopes). Scopes of other kinds select no pod.
func inScope(pod *v1.Pod, r v1.ScopedResourceSelectorRequirement, v release.Version) bool {
	switch r.ScopeName {
	case v1.ResourceQuotaScopeTerminating:
		return pod.Spec.ActiveDeadlineSeconds != nil
	case v1.ResourceQuotaScopeNotTerminating:
		return pod.Spec.ActiveDeadlineSeconds == nil
	case v1.ResourceQuotaScopeBestEffort:
		return kubelet.QoS(pod, v) == v1.PodQOSBestEffort
	case v1.ResourceQuotaScopeNotBestEffort:
		return kubelet.QoS(pod, v) != v1.PodQOSBestEffort
	case v1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return crossesNamespaces(pod)
	case v1.ResourceQuotaScopePriorityClass:
		return classMatches(pod.Spec.PriorityClassName, r)
	}
	return false
}

// classMatches reports whether the name of a PriorityClass meets a requirement of a scope.
func classMatches(class string, r v1.ScopedResourceSelectorRequirement) bool {
	op, known := map[v1.ScopeSelectorOperator]selection.Operator{
		v1.ScopeSelectorOpIn: selection.In, v1.ScopeSelectorOpNotIn: selection.NotIn,
		v1.ScopeSelectorOpExists: selection.Exists, v1.ScopeSelectorOpDoesNotExist: selection.DoesNotExist,
	}[r.Operator]
	if !known {
		return false
	}
	requirement, err := labels.NewRequirement(string(r.ScopeName), op, r.Values)
	set := labels.Set{}
	if class != "" {
		set[string(r.ScopeName)] = class
	}
	return err == nil && requirement.Matches(set)
}

// crossesNamespaces reports whether an affinity term of the pod names namespaces.
func crossesNamespaces(pod *v1.Pod) bool {
	names := func(t v1.PodAffinityTerm) bool { return len(t.Namespaces) > 0 || t.NamespaceSelector != nil }
	weighted := func(w v1.WeightedPodAffinityTerm) bool { return names(w.PodAffinityTerm) }
	with, apart := podinfo.PodAffinity(pod)
	return with != nil && (slices.ContainsFunc(with.RequiredDuringSchedulingIgnoredDuringExecution, names) || slices.ContainsFunc(with.PreferredDuringSchedulingIgnoredDuringExecution, weighted)) ||
		apart != nil && (slices.ContainsFunc(apart.RequiredDuringSchedulingIgnoredDuringExecution, names) || slices.ContainsFunc(apart.PreferredDuringSchedulingIgnoredDuringExecution, weighted))
}
