package diagnose

import (
	"fmt"
	mathbits "math/bits"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// FuzzRelax compares Relax with all sets of its changes, each decided by placement on a changed copy of the cluster, and holds
// that every relaxation works and no proper subset does, with the values that it found.
func FuzzRelax(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(testkit.RandomBytes(seed, 80))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		objects, pod := random(b)
		objects.PodDisruptionBudgets = randomBudgets(b)
		if b.OneIn(3) {
			randomDevices(b, &objects, pod)
		}
		pod.Spec.Priority = new(int32(9)) // no pod that leaves is more important: the law would forbid that
		s, err := cluster.New(objects)
		require.NoError(t, err)
		o := Options{Size: 2, Nodes: 2}
		if b.OneIn(50) {
			o.Size = 3 // brute force then takes ten times as long
		}
		var d *Diagnosis
		testkit.Unchanged(t, func() {
			d, err = Relax(Input{Snapshot: s}, pod, o)
			require.NoError(t, err)
		}, append(objects.Pods, pod)...)
		if b.OneIn(4) {
			again, err := Relax(Input{Snapshot: s}, pod, o)
			require.NoError(t, err)
			require.Equal(t, texts(d.Relaxations), texts(again.Relaxations))
		}
		if d.Node != "" {
			return
		}
		// A removal of all pods may fail where one of fewer pods works, so sets with a removal are only checked below.
		require.Equal(t, bruteForce(t, s, pod, d.Changes, o.Size), kindsOf(d.Relaxations))
		require.Equal(t, bruteConflicts(t, s, pod, append(slices.Clone(d.Changes), d.probes...), o.Size), sortedConflicts(d.Conflicts))
		for _, r := range d.Relaxations {
			smallest(t, s, pod, r)
		}
		for _, c := range d.Changes {
			if c.Kind == RemovePods && works(t, s, pod, []Change{c}) {
				fewest(t, s, pod, c, d.Relaxations)
			}
		}
	})
}

// smallest holds that a relaxation works, that no part of it does, and that nothing in it goes too far.
func smallest(t *testing.T, s *cluster.Snapshot, pod *v1.Pod, r Relaxation) {
	require.True(t, works(t, s, pod, r.Changes), r.Text())
	all := 1<<len(r.Changes) - 1
	for set := range all {
		require.False(t, works(t, s, pod, pick(r.Changes, uint64(set))), "part of %s", r.Text())
	}
	for i := range r.Changes {
		tighter(t, s, pod, r, i)
	}
}

// tighter holds that no pod of a removal can stay, and that no value can go back by one.
func tighter(t *testing.T, s *cluster.Snapshot, pod *v1.Pod, r Relaxation, i int) {
	c := r.Changes[i]
	for k := range c.remove {
		less := slices.Clone(r.Changes)
		less[i].remove = slices.Delete(slices.Clone(c.remove), k, k+1)
		require.False(t, works(t, s, pod, less), "%s: %s can stay", r.Text(), c.remove[k].Name)
	}
	if c.value == nil {
		return
	}
	less := slices.Clone(r.Changes)
	value := *c.value
	if value.v += 1; value.loosest > value.from {
		value.v -= 2
	}
	less[i].value = &value
	require.False(t, works(t, s, pod, less), "%s: one step back", r.Text())
}

var standard = placement.DefaultProfile()

func works(t *testing.T, s *cluster.Snapshot, pod *v1.Pod, changes []Change) bool {
	fork := s.Fork()
	p, err := Apply(fork, pod, changes...)
	require.NoError(t, err)
	if len(p.Spec.SchedulingGates) > 0 {
		return false
	}
	plan, err := placement.New(fork, standard)
	require.NoError(t, err)
	return plan.Decide(p, placement.Options{}).Placed()
}

func pick[T any](list []T, set uint64) (out []T) {
	for k, c := range list {
		if set>>k&1 == 1 {
			out = append(out, c)
		}
	}
	return out
}

// bruteForce decides about every set of at most size changes that changes one node at most, and returns the smallest that work.
func bruteForce(t *testing.T, s *cluster.Snapshot, pod *v1.Pod, changes []Change, size int) []string {
	out := []string{}
	var found []uint64
	for n := 1; n <= size && n <= len(changes); n++ {
		for set := uint64(1)<<n - 1; set < 1<<len(changes); set = next(set) {
			list := pick(changes, set)
			places := map[string]bool{}
			for _, c := range list {
				if strings.HasPrefix(c.Object, "Node") && !c.beside {
					places[c.Object+c.placeText()] = true
				}
			}
			if len(places) > 1 || slices.ContainsFunc(found, func(f uint64) bool { return f&^set == 0 }) {
				continue
			}
			if works(t, s, pod, list) {
				require.Equal(t, n, mathbits.OnesCount64(set))
				found = append(found, set)
				out = append(out, kindOf(list))
			}
		}
	}
	sort.Strings(out)
	return withoutRemoval(out)
}

// bruteConflicts returns the smallest sets of at most size rules that keep the pod out although all changes of other rules are made.
func bruteConflicts(t *testing.T, s *cluster.Snapshot, pod *v1.Pod, changes []Change, size int) [][]string {
	var rules []string
	for _, c := range changes {
		if c.rule != "" && !slices.Contains(rules, c.rule) {
			rules = append(rules, c.rule)
		}
	}
	out, found := [][]string{}, []uint64{}
	for n := 0; n <= size && n <= len(rules); n++ {
		for set := range uint64(1) << len(rules) {
			if mathbits.OnesCount64(set) != n || slices.ContainsFunc(found, func(f uint64) bool { return f&^set == 0 }) {
				continue
			}
			kept := pick(rules, set)
			others := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.rule == "" || slices.Contains(kept, c.rule) })
			if !works(t, s, pod, others) {
				found, out = append(found, set), append(out, append([]string{}, kept...))
			}
		}
	}
	return sortedConflicts(out)
}

// sortedConflicts returns a copy in which the rules of a conflict, and the conflicts, are sorted.
func sortedConflicts(list [][]string) [][]string {
	out := [][]string{}
	for _, rules := range list {
		rules = slices.Clone(rules)
		slices.Sort(rules)
		out = append(out, rules)
	}
	slices.SortFunc(out, slices.Compare[[]string])
	return out
}

func withoutRemoval(list []string) []string {
	return slices.DeleteFunc(list, func(s string) bool {
		return strings.Contains(s, string(RemovePods)) || strings.Contains(s, string(MovePods))
	})
}

// placeText parts added nodes from each other.
func (c Change) placeText() string {
	if c.Kind == AddNode {
		return c.From
	}
	return ""
}

func kindOf(list []Change) string {
	var parts []string
	for _, c := range list {
		to := c.To
		if c.value != nil {
			to = ""
		}
		parts = append(parts, fmt.Sprint(c.Kind, " ", c.Object, " ", c.Path, " ", c.From, " ", to))
	}
	sort.Strings(parts)
	return strings.Join(parts, "; ")
}

func kindsOf(list []Relaxation) []string {
	out := []string{}
	for _, r := range list {
		out = append(out, kindOf(r.Changes))
	}
	sort.Strings(out)
	return withoutRemoval(out)
}

func texts(list []Relaxation) (out []string) {
	for _, r := range list {
		out = append(out, r.Node+" "+r.Text())
	}
	return out
}

// random makes a small cluster and a pending pod with many rules.
func random(b *testkit.Bytes) (o cluster.Objects, pod *v1.Pod) {
	for i := range 2 + b.Below(4) {
		n := testkit.Node(fmt.Sprintf("n%d", i)).Capacity(testkit.Pick(b, "cpu=4,memory=8Gi", "cpu=2,memory=4Gi"))
		if !b.OneIn(6) {
			n = n.Zone(testkit.Pick(b, "a", "b", "c"))
		}
		if b.OneIn(3) {
			n = n.Taint(testkit.Pick(b, "team=x:NoSchedule", "old:NoExecute", "soft:PreferNoSchedule"))
		}
		if b.OneIn(3) {
			n = n.Label("disk", testkit.Pick(b, "ssd", "hdd"))
		}
		if b.OneIn(6) {
			n = n.Unschedulable()
		}
		o.Nodes = append(o.Nodes, n.Obj())
	}
	for i := range b.Below(7) {
		p := testkit.Pod(fmt.Sprintf("r%d", i)).On(o.Nodes[b.Below(len(o.Nodes))].Name).Labels(testkit.Pick(b, "app=a", "app=b")).Request(testkit.Pick(b, "cpu=1", "cpu=2", "cpu=500m,memory=1Gi"))
		if b.OneIn(4) {
			p = p.RequireApart(testkit.Pick(b, zone, v1.LabelHostname), testkit.Pick(b, "app=a", "app=b"))
		}
		if b.OneIn(4) {
			p = p.HostPort("", v1.ProtocolTCP, 80)
		}
		if b.OneIn(3) {
			p = p.Priority(int32(b.Below(3)))
		}
		o.Pods = append(o.Pods, p.Obj())
	}
	p := testkit.Pod("pending").Labels("app=a").Request(testkit.Pick(b, "cpu=2", "cpu=1", "cpu=5,memory=1Gi", "cpu=3,memory=9Gi"))
	if b.OneIn(3) {
		p = p.NodeSelector(testkit.Pick(b, "disk=ssd", zone+"=a", "disk=tape"))
	}
	if b.OneIn(3) {
		p = p.Spread(1+int32(b.Below(2)), testkit.Pick(b, zone, v1.LabelHostname), v1.DoNotSchedule, "app=a")
	}
	if b.OneIn(3) {
		p = p.RequireApart(testkit.Pick(b, zone, v1.LabelHostname), testkit.Pick(b, "app=a", "app=b"))
	}
	if b.OneIn(4) {
		p = p.RequireWith(testkit.Pick(b, zone, v1.LabelHostname), testkit.Pick(b, "app=b", "app=a", "app=c"))
	}
	if b.OneIn(4) {
		p = p.HostPort("", v1.ProtocolTCP, 80)
	}
	if b.OneIn(4) {
		p = p.RequireNodes(v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{"ssd"}}, {Key: zone, Operator: v1.NodeSelectorOpNotIn, Values: []string{"a"}}}})
	}
	pod = p.Obj()
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		honor := v1.NodeInclusionPolicyHonor
		if b.OneIn(3) {
			c.NodeTaintsPolicy = &honor
		}
		if b.OneIn(3) {
			n := int32(1 + b.Below(4))
			c.MinDomains = &n
		}
	}
	return o, pod
}
