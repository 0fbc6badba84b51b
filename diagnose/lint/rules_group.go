package lint

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/podgroup"
)

// groupRules are about groups of pods, which count where the feature gate GenericWorkload is on.
var groupRules = []Rule{
	{ID: "group-missing", Severity: Warning, Summary: "a pod names a group that nobody creates", work: func(c *checker, w *work) {
		group, ok := podgroup.Of(w.pod)
		if !ok {
			return
		}
		switch _, _, err := podgroup.RootOf(c.groups(), w.pod.Namespace, group, allGroups); {
		case errors.Is(err, podgroup.ErrCycle):
			c.report(w.path+".schedulingGroup.podGroupName", "make the composite groups again, one of them without a parent",
				"%v: where groups count, the pods wait for ever, without an event or a condition", err)
		case err != nil:
			c.report(w.path+".schedulingGroup.podGroupName", "create the group",
				"%v: where groups count, the pods wait until it exists, without an event or a condition", err)
		}
	}},
	{ID: "group-min-count", Severity: Error, Summary: "a gang needs more pods than there are", work: func(c *checker, w *work) {
		g := c.groupOf(w)
		if g == nil || g.Minimum == nil || c.firstOf(w) != w {
			return
		}
		pods, own := 0, map[*v1.Pod]bool{}
		for o := range c.membersOf(w) {
			if o.replicas < 0 {
				return // as many as nodes
			}
			pods += o.replicas
			if p, is := o.manifest.(*v1.Pod); is {
				own[p] = true
			}
		}
		if c.in.Cluster != nil {
			for _, p := range c.in.Cluster.Pods {
				if name, _ := podgroup.Of(p); name == g.Name && p.Namespace == g.Namespace && !cluster.Finished(p) && !own[p] {
					pods++
				}
			}
		}
		if pods < g.Needs() {
			c.report(w.path+".schedulingGroup.podGroupName", minimumFix(w, g.Needs(), pods),
				"the group %s needs %d pods and has %d: none of them is scheduled", g.Name, g.Needs(), pods)
		}
	}},
	{ID: "group-priority", Severity: Error, Summary: "the priority of a pod differs from that of its group", work: func(c *checker, w *work) {
		g := c.groupOf(w)
		if g == nil {
			return
		}
		root := c.rootOf(g)
		if root != nil && podinfo.Priority(w.pod) != root.EffectivePriority() {
			c.report(w.path+".priorityClassName", fmt.Sprintf("priority %d in the PodGroup or the priorityClassName of the group", podinfo.Priority(w.pod)), "the pods have the priority %d and their group has %d: no pod of the group is scheduled",
				podinfo.Priority(w.pod), root.EffectivePriority())
		}
	}},
	{ID: "group-schedulers", Severity: Error, Summary: "pods of one group have different schedulers", work: func(c *checker, w *work) {
		if c.groupOf(w) == nil {
			return
		}
		if first := c.firstOf(w); podinfo.SchedulerName(first.pod) != podinfo.SchedulerName(w.pod) {
			c.report(w.path+".schedulerName", "the schedulerName "+podinfo.SchedulerName(first.pod), "%s of the same group has %s: no pod of the group is scheduled",
				first.object, podinfo.SchedulerName(first.pod))
		}
	}},
	{ID: "group-topology-key", Severity: Error, Cluster: true, Summary: "a group must stay in one domain of a label that no node has", work: func(c *checker, w *work) {
		g := c.groupOf(w)
		if g == nil || c.firstOf(w) != w {
			return
		}
		if key := g.Key(); key != "" && !slices.ContainsFunc(c.nodes, func(n *v1.Node) bool { _, has := n.Labels[key]; return has }) {
			c.report(w.path+".schedulingGroup.podGroupName", "a key that nodes have in the PodGroup", "the group %s must stay in one domain of %s, and no node has that label", g.Name, key)
		}
	}},
}

// minimumFix returns what lets a gang begin that needs more pods than there are.
func minimumFix(w *work, needs, pods int) string {
	fix := fmt.Sprintf("minCount %d in the PodGroup", pods)
	switch w.kind {
	case "Pod":
		return fix + " or more pods"
	case "Job", "CronJob":
		return fix + fmt.Sprintf(" or parallelism: %d", w.replicas+needs-pods)
	}
	return fix + fmt.Sprintf(" or replicas: %d", w.replicas+needs-pods)
}

// allGroups are the gates with which nothing of a group is left aside.
var allGroups = podgroup.Gates{Topology: true, Composites: true}

// groupOf returns the group of a manifest's pods; nil when they have none, or when nobody creates it.
func (c *checker) groupOf(w *work) *podgroup.Group {
	name, ok := podgroup.Of(w.pod)
	if !ok {
		return nil
	}
	return c.groups().Group(w.pod.Namespace, name)
}

// rootOf returns what the root of a group's tree has; nil when a group above is missing.
func (c *checker) rootOf(g *podgroup.Group) *podgroup.Spec {
	tree, err := podgroup.TreeOf(c.groups(), g.Namespace, g.Name, allGroups)
	if err != nil {
		return nil
	}
	return tree.Root().Spec
}

// membersOf yields the manifests whose pods are in the group of w.
func (c *checker) membersOf(w *work) iter.Seq[*work] {
	name, _ := podgroup.Of(w.pod)
	return func(yield func(*work) bool) {
		for _, o := range c.works {
			if other, ok := podgroup.Of(o.pod); ok && other == name && o.pod.Namespace == w.pod.Namespace && !yield(o) {
				return
			}
		}
	}
}

// firstOf returns the first manifest whose pods are in the group of w.
func (c *checker) firstOf(w *work) *work {
	for o := range c.membersOf(w) {
		return o
	}
	return w
}

// groups returns the groups of the manifests and of the cluster; of two with one name the first counts.
func (c *checker) groups() podgroup.Objects {
	if c.grouped == nil {
		in := cluster.Objects{PodGroups: c.in.Groups, CompositePodGroups: c.in.Composites}
		if o := c.in.Cluster; o != nil {
			in.PodGroups = slices.Concat(in.PodGroups, o.PodGroups)
			in.CompositePodGroups = slices.Concat(in.CompositePodGroups, o.CompositePodGroups)
		}
		c.grouped = must.Get(cluster.New(cluster.Objects{PodGroups: missingIn(nil, in.PodGroups), CompositePodGroups: missingIn(nil, in.CompositePodGroups)}))
	}
	return c.grouped
}
