package overhead

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// What is returned shares nothing with what was given, also amounts that are behind a pointer because no int64 holds them.
func TestNothingIsShared(t *testing.T) {
	huge := func() v1.ResourceList {
		return v1.ResourceList{"cpu": resource.MustParse("123456789012345678901"), "memory": resource.MustParse("123456789012345678902")}
	}
	pod := testkit.Containers("init i\ncontainer c")
	pod.Spec.InitContainers[0].Resources.Requests, pod.Spec.Containers[0].Resources.Limits = huge(), huge()
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{"memory": huge()["memory"]}
	pod.Spec.Overhead = huge()
	whole := pod.DeepCopy()
	whole.Spec.Resources = &v1.ResourceRequirements{Requests: huge(), Limits: huge()}
	whole.Status.Resources = &v1.ResourceRequirements{Requests: huge()}
	whole.Status.AllocatedResources = v1.ResourceList{"cpu": huge()["cpu"], "example.com/x": huge()["cpu"]} // a resource that spec.resources may not name
	node := testkit.Node("n").Obj()
	node.Status.Capacity = huge()
	missing := v1.ResourceList{"cpu": huge()["cpu"]}
	more := func(lists ...v1.ResourceList) {
		for _, list := range lists {
			for _, q := range list {
				q.Add(q)
			}
		}
	}
	type test struct {
		name, why string
		write     func(p *v1.Pod)
	}
	testkit.Run(t, []test{
		{"Default", "a request is not its limit", func(p *v1.Pod) {
			p = Default(p)
			more(p.Spec.Containers[0].Resources.Requests)
			if again := p.Spec.Containers[0].Resources; again.Requests.Cpu().Cmp(*again.Limits.Cpu()) == 0 {
				t.Error("the request and the limit are one amount")
			}
		}},
		{"Requests", "with amounts for what is missing", func(p *v1.Pod) { more(Requests(p, Options{Missing: missing}), Limits(p, Options{})) }},
		{"Explain of a resized pod", "the amounts of the status", func(p *v1.Pod) {
			for _, x := range Explain(p, Options{UseStatus: true, Release: release.V1_37}) {
				more(v1.ResourceList{"a": x.PodLevel, "b": x.Total})
			}
		}},
		{"Explain", "each part", func(p *v1.Pod) {
			for _, x := range Explain(p, Options{}) {
				more(v1.ResourceList{"a": x.PodLevel, "b": x.Overhead, "c": x.Running, "d": x.Starting, "e": x.Total})
			}
		}},
		{"Allocatable", "what is left of a capacity", func(*v1.Pod) {
			list, err := Allocatable(node.Status.Capacity, Reservations{})
			if err != nil {
				t.Error(err)
			}
			more(list)
		}},
	}, func(t *testing.T, c test) {
		held := &v1.Pod{Spec: v1.PodSpec{Overhead: missing}}
		for _, p := range []*v1.Pod{pod, whole} {
			testkit.Unchanged[runtime.Object](t, func() { c.write(p) }, p, node, held)
		}
	})
}
