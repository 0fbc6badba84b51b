package lint

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/taints"
)

// work is a manifest that makes pods.
type work struct {
	object   string
	kind     string
	path     string // of the pod's specification
	pod      *v1.Pod
	replicas int // -1: one for each node
	surge    int // pods that a rollout makes above replicas while all replicas must stay
	fits     *bool

	usable, reachable []*v1.Node // nil: not known yet
}

// checker is one call of Check.
type checker struct {
	in     Input
	works  []*work
	nodes  []*v1.Node
	snap   *cluster.Snapshot
	values map[string]map[string]bool // of node labels, by key
	rule   *Rule
	object string
	out    []Finding
	covers *coverage // nil: not known yet
}

// read reads the input.
func (c *checker) read() error {
	if err := c.readManifests(); err != nil || c.in.Cluster == nil {
		return err
	}
	s, err := cluster.New(*c.in.Cluster)
	if err != nil {
		return err
	}
	c.snap, c.nodes = s, c.in.Cluster.Nodes
	for _, claim := range c.in.Claims {
		if claim != nil {
			if err := s.Set(claim); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *checker) readManifests() error {
	in := c.in
	add := func(kind string, m metav1.ObjectMeta, path string, t v1.PodTemplateSpec, replicas int) *work {
		p := overhead.Default(&v1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}) // as the API server stores the pods of a template
		p.Name, p.Namespace = m.Name, namespace(m.Namespace)
		w := &work{object: fmt.Sprintf("%s %s/%s", kind, p.Namespace, p.Name), kind: kind, path: path, pod: p, replicas: replicas}
		c.works = append(c.works, w)
		return w
	}
	for i, p := range in.Pods {
		if p == nil {
			return missing("pods", i)
		}
		add("Pod", p.ObjectMeta, "spec", v1.PodTemplateSpec{ObjectMeta: p.ObjectMeta, Spec: p.Spec}, 1)
	}
	for i, d := range in.Deployments {
		if d == nil {
			return missing("deployments", i)
		}
		w := add("Deployment", d.ObjectMeta, "spec.template.spec", d.Spec.Template, count(d.Spec.Replicas))
		if d.Spec.Strategy.Type != "Recreate" {
			w.surge = surge(d.Spec.Strategy.RollingUpdate == nil, w.replicas, func() (surge, unavailable *intstr.IntOrString) {
				return d.Spec.Strategy.RollingUpdate.MaxSurge, d.Spec.Strategy.RollingUpdate.MaxUnavailable
			})
		}
	}
	for i, r := range in.ReplicaSets {
		if r == nil {
			return missing("replicaSets", i)
		}
		add("ReplicaSet", r.ObjectMeta, "spec.template.spec", r.Spec.Template, count(r.Spec.Replicas))
	}
	for i, s := range in.StatefulSets {
		if s == nil {
			return missing("statefulSets", i)
		}
		add("StatefulSet", s.ObjectMeta, "spec.template.spec", s.Spec.Template, count(s.Spec.Replicas))
	}
	for i, d := range in.DaemonSets {
		if d == nil {
			return missing("daemonSets", i)
		}
		add("DaemonSet", d.ObjectMeta, "spec.template.spec", d.Spec.Template, -1)
	}
	for i, j := range in.Jobs {
		if j == nil {
			return missing("jobs", i)
		}
		add("Job", j.ObjectMeta, "spec.template.spec", j.Spec.Template, count(j.Spec.Parallelism))
	}
	for i, r := range in.ReplicationControllers {
		switch {
		case r == nil:
			return missing("replicationControllers", i)
		case r.Spec.Template != nil:
			add("ReplicationController", r.ObjectMeta, "spec.template.spec", *r.Spec.Template, count(r.Spec.Replicas))
		}
	}
	for i, b := range in.Budgets {
		if b == nil {
			return missing("budgets", i)
		}
	}
	return nil
}

func missing(list string, i int) error {
	return fmt.Errorf("lint: %s[%d]: Required value: must not be nil", list, i)
}

func count(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

// surge returns the pods that a rollout needs above replicas when no replica may be missing; 0 when a replica may.
func surge(byDefault bool, replicas int, of func() (surge, unavailable *intstr.IntOrString)) int {
	quarter := intstr.FromString("25%")
	more, fewer := &quarter, &quarter
	if !byDefault {
		a, b := of()
		if a != nil {
			more = a
		}
		if b != nil {
			fewer = b
		}
	}
	m, _ := intstr.GetScaledValueFromIntOrPercent(more, replicas, true) // 0 for a text that cannot be read
	u, err := intstr.GetScaledValueFromIntOrPercent(fewer, replicas, false)
	if err != nil || u > 0 {
		return 0
	}
	return m
}

// selects reports whether a selector matches labels. A nil selector, and one that cannot be read, matches nothing.
func selects(s *metav1.LabelSelector, set map[string]string) bool {
	sel, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && sel.Matches(labels.Set(set))
}

// reaches reports whether a term of the pod p selects a pod with these labels in a namespace.
func (c *checker) reaches(p *v1.Pod, t v1.PodAffinityTerm, ns string, set map[string]string) bool {
	return c.inNamespaces(p, t, ns) && selects(t.LabelSelector, set)
}

func (c *checker) inNamespaces(p *v1.Pod, t v1.PodAffinityTerm, ns string) bool {
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		return p.Namespace == ns
	}
	for _, n := range t.Namespaces {
		if n == ns {
			return true
		}
	}
	set := map[string]string{v1.LabelMetadataName: ns}
	if c.snap != nil {
		if known, ok := c.snap.Namespace(ns); ok {
			set = known
		}
	}
	return selects(t.NamespaceSelector, set)
}

// usable returns the nodes that a workload's node selector and required node affinity allow.
func (c *checker) usable(w *work) []*v1.Node {
	if w.usable == nil {
		w.usable = []*v1.Node{}
		s, _ := affinity.CompileRequired(w.pod) // terms that cannot be converted match nothing, as in v1.37
		for _, n := range c.nodes {
			if s.Matches(n) {
				w.usable = append(w.usable, n)
			}
		}
	}
	return w.usable
}

// cordoned is a node with the taint of a cordoned node.
var cordoned = &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}}}}

// open reports whether a pod may come to a node as far as cordon and taints decide.
func open(p *v1.Pod, n *v1.Node) bool {
	return taints.Untolerated(n, p.Spec.Tolerations, taints.Options{}) == nil &&
		(!n.Spec.Unschedulable || taints.Untolerated(cordoned, p.Spec.Tolerations, taints.Options{}) == nil)
}

// domains returns the values of a label on nodes.
func domains(nodes []*v1.Node, key string) map[string]bool {
	out := map[string]bool{}
	for _, n := range nodes {
		if v, ok := n.Labels[key]; ok {
			out[v] = true
		}
	}
	return out
}

// valuesOf returns the values of a label on all nodes.
func (c *checker) valuesOf(key string) map[string]bool {
	if c.values == nil {
		c.values = map[string]map[string]bool{}
	}
	if c.values[key] == nil {
		c.values[key] = domains(c.nodes, key)
	}
	return c.values[key]
}

// reachable returns the nodes that the pods of a workload can come to as far as the specification, cordon and taints decide.
func (c *checker) reachable(w *work) []*v1.Node {
	if w.reachable == nil {
		w.reachable = []*v1.Node{}
		for _, n := range c.usable(w) {
			if open(w.pod, n) {
				w.reachable = append(w.reachable, n)
			}
		}
	}
	return w.reachable
}

// fits reports whether the replicas that do not run yet all get nodes, one after the other. Without a cluster nothing is known,
// and no rule that asks has fired.
func (c *checker) fits(w *work) bool {
	if c.snap == nil || w.replicas < 0 {
		return false
	}
	if w.fits != nil {
		return *w.fits
	}
	placer, _, nodes, want := c.room(w)
	fits := placer != nil && len(nodes) >= want
	w.fits = &fits
	return fits
}

// room returns the nodes that the replicas that do not run yet get, one after the other, at most the number of these replicas
// (want). It also returns a replica, and a placer over a fork of the cluster. The placer is nil if a plugin fails.
func (c *checker) room(w *work) (placer *placement.Placer, replica *v1.Pod, nodes []string, want int) {
	profile := placement.DefaultProfile()
	profile.Sampling = placement.AllNodes()
	placer, err := placement.NewPlacer(c.snap.Fork(), profile)
	if err != nil {
		return nil, nil, nil, 0
	}
	replica = w.pod.DeepCopy()
	replica.Name += "-lint"
	want = w.replicas - c.running(w)
	found, err := placer.HowMany(replica, func(placed int) bool { return placed < want })
	if err != nil {
		return nil, nil, nil, 0
	}
	return placer, replica, found.Nodes, want
}

// running is the number of running pods that look like those of a workload.
func (c *checker) running(w *work) (n int) {
	if len(w.pod.Labels) == 0 {
		return 0
	}
	for _, p := range c.in.Cluster.Pods {
		if p.Namespace == w.pod.Namespace && p.Spec.NodeName != "" && !cluster.Finished(p) && labels.Set(w.pod.Labels).AsSelector().Matches(labels.Set(p.Labels)) {
			n++
		}
	}
	return n
}

// others yields the labels and namespaces of the pods of other manifests and of running pods.
func (c *checker) others(w *work, yield func(object, ns string, set map[string]string)) {
	for _, o := range c.works {
		if o != w && o.replicas != 0 {
			yield(o.object, o.pod.Namespace, o.pod.Labels)
		}
	}
	if c.in.Cluster == nil {
		return
	}
	for _, p := range c.in.Cluster.Pods {
		if p.Spec.NodeName != "" && !cluster.Finished(p) {
			yield("Pod "+p.Namespace+"/"+p.Name, p.Namespace, p.Labels)
		}
	}
}
