package gen

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// twin adds a node like another one, with the same pods, which started at other times: of two such nodes the start times
// decide which one's pods give way.
func (g *generator) twin() {
	if len(g.c.Nodes) == 0 {
		return
	}
	of := pick(g, g.c.Nodes)
	n := of.DeepCopy()
	n.ObjectMeta.Name, n.UID = fmt.Sprintf("node%d", len(g.c.Nodes)), types.UID(fmt.Sprintf("%s-twin", of.UID))
	if n.Labels[v1.LabelHostname] == of.Name {
		n.Labels[v1.LabelHostname] = n.Name
	}
	g.c.Nodes = append(g.c.Nodes, n)
	for _, p := range g.c.Pods {
		if p.Spec.NodeName != of.Name {
			continue
		}
		q := p.DeepCopy()
		q.Name, q.UID, q.Spec.NodeName = p.Name+"t", p.UID+"-twin", n.Name
		if q.Status.StartTime != nil {
			at := metav1.NewTime(Epoch.Add(time.Duration(g.Intn(8)) * time.Second))
			q.Status.StartTime = &at
		}
		g.c.Pods = append(g.c.Pods, q)
	}
}

// gated is a pod with scheduling gates, which the API server accepts.
func (g *generator) gated(i int) *v1.Pod {
	for {
		p := g.draft(fmt.Sprintf("g%d", i))
		for _, k := range g.Perm(3)[:1+g.Intn(3)] {
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, v1.PodSchedulingGate{Name: []string{"wait", "example.com/quota", "b"}[k]})
		}
		if admitted, err := Admit(p); err == nil {
			return admitted
		}
		Refused.Add(1)
	}
}
