package main

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// named returns the cases that have a name of their own.
func named() []Case {
	two := func() []*v1.Node { return []*v1.Node{node("n1", "4", "8Gi"), node("n2", "4", "8Gi")} }
	three := func() []*v1.Node { return append(two(), node("n3", "4", "8Gi")) }
	huge := func(images ...string) Case { return Case{Pod: pod("p", "", "", "", images...)} }
	list := []Case{}
	add := func(name string, c Case) {
		c.Name = name
		list = append(list, c)
	}

	c := huge("i600", "i601")
	c.Nodes = []*v1.Node{images(node("n1", "4", "8Gi"), "i600", "i601")}
	add("images: two containers of 600 MiB", c)
	c = huge("i600", "i601")
	c.Nodes = []*v1.Node{images(node("n1", "4", "8Gi"), "i600", "i601"), images(node("n2", "4", "8Gi"), "i600"), node("n3", "4", "8Gi")}
	add("images: on two nodes of three", c)
	c = huge("i20", "i2000")
	c.Nodes = []*v1.Node{images(node("n1", "4", "8Gi"), "i20"), images(node("n2", "4", "8Gi"), "i2000"), images(node("n3", "4", "8Gi"), "i20", "i2000")}
	add("images: below the least and above the most", c)
	c = huge("i300", "i300", "i301")
	c.Nodes = []*v1.Node{images(node("n1", "4", "8Gi"), "i300", "i301"), node("n2", "4", "8Gi")}
	add("images: the same image twice", c)
	c = huge("i500")
	c.Pod.Spec.InitContainers = []v1.Container{{Name: "init", Image: "example.com/i700:v1"}}
	c.Nodes = []*v1.Node{images(node("n1", "4", "8Gi"), "i500", "i700"), images(node("n2", "4", "8Gi"), "i500")}
	add("images: of an init container", c)

	affinity := func(name string, nodes []*v1.Node, pods ...*v1.Pod) {
		add("affinity: "+name, Case{Nodes: nodes, Pods: pods, Pod: likes(pod("p", "", "", ""), 10, v1.LabelHostname, "db")})
	}
	affinity("raw 10 and 20", two(), app(pod("a", "n1", "", ""), "db"), app(pod("b", "n2", "", ""), "db"), app(pod("c", "n2", "", ""), "db"))
	affinity("raw 0, 10 and 30", three(), app(pod("a", "n2", "", ""), "db"), app(pod("b", "n3", "", ""), "db"), app(pod("c", "n3", "", ""), "db"), app(pod("d", "n3", "", ""), "db"))
	affinity("raw 10 everywhere", two(), app(pod("a", "n1", "", ""), "db"), app(pod("b", "n2", "", ""), "db"))
	affinity("nothing matches", two(), pod("a", "n1", "", ""))
	against := likes(pod("p", "", "", ""), -10, v1.LabelHostname, "db")
	add("affinity: raw -10 and -20", Case{Nodes: two(), Pod: against,
		Pods: []*v1.Pod{app(pod("a", "n1", "", ""), "db"), app(pod("b", "n2", "", ""), "db"), app(pod("c", "n2", "", ""), "db")}})
	add("affinity: raw -10 and 20", Case{Nodes: two(), Pod: likes(likes(pod("p", "", "", ""), -10, v1.LabelHostname, "db"), 20, v1.LabelHostname, "cache"),
		Pods: []*v1.Pod{app(pod("a", "n1", "", ""), "db"), app(pod("b", "n2", "", ""), "cache")}})
	hard := app(pod("a", "n2", "", ""), "db")
	hard.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term(v1.LabelHostname, "web")}}}
	add("affinity: a running pod requires pods of this app, weight 1", Case{Nodes: two(), Pod: pod("p", "", "", ""), Pods: []*v1.Pod{hard}})
	add("affinity: running pods prefer this app, 3 and 5", Case{Nodes: three(), Pod: pod("p", "", "", ""),
		Pods: []*v1.Pod{likes(app(pod("a", "n1", "", ""), "db"), 3, v1.LabelHostname, "web"), likes(app(pod("b", "n2", "", ""), "db"), 5, v1.LabelHostname, "web")}})

	add("resources: cpu used up", Case{Nodes: two(), Pod: pod("p", "", "1", "1Gi"), Pods: []*v1.Pod{pod("a", "n1", "3", "1Gi"), pod("b", "n2", "3500m", "1Gi")}})
	bare := two()
	bare[0].Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("110")}
	add("resources: a node without memory", Case{Nodes: bare, Pod: pod("p", "", "1", "1Gi")})
	add("resources: a pod without requests", Case{Nodes: two(), Pod: pod("p", "", "", ""), Pods: []*v1.Pod{pod("a", "n1", "", "")}})

	for _, cpu := range []string{"250m", "3"} {
		wrapped, running := pod("p", "", "1", "1Gi"), pod("a", "n1", "1", "1Gi")
		wrapped.Spec.Overhead = v1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("1Gi")}
		running.Spec.Overhead = wrapped.Spec.Overhead
		add("resources: overhead of "+cpu, Case{Nodes: []*v1.Node{node("n1", "16", "8Gi"), node("n2", "16", "8Gi")}, Pod: wrapped, Pods: []*v1.Pod{running}})
	}
	started := pod("p", "", "1", "1Gi")
	started.Spec.InitContainers = []v1.Container{{Name: "init", Image: "example.com/i0:v1"}}
	started.Spec.InitContainers[0].Resources.Requests = v1.ResourceList{"cpu": resource.MustParse("3"), "memory": resource.MustParse("4Gi")}
	first := started.DeepCopy()
	first.Name, first.Spec.NodeName = "a", "n1"
	add("resources: init containers that ask for more", Case{Nodes: two(), Pod: started, Pods: []*v1.Pod{first}})

	avoided := two()
	avoid(avoided[0])
	add("avoided: the pod's ReplicaSet", Case{Nodes: avoided, Pod: owned(pod("p", "", "", ""))})
	add("spread: two pods of a ReplicaSet", Case{Nodes: three(), Pod: owned(pod("p", "", "", "")), ReplicaSets: []*appsv1.ReplicaSet{replicaSet()},
		Pods: []*v1.Pod{pod("a", "n1", "", ""), pod("b", "n1", "", ""), pod("c", "n2", "", "")}})
	elsewhere := two()
	avoid(elsewhere[0])
	add("avoided: a pod without controller", Case{Nodes: elsewhere, Pod: pod("p", "", "", "")})

	tainted := three()
	tainted[0].Spec.Taints = []v1.Taint{{Key: "old", Effect: v1.TaintEffectPreferNoSchedule}, {Key: "slow", Effect: v1.TaintEffectPreferNoSchedule}}
	tainted[1].Spec.Taints = []v1.Taint{{Key: "old", Effect: v1.TaintEffectPreferNoSchedule}}
	add("taints: two, one and none", Case{Nodes: tainted, Pod: pod("p", "", "", "")})
	disks := three()
	disks[0].Labels["disk"], disks[1].Labels["disk"] = "ssd", "hdd"
	add("nodes: preferred with 30 and 20", Case{Nodes: disks, Pod: prefers(prefers(pod("p", "", "", ""), 30, "disk", "ssd"), 20, "disk", "hdd")})
	return append(list, spreads()...)
}

// spreads are cases of topology spread constraints.
func spreads() (list []Case) {
	zoned := func(zones ...string) (out []*v1.Node) {
		for i, zone := range zones {
			n := node(fmt.Sprint("n", i+1), "4", "8Gi")
			if zone != "" {
				n.Labels["zone"] = zone
			}
			out = append(out, n)
		}
		return out
	}
	running := func(on ...string) (out []*v1.Pod) {
		for i, n := range on {
			out = append(out, pod(fmt.Sprint("x", i), n, "", ""))
		}
		return out
	}
	add := func(name string, nodes []*v1.Node, p *v1.Pod, pods []*v1.Pod) {
		list = append(list, Case{Name: "constraint: " + name, Nodes: nodes, Pod: p, Pods: pods})
	}
	web := func(keys ...string) *v1.Pod {
		p := pod("p", "", "", "")
		for _, key := range keys {
			constrain(p, key, "web", v1.ScheduleAnyway)
		}
		return p
	}
	add("2, 1 and 0 pods", zoned("", "", ""), web(v1.LabelHostname), running("n1", "n1", "n2"))
	add("5, 3 and 2 pods", zoned("", "", ""), web(v1.LabelHostname), running("n1", "n1", "n1", "n1", "n1", "n2", "n2", "n2", "n3", "n3"))
	add("1 pod everywhere", zoned("", "", ""), web(v1.LabelHostname), running("n1", "n2", "n3"))
	add("no pods", zoned("", "", ""), web(v1.LabelHostname), nil)
	add("one node", zoned(""), web(v1.LabelHostname), running("n1"))
	add("zones of two nodes and one", zoned("a", "a", "b"), web("zone"), running("n1", "n2", "n3"))
	add("a node without zone", zoned("a", "b", ""), web("zone"), running("n1", "n1", "n2", "n3"))
	add("a node without zone, nothing elsewhere", zoned("a", "b", ""), web("zone"), running("n3"))
	add("zone and node", zoned("a", "a", "b"), web("zone", v1.LabelHostname), running("n1", "n1", "n2", "n3"))
	add("zone and node, a node without zone", zoned("a", "a", "b", ""), web("zone", v1.LabelHostname), running("n1", "n1", "n2", "n3", "n4"))
	strict := pod("p", "", "", "")
	constrain(strict, v1.LabelHostname, "web", v1.DoNotSchedule)
	add("DoNotSchedule", zoned("", "", ""), strict, running("n1", "n1", "n2"))
	other := pod("p", "", "", "")
	constrain(other, v1.LabelHostname, "db", v1.ScheduleAnyway)
	add("of pods of another app", zoned("", "", ""), other, append(running("n1"), app(pod("d", "n2", "", ""), "db")))
	leaving := running("n1", "n2")
	leaving[0].DeletionTimestamp = &metav1.Time{Time: time.Unix(1600000000, 0)}
	add("a pod that is being deleted", zoned("", "", ""), web(v1.LabelHostname), leaving)
	foreign := running("n1", "n2")
	foreign[0].Namespace = "other"
	add("a pod of another namespace", zoned("", "", ""), web(v1.LabelHostname), foreign)
	selected := web("zone")
	selected.Spec.NodeSelector = map[string]string{"zone": "a"}
	add("a node that the selector leaves out", zoned("a", "a", "b"), selected, running("n1", "n3"))
	many := make([]string, 129)
	for i := range many {
		many[i] = "n1"
		if i >= 100 {
			many[i] = "n2"
		}
	}
	add("100 and 29 pods", zoned("", ""), web(v1.LabelHostname), running(many...))
	shared := constrain(web("zone", v1.LabelHostname), "zone", "db", v1.ScheduleAnyway)
	add("two of one key and one of another", zoned("a", "b", "c"), shared, append(running("n1", "n1", "n2"), app(pod("d", "n2", "", ""), "db")))
	list = append(list, Case{Name: "constraint: two feasible nodes of three", Nodes: zoned("a", "a", "b"), Pod: web("zone"), Pods: running("n1", "n1", "n2", "n3"), Feasible: []int{0, 2}},
		Case{Name: "constraint: a zone without feasible node", Nodes: zoned("a", "b", "c"), Pod: web("zone"), Pods: running("n1", "n1", "n2", "n3"), Feasible: []int{0, 1}})
	return list
}
