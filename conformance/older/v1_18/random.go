package main

import (
	"fmt"
	"math/rand"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// source draws what a random cluster has.
type source struct{ *rand.Rand }

func (r source) pick(list ...string) string { return list[r.Intn(len(list))] }

var (
	apps      = []string{"web", "db", "cache"}
	allImages = []string{"i5", "i40", "i300", "i600", "i900", "i1500"}
	zoneKeys  = []string{v1.LabelZoneFailureDomain, "topology.kubernetes.io/zone", v1.LabelZoneRegion, "topology.kubernetes.io/region"}
	topology  = []string{v1.LabelHostname, v1.LabelZoneFailureDomain, "disk"}
)

func (r source) node(i int) *v1.Node {
	n := node(fmt.Sprint("n", i), r.pick("2", "4", "7500m"), r.pick("2Gi", "8Gi"))
	for _, key := range zoneKeys {
		if value := r.pick("a", "b", "c", "", ""); value != "" {
			n.Labels[key] = value
		}
	}
	if disk := r.pick("ssd", "hdd", ""); disk != "" {
		n.Labels["disk"] = disk
	}
	for _, name := range allImages {
		if r.Intn(2) == 0 {
			images(n, name)
		}
	}
	for _, key := range []string{"old", "slow", "far"} {
		if r.Intn(4) == 0 {
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Effect: v1.TaintEffectPreferNoSchedule})
		}
	}
	return n
}

func (r source) pod(name, on string) *v1.Pod {
	p := app(pod(name, on, r.pick("", "100m", "700m", "1"), r.pick("", "128Mi", "1Gi"), r.pick(allImages...), r.pick(allImages...)), r.pick(apps...))
	for k := r.Intn(3); k > 0; k-- {
		likes(p, int32(r.Intn(100)+1)*int32(1-2*r.Intn(2)), r.pick(topology...), r.pick(apps...))
	}
	if r.Intn(4) == 0 {
		init := v1.Container{Name: "init", Image: "example.com/" + r.pick(allImages...) + ":v1"}
		init.Resources.Requests = v1.ResourceList{"cpu": resource.MustParse("1500m")}
		p.Spec.InitContainers = []v1.Container{init}
	}
	if r.Intn(6) == 0 {
		p.Spec.Overhead = v1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("120Mi")}
	}
	if r.Intn(8) == 0 {
		p.Namespace = "other"
	}
	return p
}

// randomCases returns clusters of three or four nodes with up to eight pods.
func randomCases(n int, seed int64) (out []Case) {
	r := source{rand.New(rand.NewSource(seed))}
	for k := 0; k < n; k++ {
		c := Case{Name: fmt.Sprint("random ", seed, " ", k)}
		for i := 3 + r.Intn(2); i > 0; i-- {
			c.Nodes = append(c.Nodes, r.node(len(c.Nodes)+1))
		}
		for i := r.Intn(9); i > 0; i-- {
			p := r.pod(fmt.Sprint("x", i), c.Nodes[r.Intn(len(c.Nodes))].Name)
			if r.Intn(8) == 0 {
				p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1600000000, 0)}
			}
			c.Pods = append(c.Pods, p)
		}
		c.Pod = r.pod("p", "")
		c.Pod.Namespace = "default"
		switch r.Intn(4) {
		case 0:
			c.Pod = owned(app(c.Pod, "web"))
			c.ReplicaSets = append(c.ReplicaSets, replicaSet())
			if r.Intn(3) == 0 {
				avoid(c.Nodes[r.Intn(len(c.Nodes))])
			}
		case 1:
			s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}}
			s.Spec.Selector = map[string]string{"app": c.Pod.Labels["app"]}
			c.Services = append(c.Services, s)
		case 2:
			for i := r.Intn(3); i >= 0; i-- {
				action := v1.ScheduleAnyway
				if r.Intn(4) == 0 {
					action = v1.DoNotSchedule
				}
				constrain(c.Pod, r.pick(topology...), r.pick(apps...), action)
			}
		}
		for i := r.Intn(3); i > 0; i-- {
			prefers(c.Pod, int32(r.Intn(100)+1), "disk", r.pick("ssd", "hdd"))
		}
		if r.Intn(4) == 0 {
			c.Pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		}
		if r.Intn(2) == 0 {
			c.Pod.Spec.Tolerations = []v1.Toleration{{Key: r.pick("old", "slow"), Operator: v1.TolerationOpExists}}
		}
		if out := r.Intn(2 * len(c.Nodes)); out < len(c.Nodes) {
			for i := range c.Nodes {
				if i != out {
					c.Feasible = append(c.Feasible, i)
				}
			}
		}
		out = append(out, c)
	}
	return out
}
