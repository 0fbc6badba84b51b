package gang_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
)

const gpu = "example.com/gpu"

// world is a cluster in small numbers, which brute force understands without the filters.
type world struct {
	nodes   []nodeOf
	running []podOf
	members []podOf
	tree    []groupOf // parents before children; the first is the root
}

type nodeOf struct {
	cpu, gpu, pods int
	zone           string // "" without
}

// rule is what a member asks of others: apart, with or spread by a key; and of app.
type rule struct {
	kind  string
	zone  bool // the key: zone or hostname
	app   string
	skew  int
	least int // minDomains
}

type podOf struct {
	group    int // of world.tree; -1: none
	cpu, gpu int
	app      string
	selects  string // zone
	port     bool
	rule     rule
	on       int
}

type groupOf struct {
	parent    int // -1: the root
	composite bool
	minimum   int // 0: basic
	key       string
}

func (g groupOf) needs() int { return max(1, g.minimum) }

// chance makes a crowded cluster of at most 8 nodes and 8 members.
func chance(b *testkit.Bytes) *world {
	w := &world{}
	for range 1 + b.Below(8) {
		n := nodeOf{cpu: 1 + b.Below(6), gpu: b.Below(4), pods: 110, zone: testkit.Pick(b, "a", "b", "a", "b", "c", "")}
		if b.OneIn(8) {
			n.pods = 1 + b.Below(3)
		}
		w.nodes = append(w.nodes, n)
	}
	w.groups(b)
	var leaves []int
	for k := range w.tree {
		if !w.tree[k].composite {
			leaves = append(leaves, k)
		}
	}
	if len(leaves) == 0 {
		w.tree = append(w.tree, groupOf{parent: 0, minimum: 1})
		leaves = []int{len(w.tree) - 1}
	}
	var kinds []podOf
	mixed := b.OneIn(2)
	for range 1 + b.Below(3) {
		kinds = append(kinds, w.kind(b, mixed))
	}
	for range b.Below(4) {
		p := kinds[b.Below(len(kinds))]
		p.rule, p.port, p.group = rule{}, false, -1
		p.on = b.Below(len(w.nodes))
		if b.OneIn(3) {
			p.group = leaves[b.Below(len(leaves))]
		}
		if w.amounts(p, p.on) && (p.group < 0 || w.alone(p)) {
			w.running = append(w.running, p)
		}
	}
	for range 1 + b.Below(8) {
		p := kinds[b.Below(len(kinds))]
		p.group = leaves[b.Below(len(leaves))]
		w.members = append(w.members, p)
	}
	for k := range w.tree {
		if g := &w.tree[k]; !g.composite && g.minimum > 0 && b.Below(8) > 0 { // as many as there are
			have := 0
			for _, p := range slices.Concat(w.members, w.running) {
				if p.group == k {
					have++
				}
			}
			g.minimum = max(1, have)
		}
	}
	return w
}

// groups makes the tree.
func (w *world) groups(b *testkit.Bytes) {
	key := func() string { return testkit.Pick(b, "", "zone", "") }
	if b.Below(3) > 0 {
		w.tree = []groupOf{{parent: -1, minimum: b.Below(6), key: key()}}
		return
	}
	w.tree = []groupOf{{parent: -1, composite: true, minimum: b.Below(3), key: key()}}
	parents := []int{0}
	if b.OneIn(3) {
		w.tree = append(w.tree, groupOf{parent: 0, composite: true, minimum: b.Below(3), key: key()})
		parents = append(parents, 1)
	}
	for range 1 + b.Below(3) {
		w.tree = append(w.tree, groupOf{parent: parents[b.Below(len(parents))], minimum: b.Below(4), key: key()})
	}
}

// alone reports whether a running member keeps every group to one zone.
func (w *world) alone(p podOf) bool {
	if slices.ContainsFunc(w.tree, func(g groupOf) bool { return g.key != "" }) {
		return w.nodes[p.on].zone != "" && !slices.ContainsFunc(w.running, func(o podOf) bool { return o.group >= 0 && w.nodes[o.on].zone != w.nodes[p.on].zone })
	}
	return true
}

func (w *world) kind(b *testkit.Bytes, mixed bool) podOf {
	p := podOf{cpu: 1 + b.Below(4), app: testkit.Pick(b, "x", "y"), on: -1, port: b.OneIn(12)}
	if mixed {
		p.gpu = b.Below(3)
	}
	if b.OneIn(8) {
		p.selects = testkit.Pick(b, "a", "b")
	}
	if b.OneIn(3) {
		p.rule = rule{kind: testkit.Pick(b, "apart", "apart", "with", "spread"), zone: b.OneIn(2), app: testkit.Pick(b, "x", "y"), skew: 1 + b.Below(2)}
		if p.rule.kind == "spread" && b.OneIn(3) {
			p.rule.least = 2 + b.Below(2)
		}
	}
	return p
}

func (w *world) String() string {
	var b strings.Builder
	for k, n := range w.nodes {
		fmt.Fprintf(&b, "node n%d %+v\n", k, n)
	}
	for k, g := range w.tree {
		fmt.Fprintf(&b, "group g%d %+v\n", k, g)
	}
	for _, p := range w.running {
		fmt.Fprintf(&b, "running %+v\n", p)
	}
	for k, p := range w.members {
		fmt.Fprintf(&b, "member m%d %+v\n", k, p)
	}
	return b.String()
}

func (p podOf) object(name string) *v1.Pod {
	list := fmt.Sprintf("cpu=%d", p.cpu)
	if p.gpu > 0 {
		list += fmt.Sprintf(",%s=%d", gpu, p.gpu)
	}
	o := testkit.Pod(name).Labels("app=" + p.app).Request(list)
	if p.selects != "" {
		o = o.NodeSelector(v1.LabelTopologyZone + "=" + p.selects)
	}
	key := v1.LabelHostname
	if p.rule.zone {
		key = v1.LabelTopologyZone
	}
	switch p.rule.kind {
	case "apart":
		o = o.RequireApart(key, "app="+p.rule.app)
	case "with":
		o = o.RequireWith(key, "app="+p.rule.app)
	case "spread":
		o = o.Spread(int32(p.rule.skew), key, v1.DoNotSchedule, "app="+p.rule.app)
	}
	if p.port {
		o = o.HostPort("", v1.ProtocolTCP, 80)
	}
	if p.on >= 0 {
		o = o.On(fmt.Sprintf("n%d", p.on))
	}
	pod := o.Obj()
	if p.rule.least > 0 {
		least := int32(p.rule.least)
		pod.Spec.TopologySpreadConstraints[0].MinDomains = &least
	}
	if p.group >= 0 {
		group := fmt.Sprintf("g%d", p.group)
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	}
	return pod
}

func (w *world) question(t testing.TB) proof.Question {
	var o cluster.Objects
	for k, n := range w.nodes {
		b := testkit.Node(fmt.Sprintf("n%d", k)).Capacity(fmt.Sprintf("cpu=%d,%s=%d,pods=%d", n.cpu, gpu, n.gpu, n.pods)).Label(v1.LabelHostname, fmt.Sprintf("n%d", k))
		if n.zone != "" {
			b = b.Zone(n.zone)
		}
		o.Nodes = append(o.Nodes, b.Obj())
	}
	for k, p := range w.running {
		o.Pods = append(o.Pods, p.object(fmt.Sprintf("r%d", k)))
	}
	for k, g := range w.tree {
		meta := metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("g%d", k)}
		spec := podgroup.Spec{}
		if g.parent >= 0 {
			spec.Parent = fmt.Sprintf("g%d", g.parent)
		}
		if g.minimum > 0 {
			n := int32(g.minimum)
			spec.Minimum = &n
		}
		if g.key != "" {
			spec.Constraints = &podgroup.Constraints{Topology: []string{v1.LabelTopologyZone}}
		}
		if g.composite {
			o.CompositePodGroups = append(o.CompositePodGroups, &podgroup.Composite{ObjectMeta: meta, Spec: spec})
		} else {
			o.PodGroups = append(o.PodGroups, &podgroup.Group{ObjectMeta: meta, Spec: spec})
		}
	}
	q := proof.Question{Gates: podgroup.Gates{Topology: true, Composites: true}}
	for k, p := range w.members {
		q.Queued = append(q.Queued, p.object(fmt.Sprintf("m%d", k)))
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	q.Snapshot = s
	return q
}

func nodeName(i int) string { return fmt.Sprintf("n%d", i) }
