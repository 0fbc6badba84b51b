package lint

import (
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/workload"
	"github.com/podberth/podberth/release"
)

// work is a manifest that makes pods.
type work struct {
	object   string
	kind     string
	path     string                                 // of the pod's specification
	manifest metav1.Object                          // that makes the pods
	pod      *v1.Pod                                // as the API server stores a pod of the template, or with the defaults alone when the server refuses the pod
	refusal  error                                  // with which the API server refuses the pod
	given    *v1.Pod                                // the pod as the manifest has it
	replicas int                                    // -1: one for each node
	scaler   *autoscalingv2.HorizontalPodAutoscaler // sets the replicas; nil: there is none
	surge    int                                    // pods that a rollout makes above replicas while all replicas must stay
	first    int                                    // of the findings, where those about the manifest begin
	trial    *trial                                 // nil: not made yet
	reach    *reach                                 // nil: not known yet
}

// checker is one call of Check.
type checker struct {
	in      Input
	works   []*work
	nodes   []*v1.Node
	snap    *cluster.Snapshot
	made    *making
	values  map[string]map[string]bool // of node labels, by key
	shares  map[string]*reach          // by what decides them
	spreads map[countedKey]counted     // domains, by what decides them
	lefts   map[leftKey][]*v1.Node     // of left
	lowest  *int32                     // priority of a pod that runs; nil: not known yet
	rule    *Rule
	object  string
	out     []Finding
	beside  map[*work]int     // of together; nil: not known yet
	covers  *coverage         // nil: not known yet
	shared  *placement.Placer // over snap; nil: not made yet
	grouped *cluster.Snapshot // of the groups alone; nil: not made yet
	admits  admission.Cluster
	quotas  *admission.Quotas
	have    map[string][]string                 // values of node labels, by key; nil: not known yet
	before  map[fired]int                       // what fires as the manifests are; nil: not known yet
	effort  int                                 // of the trials of labels
	trying  bool                                // this is such a trial: it tries no labels itself
	recheck func(c *checker) ([]Finding, error) // check, for trials
	alone   bool                                // for tests: every workload is tried alone, with a placer of its own, which remembers no terms of other pods
	known   map[string]int32                    // the values of priority classes; nil: not known yet
}

// read reads the input.
func (c *checker) read() error {
	c.admits = c.admission()
	if err := c.readManifests(); err != nil || c.in.Cluster == nil {
		return err
	}
	if c.snap != nil { // a trial on the cluster of another checker
		c.made = newMaking(c)
		return nil
	}
	objects := *c.in.Cluster
	objects.StorageClasses = c.storageClasses()
	objects.Claims = admission.WithDefaultClasses(append(slices.Clone(objects.Claims), missingIn(objects.Claims, c.in.Claims)...), objects.StorageClasses)
	s, err := cluster.New(objects)
	if err != nil {
		return err
	}
	c.snap, c.nodes, c.in.Cluster = s, objects.Nodes, &objects
	c.quotas = admission.NewQuotas(c.in.Quotas, placedPods(objects.Pods), c.in.Now, release.Current)
	c.made = newMaking(c)
	return nil
}

// placedPods returns the pods that have a node.
func placedPods(pods []*v1.Pod) (out []*v1.Pod) {
	for _, p := range pods {
		if p.Spec.NodeName != "" {
			out = append(out, p)
		}
	}
	return out
}

// missingIn returns the objects of more that are not nil and whose names list lacks.
func missingIn[T any, P interface {
	*T
	metav1.Object
}](list, more []P) (out []P) {
	type id struct{ namespace, name string }
	there := map[id]bool{}
	for _, o := range list {
		if o != nil {
			there[id{o.GetNamespace(), o.GetName()}] = true
		}
	}
	for _, o := range more {
		if o != nil && !there[id{o.GetNamespace(), o.GetName()}] {
			there[id{o.GetNamespace(), o.GetName()}] = true
			out = append(out, o)
		}
	}
	return out
}

// admission returns what decides about new pods: the objects of the manifests, those of the cluster, and the system classes.
func (c *checker) admission() admission.Cluster {
	out := admission.Cluster{PriorityClasses: slices.Clone(c.in.PriorityClasses), RuntimeClasses: c.in.RuntimeClasses, LimitRanges: c.in.LimitRanges}
	if c.in.Cluster != nil {
		out.PriorityClasses = append(out.PriorityClasses, missingIn(out.PriorityClasses, c.in.Cluster.PriorityClasses)...)
		out.Namespaces = c.in.Cluster.Namespaces
	}
	out.PriorityClasses = append(out.PriorityClasses, missingIn(out.PriorityClasses, admission.SystemPriorityClasses())...)
	return out
}

// withoutBounds returns a refused pod as it would be without the bounds of LimitRanges, which are looked at last; otherwise with the defaults
// of the API alone.
func (c *checker) withoutBounds(p *v1.Pod) *v1.Pod {
	free := c.admits
	free.LimitRanges = nil
	for _, l := range c.admits.LimitRanges {
		if l == nil {
			continue
		}
		l = l.DeepCopy()
		for i := range l.Spec.Limits {
			x := &l.Spec.Limits[i]
			x.Max, x.Min, x.MaxLimitRequestRatio = nil, nil, nil
		}
		free.LimitRanges = append(free.LimitRanges, l)
	}
	if out, _, err := admission.Admit(p, free, admission.Options{SkipChanges: true}); err == nil {
		return out
	}
	return overhead.Default(p)
}

func (c *checker) readManifests() error {
	in := c.in
	scalers := map[string]*autoscalingv2.HorizontalPodAutoscaler{}
	for i, h := range in.Autoscalers {
		if h == nil {
			return missing("autoscalers", i)
		}
		scalers[h.Spec.ScaleTargetRef.Kind+" "+namespace(h.Namespace)+"/"+h.Spec.ScaleTargetRef.Name] = h
	}
	add := func(kind string, m metav1.Object, replicas int) *work {
		t, path := admission.Template(m)
		p, is := m.(*v1.Pod)
		if !is {
			p, path = &v1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}, path+".spec"
		} else {
			p, path = &v1.Pod{ObjectMeta: p.ObjectMeta, Spec: p.Spec}, "spec"
		}
		p.Name, p.Namespace = m.GetName(), namespace(m.GetNamespace())
		w := &work{object: fmt.Sprintf("%s %s/%s", kind, p.Namespace, p.Name), kind: kind, path: path, manifest: m, given: p, replicas: replicas}
		if h := scalers[w.object]; h != nil {
			w.replicas, w.scaler = workload.WithinBounds(h, replicas), h
		}
		if kind == "DaemonSet" {
			p = admission.WithDaemonSet(p)
		}
		if w.pod, _, w.refusal = admission.Admit(p, c.admits, admission.Options{SkipChanges: true}); w.refusal != nil {
			w.pod = c.withoutBounds(p)
		}
		c.works = append(c.works, w)
		return w
	}
	for i, p := range in.Pods {
		if p == nil {
			return missing("pods", i)
		}
		add("Pod", p, 1)
	}
	for i, d := range in.Deployments {
		if d == nil {
			return missing("deployments", i)
		}
		w := add("Deployment", d, count(d.Spec.Replicas))
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
		add("ReplicaSet", r, count(r.Spec.Replicas))
	}
	for i, s := range in.StatefulSets {
		if s == nil {
			return missing("statefulSets", i)
		}
		add("StatefulSet", s, count(s.Spec.Replicas))
	}
	for i, d := range in.DaemonSets {
		if d == nil {
			return missing("daemonSets", i)
		}
		add("DaemonSet", d, -1)
	}
	for i, j := range in.Jobs {
		if j == nil {
			return missing("jobs", i)
		}
		add("Job", j, count(j.Spec.Parallelism))
	}
	for i, j := range in.CronJobs {
		if j == nil {
			return missing("cronJobs", i)
		}
		add("CronJob", j, count(j.Spec.JobTemplate.Spec.Parallelism))
	}
	for i, r := range in.ReplicationControllers {
		switch {
		case r == nil:
			return missing("replicationControllers", i)
		case r.Spec.Template != nil:
			add("ReplicationController", r, count(r.Spec.Replicas))
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
