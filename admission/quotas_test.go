package admission

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/taints"
)

func quotaOf(name string, hard map[v1.ResourceName]string) *v1.ResourceQuota {
	q := &v1.ResourceQuota{}
	q.Namespace, q.Name, q.Spec.Hard = "default", name, v1.ResourceList{}
	for k, v := range hard {
		q.Spec.Hard[k] = resource.MustParse(v)
	}
	return q
}

func podAsking(name, cpu string) *v1.Pod {
	p := &v1.Pod{}
	p.Namespace, p.Name = "default", name
	p.Spec.Containers = []v1.Container{{Name: "c"}}
	if cpu != "" {
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{"cpu": resource.MustParse(cpu)}
	}
	return p
}

// A quota counts one pod after the other, from its status or from the pods that are there, and refuses with the server's words.
func TestQuotas(t *testing.T) {
	q := quotaOf("q", map[v1.ResourceName]string{"requests.cpu": "10"})
	three := func(quotas *Quotas) (errs []string) {
		for _, name := range []string{"a", "b", "c"} {
			if err := quotas.Charge(podAsking(name, "4")); err != nil {
				errs = append(errs, err.Error())
			}
		}
		return errs
	}
	const third = `pods "c" is forbidden: exceeded quota: q, requested: requests.cpu=4, used: requests.cpu=8, limited: requests.cpu=10`
	now := testkit.Epoch
	fresh := NewQuotas([]*v1.ResourceQuota{q, nil}, nil, now, release.Current)
	copied := fresh.Clone()
	require.Equal(t, []string{third}, three(fresh))
	require.Equal(t, []string{third}, three(copied), "charges of the other do not count")
	require.Len(t, three(NewQuotas([]*v1.ResourceQuota{q}, []*v1.Pod{podAsking("there", "3"), nil}, now, release.Current)), 2, "7 are left")
	q.Status.Hard, q.Status.Used = q.Spec.Hard, v1.ResourceList{"requests.cpu": resource.MustParse("9")}
	require.Len(t, three(NewQuotas([]*v1.ResourceQuota{q}, nil, now, release.Current)), 3, "1 is left")
	q.Status = v1.ResourceQuotaStatus{}
	require.EqualError(t, NewQuotas([]*v1.ResourceQuota{q}, nil, now, release.Current).Charge(podAsking("bare", "")),
		`pods "bare" is forbidden: failed quota: q: must specify requests.cpu for: c`)
	other := podAsking("other", "20")
	other.Namespace = "elsewhere"
	require.NoError(t, fresh.Charge(other))
	require.True(t, fresh.Limits("default"))
	require.False(t, fresh.Limits("elsewhere"))
	require.NoError(t, (*Quotas)(nil).Charge(other))
}

// What a deleted pod was charged is free for another pod, and never more than was used.
func TestQuotasRelease(t *testing.T) {
	q := quotaOf("q", map[v1.ResourceName]string{"requests.cpu": "4"})
	used := NewQuotas([]*v1.ResourceQuota{q}, []*v1.Pod{podAsking("there", "4")}, testkit.Epoch, release.Current)
	require.Error(t, used.Charge(podAsking("next", "4")))
	elsewhere := podAsking("there", "4")
	elsewhere.Namespace = "elsewhere"
	used.Refund(elsewhere)
	used.Refund(nil)
	require.Error(t, used.Charge(podAsking("next", "4")))
	copied := used.Clone()
	copied.Refund(podAsking("there", "4"))
	require.Error(t, used.Charge(podAsking("next", "4")), "the other gave back")
	require.NoError(t, copied.Charge(podAsking("next", "4")))
	copied.Refund(podAsking("next", "9"))
	require.NoError(t, copied.Charge(podAsking("again", "4")))
	require.ErrorContains(t, copied.Charge(podAsking("more", "1")), "used: requests.cpu=4, limited: requests.cpu=4")
	(*Quotas)(nil).Refund(elsewhere)
}

// A larger quota takes more, keeps its other amounts, and leaves the object and other copies alone.
func TestQuotasRaise(t *testing.T) {
	q := quotaOf("q", map[v1.ResourceName]string{"requests.cpu": "4", "pods": "2"})
	left := NewQuotas([]*v1.ResourceQuota{q, quotaOf("none", nil)}, []*v1.Pod{podAsking("there", "4")}, testkit.Epoch, release.Current)
	larger := left.Clone()
	larger.Raise("default", "q", testkit.Resources("requests.cpu=8"))
	larger.Raise("default", "none", testkit.Resources("pods=9"))
	larger.Raise("default", "other", testkit.Resources("requests.cpu=0"))
	larger.Raise("elsewhere", "q", testkit.Resources("requests.cpu=0"))
	require.NoError(t, larger.Charge(podAsking("next", "4")))
	require.ErrorContains(t, larger.Charge(podAsking("third", "0")), "limited: pods=2")
	require.Error(t, left.Charge(podAsking("next", "4")))
	require.Equal(t, "4", q.Spec.Hard.Name("requests.cpu", resource.DecimalSI).String())
	(*Quotas)(nil).Raise("default", "q", nil)
}

// A copy of the quotas has their clock: a pod that should be gone is charged nothing there either.
func TestQuotasKeepTheTime(t *testing.T) {
	q := quotaOf("q", map[v1.ResourceName]string{"requests.cpu": "4"})
	gone := podAsking("gone", "4")
	gone.DeletionTimestamp, gone.DeletionGracePeriodSeconds = &metav1.Time{Time: testkit.Epoch.Add(-time.Hour)}, new(int64(30))
	copied := NewQuotas([]*v1.ResourceQuota{q}, nil, testkit.Epoch, release.Current).Clone()
	require.NoError(t, copied.Charge(gone))
	require.NoError(t, copied.Charge(podAsking("next", "4")))
}

// A quota counts the pods of its scopes only.
func TestQuotaScopes(t *testing.T) {
	deadline := int64(5)
	type test struct {
		name, why string
		scopes    []v1.ResourceQuotaScope
		selector  *v1.ScopedResourceSelectorRequirement
		change    func(p *v1.Pod)
		counts    bool
	}
	class := func(op v1.ScopeSelectorOperator, values ...string) *v1.ScopedResourceSelectorRequirement {
		return &v1.ScopedResourceSelectorRequirement{ScopeName: v1.ResourceQuotaScopePriorityClass, Operator: op, Values: values}
	}
	high := func(p *v1.Pod) { p.Spec.PriorityClassName = "high" }
	testkit.Run(t, []test{
		{"none", "every pod", nil, nil, func(*v1.Pod) {}, true},
		{"Terminating", "pods with a deadline", []v1.ResourceQuotaScope{v1.ResourceQuotaScopeTerminating}, nil, func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = &deadline }, true},
		{"no deadline", "is not Terminating", []v1.ResourceQuotaScope{v1.ResourceQuotaScopeTerminating}, nil, func(*v1.Pod) {}, false},
		{"NotTerminating", "pods without a deadline", []v1.ResourceQuotaScope{v1.ResourceQuotaScopeNotTerminating}, nil, func(*v1.Pod) {}, true},
		{"BestEffort", "the pod asks for cpu", []v1.ResourceQuotaScope{v1.ResourceQuotaScopeBestEffort}, nil, func(*v1.Pod) {}, false},
		{"NotBestEffort", "the pod asks for cpu", []v1.ResourceQuotaScope{v1.ResourceQuotaScopeNotBestEffort}, nil, func(*v1.Pod) {}, true},
		{"both", "every scope must select", []v1.ResourceQuotaScope{v1.ResourceQuotaScopeNotBestEffort, v1.ResourceQuotaScopeTerminating}, nil, func(*v1.Pod) {}, false},
		{"CrossNamespace", "a term names namespaces", []v1.ResourceQuotaScope{v1.ResourceQuotaScopeCrossNamespacePodAffinity}, nil, func(p *v1.Pod) {
			p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{PodAffinityTerm: v1.PodAffinityTerm{Namespaces: []string{"x"}}}}}}
		}, true},
		{"own namespace", "no term names namespaces", []v1.ResourceQuotaScope{v1.ResourceQuotaScopeCrossNamespacePodAffinity}, nil, func(p *v1.Pod) {
			p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{}}}}
		}, false},
		{"class In", "the pod has it", nil, class(v1.ScopeSelectorOpIn, "high", "low"), high, true},
		{"class NotIn", "the pod has it", nil, class(v1.ScopeSelectorOpNotIn, "high"), high, false},
		{"class Exists", "a pod without a class", nil, class(v1.ScopeSelectorOpExists), func(*v1.Pod) {}, false},
		{"class DoesNotExist", "a pod without a class", nil, class(v1.ScopeSelectorOpDoesNotExist), func(*v1.Pod) {}, true},
		{"unknown operator", "selects nobody", nil, class("Near", "high"), high, false},
		{"unknown scope", "of other kinds", []v1.ResourceQuotaScope{"VolumeAttributesClass"}, nil, func(*v1.Pod) {}, false},
	}, func(t *testing.T, c test) {
		q := quotaOf("q", map[v1.ResourceName]string{"pods": "0"})
		q.Spec.Scopes = c.scopes
		if c.selector != nil {
			q.Spec.ScopeSelector = &v1.ScopeSelector{MatchExpressions: []v1.ScopedResourceSelectorRequirement{*c.selector}}
		}
		p := podAsking("p", "1")
		c.change(p)
		err := NewQuotas([]*v1.ResourceQuota{q}, nil, testkit.Epoch, release.Current).Charge(p)
		require.Equal(t, c.counts, err != nil, c.why)
	})
}

// Accept refuses at the first step that refuses, and charges only what it accepts.
func TestAccept(t *testing.T) {
	q := NewQuotas([]*v1.ResourceQuota{quotaOf("q", map[v1.ResourceName]string{"pods": "1"})}, nil, testkit.Epoch, release.Current)
	wrong := podAsking("wrong", "1")
	wrong.Spec.NodeSelector = map[string]string{"a b": "c"}
	_, _, err := Accept(wrong, Cluster{}, q, Options{})
	require.ErrorContains(t, err, `Pod "wrong" is invalid: spec.nodeSelector`)
	unknown := podAsking("unknown", "1")
	unknown.Spec.PriorityClassName = "gone"
	_, _, err = Accept(unknown, Cluster{}, q, Options{})
	require.ErrorContains(t, err, "no PriorityClass with name gone was found")
	got, changes, err := Accept(podAsking("first", "1"), Cluster{}, q, Options{})
	require.NoError(t, err)
	require.NotEmpty(t, changes)
	require.Equal(t, v1.DefaultSchedulerName, got.Spec.SchedulerName)
	_, _, err = Accept(podAsking("second", "1"), Cluster{}, q, Options{})
	require.ErrorContains(t, err, "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1")
}

// Gt and Lt are accepted when the caller says that the API server compares, with an integer.
func TestAcceptComparisons(t *testing.T) {
	compares := Options{Tolerations: taints.Options{ComparisonOperators: true}}
	p := podAsking("p", "1")
	p.Spec.Tolerations = []v1.Toleration{{Key: "sla", Operator: v1.TolerationOpGt, Value: "90"}}
	_, _, err := Accept(p, Cluster{}, nil, Options{})
	require.ErrorContains(t, err, `spec.tolerations[0].operator: Unsupported value: "Gt"`)
	_, _, err = Accept(p, Cluster{}, nil, compares)
	require.NoError(t, err)
	p.Spec.Tolerations[0].Value = "high"
	_, _, err = Accept(p, Cluster{}, nil, compares)
	require.ErrorContains(t, err, `spec.tolerations[0].value: Invalid value: "high"`)
}
