package gen

import (
	"fmt"
	"math/rand"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is a change of one object: Old is nil for an addition, New for a deletion.
type Event struct {
	Old, New any
}

// ForEvents gives pending pods what matters to events alone: scheduling gates to most of them, to some a volume of a CSI
// driver written into the pod.
func ForEvents(c *Cluster) *Cluster {
	g := &generator{Rand: rand.New(rand.NewSource(c.Seed*31 + 7)), c: c}
	for _, p := range c.Pending {
		for i := range g.Intn(3) {
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, v1.PodSchedulingGate{Name: fmt.Sprintf("example.com/g%d", i)})
		}
		if g.one(4) {
			inline := v1.Volume{Name: "inline"}
			inline.CSI = &v1.CSIVolumeSource{Driver: pick(g, []string{driver, driver2})}
			p.Spec.Volumes = append(p.Spec.Volumes, inline)
		}
		if g.one(4) && len(p.Spec.Containers) > 0 {
			g.asksImplicitly(p)
		}
	}
	return c
}

// Events returns changes of the cluster's objects, and of the pod itself: pod is one that waits. An API server would accept
// them, but for those that let a pod need other node features, which no update can do in v1.36.
func Events(c *Cluster, pod *v1.Pod, seed int64) []Event {
	g := &generator{Rand: rand.New(rand.NewSource(seed)), c: &Cluster{}, focus: Focus(seed*7919) & 0x3ff}
	var out []Event
	for i, n := range c.Nodes {
		out = append(out, Event{nil, n}, Event{n, g.changedNode(n, i)})
	}
	for _, p := range c.Pods {
		out = append(out, Event{nil, p}, Event{p, nil}, Event{p, g.changedPod(p)})
	}
	for _, p := range c.Pending {
		if p.UID != pod.UID {
			out = append(out, Event{p, nil}, Event{p, g.changedPod(p)})
			nominated := p.DeepCopy()
			nominated.Status.NominatedNodeName = "node0"
			out = append(out, Event{nominated, nil})
		}
		if len(p.Spec.SchedulingGates) > 0 {
			out = append(out, Event{p, g.ungated(p)})
		}
	}
	for range 4 {
		out = append(out, Event{pod, g.changedPod(pod)})
	}
	out = append(out, g.deviceClassEvents()...)
	return append(out, g.storageEvents(c)...)
}

// ungated takes gates of a pod away: mostly all, sometimes the first alone.
func (g *generator) ungated(p *v1.Pod) *v1.Pod {
	q := p.DeepCopy()
	if q.Spec.SchedulingGates = q.Spec.SchedulingGates[1:]; !g.one(3) {
		q.Spec.SchedulingGates = nil
	}
	return q
}

// asksImplicitly gives a pod a request for the resource that every DeviceClass provides by its name.
func (g *generator) asksImplicitly(p *v1.Pod) {
	r := &p.Spec.Containers[0].Resources
	amount := resource.MustParse(pick(g, []string{"1", "0"}))
	for _, list := range []*v1.ResourceList{&r.Requests, &r.Limits} {
		if *list == nil {
			*list = v1.ResourceList{}
		}
		(*list)[v1.ResourceName(resourcev1.ResourceDeviceClassPrefix+"class")] = amount
	}
}

// deviceClassEvents are events of a class that begins to name an extended resource, ends it, or names it before and after.
func (g *generator) deviceClassEvents() []Event {
	class := func() *resourcev1.DeviceClass {
		c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}}
		if !g.one(3) {
			name := pick(g, []string{gpu, gpu, "example.com/other", ""})
			c.Spec.ExtendedResourceName = &name
		}
		return c
	}
	a, b := class(), class()
	return []Event{{nil, a}, {a, b}}
}

func (g *generator) changedNode(n *v1.Node, i int) *v1.Node {
	m := g.node(i)
	m.Name, m.UID, m.CreationTimestamp = n.Name, n.UID, n.CreationTimestamp
	keep := n.DeepCopy()
	if g.one(2) {
		keep.Labels = m.Labels
	}
	if g.one(2) {
		keep.Spec = m.Spec
	}
	if g.one(2) {
		keep.Status.Allocatable = m.Status.Allocatable
	}
	if g.one(3) {
		keep.Status.DeclaredFeatures = m.Status.DeclaredFeatures
	}
	return keep
}

// changedPod changes what may change in a pod.
func (g *generator) changedPod(p *v1.Pod) *v1.Pod {
	q := p.DeepCopy()
	for range 1 + g.Intn(2) {
		switch g.Intn(6) {
		case 0:
			q.Labels = g.podLabels()
		case 1:
			t := g.toleration()
			q.Spec.Tolerations = append(q.Spec.Tolerations, t)
		case 2:
			c := &q.Spec.Containers[0]
			if c.Resources.Requests == nil {
				c.Resources.Requests = v1.ResourceList{}
			}
			name := pick(g, []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory})
			c.Resources.Requests[name] = resource.MustParse(pick(g, []string{"100m", "1", "250m", "64Mi", "1Gi"}))
		case 3:
			q.Status.NominatedNodeName = ""
		case 4:
			if len(q.Spec.SchedulingGates) > 0 {
				q = g.ungated(q)
			}
		case 5:
			no := false
			q.Spec.HostUsers, q.Spec.HostNetwork = pick(g, []*bool{nil, &no}), g.one(2)
		}
	}
	return q
}

func (g *generator) storageEvents(c *Cluster) []Event {
	var out []Event
	for _, x := range c.Claims {
		y := x.DeepCopy()
		y.Annotations = mergeLabels(nil, "volume.kubernetes.io/selected-node", "node1")
		if g.one(2) {
			y.Spec.VolumeName = fmt.Sprintf("pv%d", g.Intn(4))
			y.Annotations["pv.kubernetes.io/bind-completed"] = "yes"
		}
		out = append(out, Event{nil, x}, Event{x, y}, Event{x, nil})
	}
	for _, x := range c.PersistentVolumes {
		y := x.DeepCopy()
		y.Labels = mergeLabels(map[string]string{}, pick(g, []string{v1.LabelTopologyZone, "tier"}), pick(g, zones))
		out = append(out, Event{nil, x}, Event{x, y})
	}
	for _, x := range c.StorageClasses {
		y := x.DeepCopy()
		if g.one(3) {
			y.Labels = mergeLabels(nil, "tier", "a")
			out = append(out, Event{x, y})
			continue
		}
		y.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: "rack", Values: []string{"1"}}}}}
		out = append(out, Event{nil, x}, Event{x, y})
	}
	for _, x := range c.CSINodes {
		y := x.DeepCopy()
		if g.one(2) {
			y.Annotations = map[string]string{"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd"}
		}
		for i := range y.Spec.Drivers {
			count := int32(g.Intn(5))
			y.Spec.Drivers[i].Allocatable = &storagev1.VolumeNodeResources{Count: &count}
		}
		out = append(out, Event{nil, x}, Event{x, y})
	}
	for _, x := range c.CSIDrivers {
		y := x.DeepCopy()
		no, yes := false, true
		y.Spec.StorageCapacity = pick(g, []*bool{nil, &no, &yes})
		out = append(out, Event{nil, x}, Event{x, y})
	}
	for _, x := range c.CSIStorageCapacities {
		y := x.DeepCopy()
		q := resource.MustParse(pick(g, []string{"0", "2Gi", "50Gi"}))
		y.Capacity = &q
		if g.one(3) {
			most := resource.MustParse(pick(g, []string{"1Gi", "20Gi"}))
			y.MaximumVolumeSize = &most
		}
		out = append(out, Event{nil, x}, Event{x, y})
	}
	for _, x := range c.VolumeAttachments {
		out = append(out, Event{nil, x}, Event{x, nil})
	}
	return out
}
