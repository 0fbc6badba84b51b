package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/resources"
)

var (
	testKeys   = []string{v1.LabelHostname, v1.LabelTopologyZone, "disk", "none"}
	testImages = []string{"a:1", "b:1", "c:1", "absent"}
	testReads  = [][]string{{}, {"taints"}, {"label:disk", "unschedulable"}, {"name"}, {"features", "label:" + v1.LabelTopologyZone, "taints"}}
)

// describe prints every answer of a snapshot with names instead of slots and ids. So two snapshots of equal clusters print
// the same, whatever their history.
func describe(s *Snapshot) string {
	var b strings.Builder
	names := map[int32]string{}
	for i := range s.Len() {
		if n := s.Node(i); n != nil {
			names[int32(i)] = n.Name
		}
	}
	fmt.Fprintf(&b, "nodes %d pods %d\n", s.live, total(s))
	for _, i := range slices.SortedFunc(maps.Keys(names), func(x, y int32) int { return strings.Compare(names[x], names[y]) }) {
		cpu, memory := s.NonZero(int(i))
		fmt.Fprintf(&b, "%s: offers %s, asked %s, scored %d %d\n", names[i], amounts(s, s.Allocatable(int(i))), amounts(s, s.Requested(int(i))), cpu, memory)
		for p := range s.Pods(int(i)) {
			fmt.Fprintf(&b, "  %s/%s %v %v\n", p.Namespace, p.Name, p.Labels, p.DeletionTimestamp)
		}
		var ports []string
		for _, p := range s.PortPods(int(i)) {
			ports = append(ports, p.Namespace+"/"+p.Name)
		}
		slices.Sort(ports)
		fmt.Fprintf(&b, "  ports %v, %d pods\n", ports, podCount(s, int(i)))
	}
	for id := range s.TermSets() {
		rep, nodes, counts := s.TermSet(int32(id))
		if len(nodes) > 0 {
			fmt.Fprintf(&b, "terms %s\n", group2string(names, rep.Namespace+rep.Spec.Affinity.String(), nodes, counts))
		}
	}
	lines := strings.Split(b.String(), "\n")
	from := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "terms") })
	if from >= 0 {
		slices.Sort(lines[from:])
	}
	for _, ns := range []string{"", "n1", "n2", "nowhere"} {
		for _, pair := range [][2]string{{"", ""}, {"app", "a"}, {"app", "b"}, {"tier", ""}, {"app", "zzz"}} {
			var sets []string
			s.PodSets(ns, pair[0], pair[1], func(id int32) {
				rep, nodes, counts := s.PodSet(id)
				sets = append(sets, group2string(names, fmt.Sprint(rep.Namespace, rep.Labels, rep.DeletionTimestamp != nil), nodes, counts))
			})
			slices.Sort(sets)
			lines = append(lines, fmt.Sprintf("sets %q %q: %v", ns, pair, sets))
		}
	}
	for _, key := range testKeys {
		ids, domains, have := s.Domains(key)
		lines = append(lines, fmt.Sprintf("domains %s %d %d %v", key, domains, have, partition(names, ids)))
	}
	for _, reads := range testReads {
		ids, reps, ok := s.Classes(reads)
		lines = append(lines, fmt.Sprintf("classes %v %d %v %v", reads, len(reps), ok, partition(names, ids)))
	}
	for _, name := range testImages {
		size, nodes, has := s.Image(name)
		var on []string
		for i := range s.Len() {
			if has(i) {
				on = append(on, names[int32(i)])
			}
		}
		slices.Sort(on)
		lines = append(lines, fmt.Sprintf("image %s %d %d %v", name, size, nodes, on))
	}
	for ns, labels := range s.Namespaces() {
		lines = append(lines, fmt.Sprintf("namespace %s %v", ns, labels))
	}
	for svc := range List[*v1.Service](s).All() {
		lines = append(lines, fmt.Sprintf("service %s/%s %v", svc.Namespace, svc.Name, svc.Spec.Selector))
	}
	for _, ns := range []string{"n1", "n2"} {
		for _, group := range []string{"g", "h"} {
			for p, i := range s.Members(ns, group) {
				lines = append(lines, fmt.Sprintf("member of %s: %s/%s on %q", group, p.Namespace, p.Name, names[int32(i)]))
			}
		}
	}
	for _, p := range s.Orphans() {
		lines = append(lines, fmt.Sprintf("orphan %s/%s on %s", p.Namespace, p.Name, p.Spec.NodeName))
	}
	return strings.Join(lines, "\n")
}

func amounts(s *Snapshot, v resources.Vector) string {
	var list []string
	for c, n := range v {
		if n != 0 {
			list = append(list, fmt.Sprintf("%s=%d", s.Schema().Name(c), n))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

func group2string(names map[int32]string, what string, nodes, counts []int32) string {
	on := map[string]int32{}
	for i, n := range nodes {
		on[names[n]] += counts[i]
	}
	return fmt.Sprint(what, on)
}

// partition prints which nodes have equal ids.
func partition(names map[int32]string, ids []int32) []string {
	by := map[int32][]string{}
	for i, id := range ids {
		if name, ok := names[int32(i)]; ok && id >= 0 {
			by[id] = append(by[id], name)
		}
	}
	var parts []string
	for _, p := range by {
		slices.Sort(p)
		parts = append(parts, strings.Join(p, "+"))
	}
	slices.Sort(parts)
	return parts
}

// rebuild makes a new snapshot of the objects that s holds. It copies assumed pods and sets their spec.nodeName.
func rebuild(t *testing.T, s *Snapshot) *Snapshot {
	t.Helper()
	o := Objects{Pods: s.Orphans(), Services: slices.Collect(List[*v1.Service](s).All())}
	for i := range s.Len() {
		n := s.Node(i)
		if n == nil {
			continue
		}
		o.Nodes = append(o.Nodes, n)
		for p := range s.Pods(i) {
			if p.Spec.NodeName != n.Name {
				c := *p
				c.Spec.NodeName = n.Name
				p = &c
			}
			o.Pods = append(o.Pods, p)
		}
	}
	o.Namespaces = slices.Collect(s.objects.namespaces.all())
	r, err := New(o)
	require.NoError(t, err)
	return r
}

// check checks the invariants of the indexes that describe does not print.
func check(t *testing.T, s *Snapshot) {
	t.Helper()
	for i := range s.Len() {
		if s.Node(i) == nil {
			require.Zero(t, podCount(s, i))
			require.Equal(t, "none", s.Requested(i).Describe(s.Schema()), "a free slot holds nothing")
			require.Equal(t, "none", s.Allocatable(i).Describe(s.Schema()), "a free slot offers nothing")
			continue
		}
		require.Equal(t, i, s.Slot(s.Node(i).Name))
		for p := range s.Pods(i) {
			require.Equal(t, i, s.podSlot(p.Namespace, p.Name))
			require.Same(t, p, s.Pod(p.Namespace, p.Name))
			checkMember(t, s, p, i)
		}
	}
	for _, p := range s.Orphans() {
		checkMember(t, s, p, -1)
	}
	for _, key := range testKeys {
		ids, domains, have := s.Domains(key)
		require.Len(t, ids, s.Len())
		seen, with := map[int32]string{}, 0
		for i, id := range ids {
			var v string
			ok := false
			if n := s.Node(i); n != nil {
				v, ok = n.Labels[key]
			}
			if !ok {
				require.Equal(t, int32(-1), id)
				continue
			}
			with++
			if was, ok := seen[id]; ok {
				require.Equal(t, was, v)
			}
			seen[id] = v
			require.Less(t, int(id), domains)
		}
		require.Len(t, seen, domains, "numbers have no gaps")
		require.Equal(t, with, have)
	}
	for _, reads := range testReads {
		ids, reps, ok := s.Classes(reads)
		require.True(t, ok)
		require.Len(t, ids, s.Len())
		for id, r := range reps {
			require.Equal(t, int32(id), ids[r], "a representative is in its class")
		}
	}
}

// checkMember checks that a pod of a group is among the members of the group.
func checkMember(t *testing.T, s *Snapshot, p *v1.Pod, slot int) {
	t.Helper()
	group, ok := podgroup.Of(p)
	if !ok {
		return
	}
	for m, i := range s.Members(p.Namespace, group) {
		if m == p {
			require.Equal(t, slot, i)
			return
		}
	}
	t.Errorf("%s/%s is no member of %s", p.Namespace, p.Name, group)
}
