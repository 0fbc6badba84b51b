// Package gen makes clusters to compare two schedulers on: small, accepted by the API server's own defaulting and
// validation, and adversarial. Every name, label and amount comes from a vocabulary of a few words, so that things collide:
// selectors match by accident, nodes are full to the last unit, priorities tie, labels are missing or empty.
//
//	c := gen.New(seed)             // the same seed gives the same cluster
//	os.Stdout.Write(c.YAML())      // a file that `podberth place` reads
//	small := gen.Shrink(c, fails)  // the smallest cluster that still fails
package gen

import (
	"flag"
	"fmt"
	"math/rand"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
)

// Flags of every test binary of this module.
var (
	// Clusters is the number of clusters of the long mode; 0 asks for the short one.
	Clusters = flag.Int("clusters", 0, "number of generated clusters in all; 0: the short mode")
	// Seed is where the seeds of clusters begin.
	Seed = flag.Int64("seed", 1, "seed of the first cluster")
)

// Count returns how many clusters a test generates: short without the flag, otherwise this share of 100 of the flag's.
func Count(short, share int) int {
	if *Clusters == 0 {
		return short
	}
	return max(1, *Clusters*share/100)
}

// Cluster is a generated cluster with pods that wait.
type Cluster struct {
	Seed int64
	cluster.Objects
	// Pending are the pods to schedule, in order. Those with status.nominatedNodeName are nominated there.
	Pending []*v1.Pod
	// Gated are pods that scheduling gates hold back.
	Gated []*v1.Pod
}

// Epoch is the creation time of everything.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Now is the time at which clusters are looked at, later than anything in them.
var Now = Epoch.Add(time.Hour)

// Shape says how large clusters are and what they are made of. The zero value is small and has everything but volumes.
type Shape struct {
	Nodes, Running, Pending int // at most; 0: 7, 14 and 3
	Exactly                 bool
	Volumes                 bool
	// Nominated lets pending pods be nominated to nodes.
	Nominated bool
	// Crowded makes nodes small and full, so that pods fit only if others leave.
	Crowded bool
	// FewNames gives a pod at most 8 resources of its own names. After 13 names podberth's trials lose reasons, a known difference, so
	// that shapes for preemption and nominated pods have few too.
	FewNames bool
	// Urgent gives pending pods higher priorities than most running pods; Crowded does too.
	Urgent bool
	// Roomy lets every pod go to every node, so that scores decide. With Volumes the nodes differ in the storage that is left
	// for the claims of pending pods.
	Roomy bool
	// Numeric lets tolerations compare numbers. The API server takes them when the feature gate
	// TaintTolerationComparisonOperators is on.
	Numeric bool
	// Focus limits what pods ask for; 0 takes it from the seed.
	Focus Focus
}

// Focus is a set of features that pods of a cluster use often.
type Focus uint

// The features.
const (
	Resources Focus = 1 << iota
	Taints
	NodeAffinity
	PodAffinity
	Spread
	Ports
	Images
	Features
	Volumes
	OddResources // pod-level resources, resize states, overhead, extended resources
)

// generator makes one cluster.
type generator struct {
	*rand.Rand
	shape Shape
	focus Focus
	c     *Cluster
	uid   int
	// crowds is how uneven pods are spread; see crowd.
	crowds int
	taints int // of the node before
}

// New returns the cluster of a seed.
func New(seed int64) *Cluster { return Of(seed, Shape{}) }

// Of returns the cluster of a seed and a shape.
func Of(seed int64, shape Shape) *Cluster {
	g := &generator{Rand: rand.New(rand.NewSource(seed)), shape: shape, c: &Cluster{Seed: seed}}
	defaults := func(n *int, d int) {
		if *n == 0 {
			*n = d
		}
	}
	defaults(&g.shape.Nodes, 7)
	defaults(&g.shape.Running, 14)
	defaults(&g.shape.Pending, 3)
	g.focus = shape.Focus
	if g.focus == 0 {
		// One to three features are frequent, the others rare: with everything at once nothing is ever feasible.
		for range 1 + g.Intn(3) {
			g.focus |= 1 << g.Intn(10)
		}
	}
	g.namespaces()
	g.owners()
	switch {
	case shape.Volumes && shape.Roomy:
		g.storage()
	case shape.Volumes:
		g.volumes()
	}
	for i := range g.upTo(g.shape.Nodes, 1) {
		g.c.Nodes = append(g.c.Nodes, g.node(i))
	}
	if shape.Volumes && !shape.Roomy {
		g.csiNodes()
	}
	for i := range g.upTo(g.shape.Running, 0) {
		if len(g.c.Nodes) > 0 {
			g.c.Pods = append(g.c.Pods, g.running(i))
		}
	}
	if g.shape.Crowded && g.one(3) {
		g.twin()
	}
	g.distinctStarts()
	for g.one(6) {
		g.c.Gated = append(g.c.Gated, g.gated(len(g.c.Gated)))
	}
	for i := range g.upTo(g.shape.Pending, 1) {
		p := g.pod(fmt.Sprintf("p%d", i))
		if shape.Volumes && shape.Roomy {
			g.store(p)
		}
		if shape.Nominated && g.one(2) && len(g.c.Nodes) > 0 {
			p.Status.NominatedNodeName = pick(g, g.c.Nodes).Name
			if g.one(20) {
				p.Status.NominatedNodeName = "gone"
			}
			if g.one(4) { // PreFilter leaves one node, perhaps another one
				g.affinity(p).NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
					NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
						{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{pick(g, g.c.Nodes).Name}}}}}}}
			}
		}
		g.c.Pending = append(g.c.Pending, p)
	}
	return g.c
}

// distinctStarts gives the pods of a node with more than twelve of them start times of their own, and start times to all
// but one of the pods of a node. Which of several equally important pods gives way depends on the sort algorithm, which
// keeps their order for short lists only; pods without a start time are compared by the clock, read for each comparison.
func (g *generator) distinctStarts() {
	count, without := map[string]int{}, map[string]bool{}
	for _, p := range g.c.Pods {
		count[p.Spec.NodeName]++
	}
	for i, k := range g.Perm(len(g.c.Pods)) {
		p := g.c.Pods[i]
		if p.Status.StartTime == nil {
			if without[p.Spec.NodeName] {
				start := metav1.NewTime(Epoch.Add(time.Duration(k) * time.Second))
				p.Status.StartTime = &start
			}
			without[p.Spec.NodeName] = true
		}
		if count[p.Spec.NodeName] > 12 {
			start := metav1.NewTime(Epoch.Add(time.Duration(k) * time.Second))
			p.Status.StartTime = &start
		}
	}
}

func (g *generator) upTo(n, least int) int {
	if g.shape.Exactly {
		return n
	}
	if least == 1 && g.one(200) {
		least = 0
	}
	return least + g.Intn(n-least+1)
}

// one is true once in n times.
func (g *generator) one(n int) bool { return g.Intn(n) == 0 }

// with is true often when the cluster is about the feature, otherwise seldom.
func (g *generator) with(f Focus) bool {
	if g.focus&f != 0 {
		return !g.one(4)
	}
	return g.one(12)
}

func pick[T any](g *generator, list []T) T { return list[g.Intn(len(list))] }

func (g *generator) meta(namespace, name string) metav1.ObjectMeta {
	g.uid++
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(fmt.Sprintf("u%d-%s", g.uid, name)),
		CreationTimestamp: metav1.NewTime(Epoch.Add(time.Duration(g.Intn(3)) * time.Second)),
	}
}

var (
	nsNames   = []string{"default", "n1", "n2"}
	apps      = []string{"web", "web", "db", ""}
	tiers     = []string{"a", "b"}
	zones     = []string{"a", "b", "c", ""}
	zoneKeys  = []string{v1.LabelTopologyZone, v1.LabelTopologyZone, v1.LabelTopologyZone, v1.LabelHostname, v1.LabelHostname, v1.LabelTopologyRegion, "disk", "rack"}
	disks     = []string{"ssd", "hdd", "", "1", "5", "10"}
	taintKeys = []string{"k1", "k2", v1.TaintNodeUnschedulable, v1.TaintNodeNotReady}
	effects   = []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute, v1.TaintEffectPreferNoSchedule}
)

// labels of pods: few, so that selectors match.
func (g *generator) podLabels() map[string]string {
	m := map[string]string{}
	if !g.one(6) {
		m["app"] = pick(g, apps)
	}
	if g.one(3) {
		m["tier"] = pick(g, tiers)
	}
	if g.one(8) {
		m["pod-template-hash"] = pick(g, tiers)
	}
	if len(m) == 0 && g.one(2) {
		return nil
	}
	return m
}

// selector of pods; it may be nil, empty, or match nothing.
func (g *generator) selector() *metav1.LabelSelector {
	switch g.Intn(12) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2, 3, 4, 5, 6:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(g, apps)}}
	case 7:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(g, apps), "tier": pick(g, tiers)}}
	}
	s := &metav1.LabelSelector{}
	for range 1 + g.Intn(2) {
		s.MatchExpressions = append(s.MatchExpressions, g.expression([]string{"app", "tier", "gone"}, []string{"web", "db", "", "a", "b"}))
	}
	if g.one(3) {
		s.MatchLabels = map[string]string{"tier": pick(g, tiers)}
	}
	return s
}

func (g *generator) expression(keys, values []string) metav1.LabelSelectorRequirement {
	r := metav1.LabelSelectorRequirement{Key: pick(g, keys)}
	switch g.Intn(4) {
	case 0:
		r.Operator = metav1.LabelSelectorOpExists
	case 1:
		r.Operator = metav1.LabelSelectorOpDoesNotExist
	case 2:
		r.Operator = metav1.LabelSelectorOpIn
	case 3:
		r.Operator = metav1.LabelSelectorOpNotIn
	}
	if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
		for range 1 + g.Intn(2) {
			r.Values = append(r.Values, pick(g, values))
		}
	}
	return r
}
