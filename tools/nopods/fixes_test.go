package nopods

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
)

// An answer leaves the pods and the quotas of the input as they are. Amounts that no int64 holds are counted as others are: each missing pod once, and
// once for each name under which a quota counts them.
func TestInputStays(t *testing.T) {
	o := &dump.Objects{}
	p := testkit.Pod("shop/web").Labels("app=web").Request("memory=10000000000000000001").Obj()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	d.Spec.Replicas, d.Spec.Selector, d.Spec.Template.Labels, d.Spec.Template.Spec = new(int32(2)), &metav1.LabelSelector{MatchLabels: p.Labels}, p.Labels, p.Spec
	d.Spec.Template.Spec.Containers[0].Image = "i"
	o.Deployments = []*appsv1.Deployment{d}
	o.Pods = []*v1.Pod{testkit.Pod("shop/a").Obj(), testkit.Pod("shop/b").Obj()}
	amounts := func(text string) v1.ResourceList {
		return v1.ResourceList{v1.ResourceMemory: resource.MustParse(text), v1.ResourceRequestsMemory: resource.MustParse(text)}
	}
	q := &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "q"}, Spec: v1.ResourceQuotaSpec{Hard: amounts("30000000000000000001")}, Status: v1.ResourceQuotaStatus{Hard: amounts("30000000000000000001"), Used: amounts("19000000000000000001")}}
	o.ResourceQuotas = []*v1.ResourceQuota{q}
	pods := slices.Clone(o.Pods)
	a, err := ask(o, "deployment/shop/web")
	require.NoError(t, err)
	require.Len(t, a.Fixes, 2)
	require.Equal(t, []string{"q: spec.hard[memory] from 30000000000000000001 to 39000000000000000003", "q: spec.hard[requests.memory] from 30000000000000000001 to 39000000000000000003"}, a.Fixes[1].Edits)
	require.Equal(t, pods, o.Pods[:2])
	require.NotContains(t, o.Pods, (*v1.Pod)(nil))
	for text, list := range map[string]v1.ResourceList{"30000000000000000001": q.Spec.Hard, "19000000000000000001": q.Status.Used} {
		for name, amount := range list {
			require.Zero(t, amount.Cmp(resource.MustParse(text)), name)
		}
	}
}

// Where a quota wants an amount named, the container that names none gets one.
func TestSecondContainer(t *testing.T) {
	o := &dump.Objects{}
	p := testkit.Pod("shop/web").Labels("app=web").Request("cpu=1").Obj()
	p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "second"})
	for k := range p.Spec.Containers {
		p.Spec.Containers[k].Image = "i"
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	d.Spec.Selector, d.Spec.Template.Labels, d.Spec.Template.Spec = &metav1.LabelSelector{MatchLabels: p.Labels}, p.Labels, p.Spec
	o.Deployments = []*appsv1.Deployment{d}
	q := &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "q"}, Spec: v1.ResourceQuotaSpec{Hard: v1.ResourceList{"requests.cpu": resource.MustParse("4")}}}
	q.Status.Hard, q.Status.Used = q.Spec.Hard, v1.ResourceList{"requests.cpu": resource.MustParse("0")}
	o.ResourceQuotas = []*v1.ResourceQuota{q}
	a, err := ask(o, "deployment/shop/web")
	require.NoError(t, err)
	require.Len(t, a.Fixes, 1)
	require.Equal(t, []string{"spec.template.spec.containers[1].resources.requests[cpu]: set 2 (quota q has 4 of requests.cpu left)"}, a.Fixes[0].Edits)
}
