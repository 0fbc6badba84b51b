package main

import (
	"fmt"
	"math/rand"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Case is a cluster, a pod, and what v1.18.20 says: the scores of the nodes, in the order of the nodes.
type Case struct {
	Name        string               `json:"name"`
	Nodes       []*v1.Node           `json:"nodes"`
	Pods        []*v1.Pod            `json:"pods,omitempty"`
	Services    []*v1.Service        `json:"services,omitempty"`
	ReplicaSets []*appsv1.ReplicaSet `json:"replicaSets,omitempty"`
	Pod         *v1.Pod              `json:"pod"`
	Weights     map[string]int64     `json:"weights"`
	Scores      map[string][]int64   `json:"scores"`
}

func node(name, cpu, memory string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}}
	n.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory), "pods": resource.MustParse("110")}
	n.Status.Capacity = n.Status.Allocatable
	return n
}

func images(n *v1.Node, list ...string) *v1.Node {
	for _, name := range list {
		var mebibytes int64
		if _, err := fmt.Sscanf(name, "i%d", &mebibytes); err != nil {
			panic(err)
		}
		n.Status.Images = append(n.Status.Images, v1.ContainerImage{Names: []string{"example.com/" + name + ":v1"}, SizeBytes: mebibytes << 20})
	}
	return n
}

// pod returns a pod of app web. cpu and memory may be "".
func pod(name, on, cpu, memory string, containers ...string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "web"}}}
	p.Spec.NodeName, p.Spec.SchedulerName = on, v1.DefaultSchedulerName
	if len(containers) == 0 {
		containers = []string{"i0"}
	}
	for k, image := range containers {
		c := v1.Container{Name: fmt.Sprint("c", k), Image: "example.com/" + image + ":v1"}
		c.Resources.Requests = v1.ResourceList{}
		for name, amount := range map[v1.ResourceName]string{"cpu": cpu, "memory": memory} {
			if amount != "" {
				c.Resources.Requests[name] = resource.MustParse(amount)
			}
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	return p
}

func term(key, app string) v1.PodAffinityTerm {
	return v1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
}

// likes adds a preference for pods of an app, or against them when weight is negative.
func likes(p *v1.Pod, weight int32, key, app string) *v1.Pod {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{}, PodAntiAffinity: &v1.PodAntiAffinity{}}
	}
	a := p.Spec.Affinity
	if weight > 0 {
		a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term(key, app)})
	} else {
		a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.WeightedPodAffinityTerm{Weight: -weight, PodAffinityTerm: term(key, app)})
	}
	return p
}

func app(p *v1.Pod, name string) *v1.Pod {
	p.Labels["app"] = name
	return p
}

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

	avoided := two()
	avoided[0].Annotations = map[string]string{v1.PreferAvoidPodsAnnotationKey: `{"preferAvoidPods":[{"podSignature":{"podController":{"kind":"ReplicaSet","uid":"rs"}}}]}`}
	add("avoided: the pod's ReplicaSet", Case{Nodes: avoided, Pod: owned(pod("p", "", "", ""))})
	add("spread: two pods of a ReplicaSet", Case{Nodes: three(), Pod: owned(pod("p", "", "", "")), ReplicaSets: []*appsv1.ReplicaSet{replicaSet()},
		Pods: []*v1.Pod{pod("a", "n1", "", ""), pod("b", "n1", "", ""), pod("c", "n2", "", "")}})
	preferred := pod("p", "", "", "")
	preferred.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	add("spread: a constraint of the pod's own", Case{Nodes: three(), Pod: preferred, Pods: []*v1.Pod{pod("a", "n1", "", ""), pod("b", "n1", "", ""), pod("c", "n2", "", "")}})
	return list
}

func replicaSet() *appsv1.ReplicaSet {
	s := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "rs"}}
	s.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	return s
}

func owned(p *v1.Pod) *v1.Pod {
	yes := true
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs", Controller: &yes}}
	return p
}

// randomCases returns clusters of three nodes with up to six pods.
func randomCases(n int, seed int64) (out []Case) {
	r := rand.New(rand.NewSource(seed))
	pick := func(list ...string) string { return list[r.Intn(len(list))] }
	apps, keys, all := []string{"web", "db", "cache"}, []string{v1.LabelHostname, v1.LabelZoneFailureDomain}, []string{"i5", "i40", "i300", "i600", "i900", "i1500"}
	anyPod := func(name, on string) *v1.Pod {
		p := app(pod(name, on, pick("", "100m", "700m", "1"), pick("", "128Mi", "1Gi"), all[r.Intn(6)], all[r.Intn(6)]), pick(apps...))
		for k := r.Intn(3); k > 0; k-- {
			likes(p, int32(r.Intn(100)+1)*int32(1-2*r.Intn(2)), pick(keys...), pick(apps...))
		}
		return p
	}
	for k := 0; k < n; k++ {
		c := Case{Name: fmt.Sprint("random ", seed, " ", k)}
		for i := 1; i <= 3; i++ {
			n := node(fmt.Sprint("n", i), pick("2", "4", "7500m"), pick("2Gi", "8Gi"))
			if zone := pick("a", "b", "c", ""); zone != "" {
				n.Labels[v1.LabelZoneFailureDomain] = zone
			}
			for _, name := range all {
				if r.Intn(2) == 0 {
					images(n, name)
				}
			}
			if r.Intn(3) == 0 {
				n.Spec.Taints = []v1.Taint{{Key: pick("old", "slow"), Effect: v1.TaintEffectPreferNoSchedule}}
			}
			c.Nodes = append(c.Nodes, n)
		}
		for i := r.Intn(7); i > 0; i-- {
			c.Pods = append(c.Pods, anyPod(fmt.Sprint("x", i), pick("n1", "n2", "n3")))
		}
		c.Pod = anyPod("p", "")
		switch r.Intn(3) {
		case 0:
			c.Pod = owned(app(c.Pod, "web"))
			c.ReplicaSets = []*appsv1.ReplicaSet{replicaSet()}
		case 1:
			s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}}
			s.Spec.Selector = map[string]string{"app": c.Pod.Labels["app"]}
			c.Services = []*v1.Service{s}
		}
		if r.Intn(2) == 0 {
			c.Pod.Spec.Tolerations = []v1.Toleration{{Key: "old", Operator: v1.TolerationOpExists}}
		}
		out = append(out, c)
	}
	return out
}
