package gen

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/overhead/quota"
	"github.com/podberth/podberth/release"
)

// Refusal is an owner whose new pods the API server refuses, and what the API server has about them.
type Refusal struct {
	Pods    []*v1.Pod // at least one, equal but for their names
	Text    string    // of the API server about the first
	Quota   *v1.ResourceQuota
	Cluster admission.Cluster

	pods []*v1.Pod // that use quota
}

// Accept returns the first error of the API server about new pods that come one after the other, when the quota gets the hard amounts under its name
// and keeps its others.
func (r *Refusal) Accept(pods []*v1.Pod, raised map[string]v1.ResourceList) error {
	var quotas []*v1.ResourceQuota
	if r.Quota != nil {
		q := r.Quota.DeepCopy()
		maps.Copy(q.Spec.Hard, raised[q.Name])
		quotas = append(quotas, q)
	}
	left := admission.NewQuotas(quotas, r.pods, Now, release.Current)
	for _, p := range pods {
		if _, _, err := admission.Accept(p, r.Cluster, left, admission.Options{}); err != nil {
			return err
		}
	}
	return nil
}

// Used returns what running pods and pods that wait use of the quota.
func (r *Refusal) Used() v1.ResourceList {
	used := v1.ResourceList{}
	for name := range r.Quota.Spec.Hard {
		used[name] = resource.Quantity{}
	}
	for _, p := range r.pods {
		if p.Namespace != r.Quota.Namespace {
			continue
		}
		for name, q := range quota.Usage(p, Now, release.Current) {
			if sum, is := used[name]; is {
				sum.Add(q)
				used[name] = sum
			}
		}
	}
	return used
}

// Refuse takes the pods own-... out of the pods that wait, and gives the cluster a reason for which the API server refuses them: a quota that is used up,
// a quota that demands amounts, the bounds of a LimitRange, or a class that does not exist. It returns nil when there are no such pods, or when the
// API server takes them all the same.
func Refuse(c *Cluster, seed int64) *Refusal {
	rnd := rand.New(rand.NewSource(seed))
	r := &Refusal{}
	owned := func(p *v1.Pod) bool { return strings.HasPrefix(p.Name, "own-") }
	for _, p := range c.Pending {
		if owned(p) {
			r.Pods = append(r.Pods, p)
		}
	}
	c.Pending = slices.DeleteFunc(c.Pending, owned)
	if len(r.Pods) == 0 {
		return nil
	}
	namespace, team := r.Pods[0].Namespace, slices.Clone(r.Pods)
	for _, p := range c.Pods {
		if owned(p) {
			team = append(team, p)
		}
	}
	r.pods = append(slices.Clone(c.Pods), c.Pending...)
	c.PriorityClasses = []*schedulingv1.PriorityClass{{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100}, {ObjectMeta: metav1.ObjectMeta{Name: "low"}, Value: 1}}
	r.Cluster = admission.Cluster{PriorityClasses: c.PriorityClasses, RuntimeClasses: []*nodev1.RuntimeClass{{ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}, Handler: "runsc"}}}
	simple := func(requests, limits v1.ResourceList) {
		for _, p := range team {
			p.Spec.InitContainers, p.Spec.Resources = nil, nil
			p.Spec.Containers = p.Spec.Containers[:1]
			p.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: requests.DeepCopy(), Limits: limits.DeepCopy()}
		}
	}
	amount := func(cpu int) v1.ResourceList {
		return v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(int64(cpu), resource.DecimalSI), v1.ResourceMemory: resource.MustParse("64Mi")}
	}
	set := func(hard v1.ResourceList) {
		r.Quota = &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "team"}, Spec: v1.ResourceQuotaSpec{Hard: hard}}
	}
	used := func(name v1.ResourceName) int64 {
		set(v1.ResourceList{name: resource.MustParse("1")})
		q := r.Used()[name]
		return q.MilliValue()
	}
	cpu := 100 * (1 + rnd.Intn(20))
	switch rnd.Intn(6) {
	case 0: // used up: some of the amount is left
		simple(amount(cpu), nil)
		least := used(v1.ResourceRequestsCPU)
		left := int64(cpu * len(r.Pods) * rnd.Intn(10) / 10)
		set(v1.ResourceList{v1.ResourceRequestsCPU: *resource.NewMilliQuantity(least+min(left, int64(cpu)-1), resource.DecimalSI)})
	case 1: // used up: limits
		simple(amount(cpu), amount(2*cpu))
		least := used(v1.ResourceLimitsCPU)
		set(v1.ResourceList{v1.ResourceLimitsCPU: *resource.NewMilliQuantity(least+int64(2*cpu*rnd.Intn(10)/10), resource.DecimalSI)})
	case 2: // amounts that must be there
		simple(nil, nil)
		set(v1.ResourceList{v1.ResourceRequestsCPU: resource.MustParse("1000"), v1.ResourceLimitsMemory: resource.MustParse(fmt.Sprintf("%dGi", 1+rnd.Intn(1000)))})
	case 3:
		simple(amount(cpu), nil)
		item := v1.LimitRangeItem{Type: v1.LimitTypeContainer}
		if bound := *resource.NewMilliQuantity(int64(cpu*(5+rnd.Intn(5))/10), resource.DecimalSI); rnd.Intn(2) == 0 {
			item.Max = v1.ResourceList{v1.ResourceCPU: bound}
			simple(amount(cpu), amount(cpu))
		} else {
			item.Min = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(int64(cpu+100*rnd.Intn(10)+1), resource.DecimalSI)}
		}
		r.Cluster.LimitRanges = []*v1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bounds"}, Spec: v1.LimitRangeSpec{Limits: []v1.LimitRangeItem{item}}}}
	case 4:
		for _, p := range team {
			p.Spec.PriorityClassName = "higj"
		}
	case 5:
		for _, p := range team {
			p.Spec.RuntimeClassName, p.Spec.Overhead = new("gvisr"), nil
		}
	}
	for _, p := range team {
		p.Spec.Priority, p.Spec.PreemptionPolicy = nil, nil
	}
	err := r.Accept(r.Pods[:1], nil)
	if err == nil {
		return nil
	}
	r.Text = err.Error()
	return r
}
