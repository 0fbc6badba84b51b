package diagnose

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/taints"
)

// nodeChanges lists the changes of a node that can matter to a pod.
func (d *diagnosis) nodeChanges(slot, alike int) []*Change {
	x := &nodeEdits{node: d.base.Node(slot), alike: alike, labelled: map[string]bool{}, law: d.law, facts: topologyKeys(d.pod)}
	if csi, ok := cluster.List[*storagev1.CSINode](d.base).Get("", x.node.Name); ok { // a driver has told the kubelet the place of the node
		for _, driver := range csi.Spec.Drivers {
			x.facts = append(x.facts, driver.TopologyKeys...)
		}
	}
	d.untaints(x)
	d.recovers(x)
	if x.node.Spec.Unschedulable {
		x.add(Uncordon, "spec.unschedulable", "true", "false", func(n *v1.Node) {
			n.Spec.Unschedulable = false
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t v1.Taint) bool { return t.Key == v1.TaintNodeUnschedulable })
		}).why = d.uncordons(x.node)
	}
	for _, key := range slices.Sorted(maps.Keys(d.pod.Spec.NodeSelector)) {
		x.label(key, d.pod.Spec.NodeSelector[key])
	}
	if a := podinfo.NodeAffinity(d.pod); a != nil && a.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, t := range a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, r := range t.MatchExpressions {
				x.meet(r)
			}
		}
	}
	for _, key := range topologyKeys(d.pod) {
		x.truth(key)
		if _, has := x.node.Labels[key]; !has {
			for _, value := range d.values(key, 2) {
				x.label(key, value)
			}
		}
	}
	out := append(x.out, d.madeOn(x.node)...)
	if d.lean && (d.cause == nil || !slices.Contains(ranks[d.cause.Type], MovePods)) {
		return out
	}
	return append(out, d.removal(slot, alike)...)
}

// untaints adds a change for each taint that the pod does not tolerate.
func (d *diagnosis) untaints(x *nodeEdits) {
	seen := map[v1.Taint]bool{}
	for _, t := range x.node.Spec.Taints {
		t := v1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}
		if !seen[t] && d.keepsOff(t) {
			seen[t] = true
			c := x.add(Untaint, "spec.taints", t.ToString(), "", func(n *v1.Node) { dropTaint(n, t) })
			key := [2]string{x.node.Name, t.ToString()}
			why, known := d.common.untaints[key]
			if !known {
				why = d.law.untaint(x.node, t)
				d.common.untaints[key] = why
			}
			c.why, c.mark = why, t.Key != roleControlPlane && t.Key != roleMaster
		}
	}
}

// nodeEdits collects the changes of one node.
type nodeEdits struct {
	node     *v1.Node
	alike    int
	labelled map[string]bool // labels to set ("key=value"), and keys to remove
	law      *law
	facts    []string // labels that state facts, beside those of the law
	out      []*Change
}

func (x *nodeEdits) add(kind Kind, path, from, to string, edit func(n *v1.Node)) *Change {
	name := x.node.Name
	c := &Change{
		Kind: kind, Object: "Node " + name, Path: path, From: from, To: to, Alike: x.alike,
		make: func(s *cluster.Snapshot, _ *Change) { editNode(s, name, edit) },
	}
	x.out = append(x.out, c)
	return c
}

// label adds the change that sets a label, once for each value.
func (x *nodeEdits) label(key, value string) {
	to := key + "=" + value
	if had, ok := x.node.Labels[key]; x.labelled[to] || ok && had == value {
		return
	}
	x.labelled[to] = true
	x.add(Label, "metadata.labels["+key+"]", x.node.Labels[key], to, func(n *v1.Node) { setLabel(n, key, value) }).why = x.law.label(x.node, key, &value, x.facts)
}

// meet adds the change of a label with which the node meets a requirement of the pod.
func (x *nodeEdits) meet(r v1.NodeSelectorRequirement) {
	value, has := x.node.Labels[r.Key]
	switch {
	case r.Operator == v1.NodeSelectorOpIn && len(r.Values) > 0 && !slices.Contains(r.Values, value):
		x.label(r.Key, r.Values[0])
	case r.Operator == v1.NodeSelectorOpExists && !has:
		x.label(r.Key, "")
	case has && (r.Operator == v1.NodeSelectorOpDoesNotExist || r.Operator == v1.NodeSelectorOpNotIn && slices.Contains(r.Values, value)) && !x.labelled[r.Key]:
		x.labelled[r.Key] = true
		x.add(Label, "metadata.labels["+r.Key+"]", r.Key, "", func(n *v1.Node) { delete(n.Labels, r.Key) }).why = x.law.label(x.node, r.Key, nil, x.facts)
	}
}

// setLabel sets a label of a node that belongs to the caller.
func setLabel(n *v1.Node, key, value string) {
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[key] = value
}

// dropTaint removes the taints with a taint's key, value and effect.
func dropTaint(n *v1.Node, t v1.Taint) {
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(x v1.Taint) bool { return x.Key == t.Key && x.Value == t.Value && x.Effect == t.Effect })
}

// keepsOff reports whether a pod does not tolerate a taint that filters. The taint of a cordoned node goes with Uncordon.
func keepsOff(pod *v1.Pod, t v1.Taint, o taints.Options) bool {
	n := &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{t}}}
	return t.Key != v1.TaintNodeUnschedulable && taints.Untolerated(n, pod.Spec.Tolerations, o) != nil
}

// keepsOff reports whether a taint keeps the pod off, as the profile judges tolerations.
func (d *diagnosis) keepsOff(t v1.Taint) bool { return keepsOff(d.pod, t, d.tolerates) }

// topologyKeys returns the keys of the rules that need the label on a node, each once.
func topologyKeys(pod *v1.Pod) (keys []string) {
	add := func(key string) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == v1.DoNotSchedule {
			add(c.TopologyKey)
		}
	}
	if with, _ := podinfo.PodAffinity(pod); with != nil {
		for _, t := range with.RequiredDuringSchedulingIgnoredDuringExecution {
			add(t.TopologyKey)
		}
	}
	return keys
}

// values returns at most so many values of a node label, sorted.
func (d *diagnosis) values(key string, most int) []string {
	seen := map[string]bool{}
	for i := range d.base.Len() {
		if n := d.base.Node(i); n != nil {
			if v, ok := n.Labels[key]; ok {
				seen[v] = true
			}
		}
	}
	list := slices.Sorted(maps.Keys(seen))
	return list[:min(most, len(list))]
}

func editNode(s *cluster.Snapshot, name string, edit func(n *v1.Node)) {
	n := s.Node(s.Slot(name)).DeepCopy()
	edit(n)
	must.Do(s.Set(n))
}

// shapes returns a change for one more node of each of the commonest shapes. Nodes have one shape when allocatable resources, taints,
// and those labels are equal that other nodes have too. When the node selector and affinity of the pod match nodes, only they are models. Nodes of
// the domains where a rule wants the pod are a shape of their own, and come first.
func (d *diagnosis) shapes(most int) []*Change {
	affinity := slices.IndexFunc(d.full, func(p filter.Predicate) bool { return p.Name() == ofAffinity })
	matches := func(i int) bool { return affinity < 0 || d.full[affinity].Check(i) == 0 }
	if d.sought != nil && len(d.sought.pool) > 0 { // the volumes of the pod are reached from there too
		matches = func(i int) bool { return d.sought.inPool[i] }
	}
	matched := slices.ContainsFunc(d.slots, func(i int) bool { return d.target.has(i) && matches(i) })
	wanted := func(i int) bool { return d.sought != nil && d.sought.wanted[i] }
	byShape, shapes := map[string][]int{}, d.common.shapesOf(d.base)
	for _, i := range d.slots {
		n := d.base.Node(i)
		if !d.target.has(i) || !model(n) || matched && !matches(i) {
			continue
		}
		shape := shapes[i]
		if wanted(i) {
			shape += "wanted"
		}
		byShape[shape] = append(byShape[shape], i)
	}
	d.nearest(byShape)
	open := func(i int) bool {
		return !slices.ContainsFunc(d.base.Node(i).Spec.Taints, func(t v1.Taint) bool { return d.stays(d.base.Node(i), t) })
	}
	lists := slices.SortedFunc(maps.Values(byShape), func(a, b []int) int {
		if w := wanted(a[0]); w != wanted(b[0]) {
			if w {
				return -1
			}
			return 1
		}
		if o := open(a[0]); o != open(b[0]) {
			if o {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(d.rank[a[0]], d.rank[b[0]]))
	})
	closed := len(lists) > 0 && !open(lists[0][0]) && !d.mayTolerate()
	ofDomain := slices.DeleteFunc(slices.Clone(lists), func(list []int) bool { return !wanted(list[0]) })
	if len(ofDomain) == 0 {
		ofDomain = lists
	}
	large := d.tooLarge(ofDomain) // where a rule wants the pod, nodes elsewhere do not help
	var out []*Change
	for k, list := range lists[:min(most, len(lists))] {
		like := d.base.Node(list[0])
		for _, i := range list { // a person knows a node better that stays
			if n := d.base.Node(i); !leaves(n) {
				like = n
				break
			}
		}
		c := &Change{Kind: AddNode, Object: "Node", ofPool: true, From: like.Name, To: d.freeName(like.Name), make: func(s *cluster.Snapshot, c *Change) { c.addNodes(s, like) }}
		if d.owner.kind == "DaemonSet" {
			c.why = whyWritten
		}
		other, alone := d.otherModel(c, like, closed && k == 0, large)
		if !alone {
			out = append(out, c)
		}
		if other != nil {
			out = append(out, other)
		}
		if alone {
			continue
		}
		if key := d.scarceDomain(); key != "" {
			own := *c
			own.Path = "metadata.labels[" + key + "]"
			out = append(out, &own)
		}
	}
	return out
}

// scarceDomain returns the topology key whose domains are too few for the pod, "" when there is none. A node more is a domain of the
// host name in any case.
func (d *diagnosis) scarceDomain() string {
	switch {
	case d.cause == nil:
	case d.cause.Type == causeAntiAffinity && d.cause.Field != "metadata.labels" && d.cause.Wanted != v1.LabelHostname:
		return d.cause.Wanted
	case d.cause.Type == causeSpread && strings.HasSuffix(d.cause.Field, ".minDomains"):
		if k, ok := indexOf(strings.TrimPrefix(d.cause.Field, d.owner.path), "spec.topologySpreadConstraints["); ok && k < len(d.pod.Spec.TopologySpreadConstraints) {
			if key := d.pod.Spec.TopologySpreadConstraints[k].TopologyKey; key != v1.LabelHostname {
				return key
			}
		}
	}
	return ""
}

// newDomain returns the topology key of which an added node is a domain of its own, "" for a node in the domains of its model.
func (c Change) newDomain() string {
	key, ok := strings.CutPrefix(c.Path, "metadata.labels[")
	if c.Kind != AddNode || !ok {
		return ""
	}
	return strings.TrimSuffix(key, "]")
}

// addNodes adds the nodes of AddNode.
func (c *Change) addNodes(s *cluster.Snapshot, like *v1.Node) {
	for k := range max(1, c.Count) {
		addNode(s, like, c.added(k), c.newDomain())
	}
}

// added returns the name of an added node by its number, from 0.
func (c *Change) added(k int) string {
	if k == 0 {
		return c.To
	}
	return c.To + "-" + decimal(int64(k+1))
}

// ofAffinity is the plugin of node selectors and node affinity.
const ofAffinity = "NodeAffinity"

func (d *diagnosis) freeName(name string) string {
	for {
		if name += "-more"; d.base.Slot(name) < 0 {
			return name
		}
	}
}

// leaves reports whether a node is being deleted, or about to stop.
func leaves(n *v1.Node) bool {
	return n.DeletionTimestamp != nil || slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return rowOf(n, t).of == causeLeaving })
}

// model reports whether a person can add a node like this one: a provider makes no node of its own on demand.
func model(n *v1.Node) bool {
	return !slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return rowOf(n, t).kind == provider })
}

// passes reports whether a taint of a node is one of its state, which a new node does not have.
func passes(n *v1.Node, t v1.Taint) bool {
	k := rowOf(n, t).kind
	return k == agent || k == cordon || matches(maintenanceTaints, t.Key)
}

// Like returns a new node like another one, as it comes up: with its labels, but its own name, and without what agents have set
// since then: cordons, taints of conditions and of deletion, volumes. ok is false for a node of a provider that makes its nodes for
// pods of its own, such as Fargate: nobody adds one.
func Like(like *v1.Node, name string) (n *v1.Node, ok bool) {
	n = like.DeepCopy()
	n.Name, n.UID, n.DeletionTimestamp = name, "", nil
	n.Spec.Unschedulable = false
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t v1.Taint) bool { return passes(like, t) })
	n.Status.VolumesAttached, n.Status.VolumesInUse = nil, nil
	for k, v := range n.Labels {
		if v == like.Name || k == v1.LabelHostname {
			n.Labels[k] = name
		}
	}
	return n, model(like)
}

// addDevices gives a node the devices that another one has alone, in pools of its own.
func addDevices(s *cluster.Snapshot, like, name string) {
	elsewhere := map[[2]string]bool{} // pools that other nodes have a part in
	id := func(x *resourcev1.ResourceSlice) [2]string { return [2]string{x.Spec.Driver, x.Spec.Pool.Name} }
	own := func(x *resourcev1.ResourceSlice) bool { return x.Spec.NodeName != nil && *x.Spec.NodeName == like }
	var copies []*resourcev1.ResourceSlice
	for x := range cluster.List[*resourcev1.ResourceSlice](s).All() {
		if !own(x) {
			elsewhere[id(x)] = true
		} else {
			copies = append(copies, x)
		}
	}
	for _, x := range copies {
		if elsewhere[id(x)] {
			continue
		}
		more := x.DeepCopy()
		more.Name, more.UID, more.OwnerReferences = x.Name+"-"+name, "", nil
		more.Spec.NodeName, more.Spec.Pool.Name = &name, x.Spec.Pool.Name+"-"+name
		must.Do(s.Set(more))
	}
}

// addNode adds a node like another one, with its devices, the pods that its DaemonSets put there and the same limits of volumes. With a topology key
// the node is a domain of its own.
func addNode(s *cluster.Snapshot, like *v1.Node, name, key string) {
	n, _ := Like(like, name)
	if key != "" {
		n.Labels[key] = name
	}
	if old, ok := cluster.List[*storagev1.CSINode](s).Get("", like.Name); ok {
		c := old.DeepCopy()
		c.Name, c.UID = name, ""
		must.Do(s.Set(c))
	}
	must.Do(s.Set(n))
	addDevices(s, like.Name, name)
	var daemons []*v1.Pod
	for p := range s.Pods(s.Slot(like.Name)) {
		if owner := metav1.GetControllerOfNoCopy(p); owner != nil && owner.Kind == "DaemonSet" && !usesDevices(p) {
			daemons = append(daemons, p)
		}
	}
	for _, p := range daemons {
		there := unplaced(p)
		there.Name, there.UID, there.Spec.NodeName = p.Name+"-"+name, "", name
		must.Do(s.Set(there))
	}
}
