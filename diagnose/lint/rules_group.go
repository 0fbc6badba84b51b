package lint

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

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
		pods, first, ordered := c.podsOf(w)
		switch {
		case pods <= 0: // as many as nodes, or the group has been scaled down
		case pods < g.Needs():
			c.report(w.path+".schedulingGroup.podGroupName", minimumFix(w, g.Needs(), pods),
				"the group %s needs %d pods and has %d: none of them is scheduled", g.Name, g.Needs(), pods)
		case first < g.Needs():
			c.report(w.path+".schedulingGroup.podGroupName", "podManagementPolicy: Parallel in "+ordered.object+", which must be made again for that",
				"the group %s needs %d pods, and %s makes a pod when the one before is ready: there are %d, and none of them is scheduled", g.Name, g.Needs(), ordered.object, first)
		}
	}},
	{ID: "group-priority", Severity: Error, Summary: "the priority of a pod differs from that of its group", work: func(c *checker, w *work) {
		g := c.groupOf(w)
		if g == nil {
			return
		}
		root := c.rootOf(g)
		if root == nil {
			return
		}
		priority, refused := c.priorityOf(nameOf(root), root.EffectivePriority())
		if refused != nil || podinfo.Priority(w.pod) == priority {
			return
		}
		object, of := "PodGroup", "their group"
		if root.Composite != nil { // of a tree the root counts
			object, of = "CompositePodGroup "+root.Name, "the root of their group, "+root.String()+","
		}
		c.report(w.path+".priorityClassName", fmt.Sprintf("priority %d in the %s or the priorityClassName of the group", podinfo.Priority(w.pod), object),
			"the pods have the priority %d and %s has %d: no pod of the group is scheduled", podinfo.Priority(w.pod), of, priority)
	}},
	{ID: "group-priority-class", Severity: Error, Summary: "the priority class of a group does not exist or says another priority, so that the API server refuses the group", whole: func(c *checker) {
		for _, name := range slices.Sorted(maps.Keys(c.in.GroupPriorities)) {
			_, refused := c.priorityOf(name, 0)
			if refused == nil {
				continue
			}
			c.object = name
			class, classes := c.in.GroupPriorities[name].Class, c.classes()
			switch _, known := classes[class]; {
			case class != "" && !known:
				c.report("spec.priorityClassName", "mend the name, or create the class", "there is no PriorityClass %s%s", class, nearNames(class, slices.Sorted(maps.Keys(classes))))
			case refused.Type == field.ErrorTypeInvalid:
				c.report("spec.priorityClassName", "a class of a smaller value", "the API server refuses it: %v", refused)
			case strings.HasSuffix(refused.Field, "Policy"):
				c.report(refused.Field, "the policy of the class", "the API server refuses it: %s", refused.Detail)
			default:
				c.report(refused.Field, "leave it out: the API server writes that of the class", "the API server refuses it: %s", refused.Detail)
			}
		}
	}},
	{ID: "group-schedulers", Severity: Error, Summary: "pods of one group, or of one tree of groups, have different schedulers", work: func(c *checker, w *work) {
		g := c.groupOf(w)
		if g == nil {
			return
		}
		first, of := c.firstOf(w), "group"
		own := podinfo.SchedulerName(w.pod)
		if root := c.rootOf(g); root != nil && root.Composite != nil && podinfo.SchedulerName(first.pod) == own {
			first, of = c.firstBelow(root), "tree of groups, "+root.String()+","
		}
		if other := podinfo.SchedulerName(first.pod); other != own {
			c.report(w.path+".schedulerName", "the schedulerName "+other, "%s of the same %s has %s: kube-scheduler does not schedule both", first.object, of, other)
		}
	}},
	{ID: "group-min-groups", Severity: Error, Summary: "a composite group needs more groups than there are", whole: func(c *checker) {
		for _, x := range c.in.Composites {
			if x == nil {
				continue
			}
			if n := c.children(x); n > 0 && n < x.Needs() {
				c.object = fmt.Sprintf("CompositePodGroup %s/%s", namespace(x.Namespace), x.Name)
				c.report("spec.schedulingPolicy.gang.minGroupCount", fmt.Sprintf("minGroupCount %d in the CompositePodGroup or more groups", n),
					"the composite group %s needs %d groups and has %d: no pod below it is scheduled", x.Name, x.Needs(), n)
			}
		}
	}},
	{ID: "group-topology-key", Severity: Error, Cluster: true, Summary: "a group must stay in one domain of a label that no node has", work: func(c *checker, w *work) {
		g := c.groupOf(w)
		if g == nil || c.firstOf(w) != w {
			return
		}
		tree, err := podgroup.TreeOf(c.groups(), g.Namespace, g.Name, allGroups)
		if err != nil { // another rule says so
			c.nowhere(w, "the group "+g.Name, "PodGroup", g.Key())
			return
		}
		for n := tree.Home(g.Name); n != nil; n = n.Up {
			switch {
			case n.Group != nil:
				c.nowhere(w, "the group "+g.Name, "PodGroup", n.Key())
			case c.firstBelow(n) == w:
				c.nowhere(w, "the composite group "+n.Name, "CompositePodGroup", n.Key())
			}
		}
	}},
}

// children counts the groups and composite groups that name a composite group as their parent.
func (c *checker) children(x *podgroup.Composite) (n int) {
	for g := range c.groups().Groups(x.Namespace) {
		if g.Parent == x.Name {
			n++
		}
	}
	for below := range c.groups().Composites(x.Namespace) {
		if below.Parent == x.Name {
			n++
		}
	}
	return n
}

// priorityOf returns the priority of a group, by the name of its object, or why the API server refuses the group for it. stored is the priority of
// a group that is not created. Nothing is refused where nothing is known about classes.
func (c *checker) priorityOf(object string, stored int32) (int32, *field.Error) {
	said, is := c.in.GroupPriorities[object]
	if !is {
		return stored, nil
	}
	value, refused := said.Admit(c.admits.PriorityClasses)
	if refused != nil && len(c.nodes) == 0 && len(c.classes()) <= systemClasses {
		return stored, nil
	}
	return value, refused
}

// nameOf returns the name of a group's object as findings have it.
func nameOf(n *podgroup.Node) string {
	kind := "PodGroup"
	if n.Composite != nil {
		kind = "CompositePodGroup"
	}
	return fmt.Sprintf("%s %s/%s", kind, namespace(n.Namespace), n.Name)
}

// nowhere reports a group whose topology key no node has.
func (c *checker) nowhere(w *work, group, object, key string) {
	if key != "" && !slices.ContainsFunc(c.nodes, func(n *v1.Node) bool { _, has := n.Labels[key]; return has }) {
		c.report(w.path+".schedulingGroup.podGroupName", "a key that nodes have in the "+object, "%s must stay in one domain of %s, and no node has that label", group, key)
	}
}

// firstBelow returns the first manifest whose pods are in a group below a composite group.
func (c *checker) firstBelow(n *podgroup.Node) *work {
	for _, o := range c.works {
		name, ok := podgroup.Of(o.pod)
		if ok && o.pod.Namespace == n.Namespace && slices.ContainsFunc(n.Leaves(), func(leaf *podgroup.Node) bool { return leaf.Name == name }) {
			return o
		}
	}
	return nil
}

// minimumFix returns what lets a gang begin that needs more pods than there are.
func minimumFix(w *work, needs, pods int) string {
	fix, more := fmt.Sprintf("minCount %d in the PodGroup", pods), w.atOnce()+needs-pods
	switch w.kind {
	case "Pod":
		return fix + " or more pods"
	case "Job", "CronJob":
		var fields []string // all of these are needed
		if more > w.replicas {
			fields = append(fields, fmt.Sprintf("parallelism: %d", more))
		}
		if n := w.completions(); n != nil && more > int(*n) {
			fields = append(fields, fmt.Sprintf("completions: %d", more))
		}
		return fix + " or " + strings.Join(fields, " and ")
	}
	return fix + fmt.Sprintf(" or replicas: %d", w.replicas+needs-pods)
}

// podsOf counts the pods of the group of w. Its manifests make some; others of the cluster come from no manifest. -1: a manifest makes as many pods as
// there are nodes. first counts the pods that exist before one has a node. A StatefulSet that makes its pods one after the other has one of these.
// ordered is such a StatefulSet.
func (c *checker) podsOf(w *work) (pods, first int, ordered *work) {
	own, makes := map[*v1.Pod]bool{}, map[string]bool{}
	for o := range c.membersOf(w) {
		if o.replicas < 0 {
			return -1, -1, nil
		}
		pods += o.atOnce()
		makes[o.object] = true
		switch x := o.manifest.(type) {
		case *v1.Pod:
			own[x] = true
		case *appsv1.StatefulSet:
			if x.Spec.PodManagementPolicy != appsv1.ParallelPodManagement && o.replicas > 1 {
				first, ordered = first+1-o.replicas, o
			}
		}
	}
	first += pods
	if c.in.Cluster == nil {
		return pods, first, ordered
	}
	for _, p := range c.in.Cluster.Pods {
		switch name, _ := podgroup.Of(p); {
		case name != *w.pod.Spec.SchedulingGroup.PodGroupName || p.Namespace != w.pod.Namespace || cluster.Finished(p) || own[p]:
		case !madeBy(p, makes):
			pods, first = pods+1, first+1
		case p.Spec.NodeName != "":
			ordered = nil // the group has begun
		}
	}
	if ordered == nil {
		first = pods
	}
	return pods, first, ordered
}

// madeBy reports whether a pod comes from one of the manifests, or from what one of them makes: a ReplicaSet or a Job with the name of its owner
// in front.
func madeBy(p *v1.Pod, manifests map[string]bool) bool {
	at := controller(p)
	if manifests[at] {
		return true
	}
	kind, name, _ := strings.Cut(at, " ")
	above := map[string]string{"ReplicaSet": "Deployment", "Job": "CronJob"}[kind]
	dash := strings.LastIndex(name, "-")
	return above != "" && dash >= 0 && manifests[above+" "+name[:dash]]
}

// atOnce returns how many pods of a manifest exist at once: of a Job at most its completions.
func (w *work) atOnce() int {
	if n := w.completions(); n != nil {
		return min(w.replicas, int(*n))
	}
	return w.replicas
}

// completions returns the completions of a Job; nil if it is none or has none.
func (w *work) completions() *int32 {
	switch x := w.manifest.(type) {
	case *batchv1.Job:
		return x.Spec.Completions
	case *batchv1.CronJob:
		return x.Spec.JobTemplate.Spec.Completions
	}
	return nil
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

// rootOf returns the root of a group's tree; nil when a group above is missing.
func (c *checker) rootOf(g *podgroup.Group) *podgroup.Node {
	tree, err := podgroup.TreeOf(c.groups(), g.Namespace, g.Name, allGroups)
	if err != nil {
		return nil
	}
	return tree.Root()
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
