package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// checkAnswers compares the answers of the indexes with what follows from the nodes and pods themselves.
func checkAnswers(t *testing.T, s *Snapshot) {
	t.Helper()
	sets, terms := map[string]map[int32]int32{}, map[string]map[int32]int32{}
	count := func(of map[string]map[int32]int32, key string, slot int) {
		if of[key] == nil {
			of[key] = map[int32]int32{}
		}
		of[key][int32(slot)]++
	}
	type onNode struct {
		sizes []int64
		slots []int32
	}
	images := map[string]*onNode{}
	for i := range s.Len() {
		node := s.Node(i)
		if node == nil {
			continue
		}
		require.Equal(t, amounts(s, resources.FromList(s.Schema(), node.Status.Allocatable)), amounts(s, s.Allocatable(i)))
		for _, image := range node.Status.Images {
			for _, name := range image.Names {
				x := images[name]
				if x == nil {
					x = &onNode{}
					images[name] = x
				}
				if !slices.Contains(x.slots, int32(i)) {
					x.slots, x.sizes = append(x.slots, int32(i)), append(x.sizes, image.SizeBytes)
				}
			}
		}
		var ports, held []string
		for p := range s.Pods(i) {
			count(sets, setText(p), i)
			if a := p.Spec.Affinity; a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
				count(terms, p.Namespace+a.String(), i)
			}
			for _, c := range slices.Concat(p.Spec.Containers, p.Spec.InitContainers) {
				if len(c.Ports) > 0 && c.Ports[0].HostPort > 0 {
					ports = append(ports, key(p))
				}
			}
			request, ok := s.PodRequests(p)
			require.True(t, ok)
			require.Equal(t, int64(1), request.At(resources.Pods))
			kind, _ := s.PodKind(p)
			require.NotNil(t, kind)
			for q := range s.Pods(i) {
				if other, _ := s.PodKind(q); setText(p) == setText(q) && s.infoOf(p) == s.infoOf(q) {
					require.Equal(t, kind, other)
				} else {
					require.NotEqual(t, kind, other)
				}
			}
		}
		for _, p := range s.PortPods(i) {
			held = append(held, key(p))
		}
		require.ElementsMatch(t, ports, held)
	}
	for _, name := range testImages {
		size, nodes, has := s.Image(name)
		x := images[name]
		if x == nil {
			x = &onNode{sizes: []int64{0}}
		}
		require.Equal(t, x.sizes[0], size, name)
		require.Len(t, x.slots, nodes, name)
		for i := range s.Len() {
			require.Equal(t, slices.Contains(x.slots, int32(i)), has(i), name)
		}
	}
	for _, reads := range testReads {
		ids, _, _ := s.Classes(reads)
		classes := map[string]int32{}
		for i, id := range ids {
			if s.Node(i) == nil {
				require.Equal(t, int32(-1), id)
				continue
			}
			text := classText(s.Node(i), reads)
			if other, ok := classes[text]; ok {
				require.Equal(t, other, id, "%v: nodes that are equal", reads)
			}
			classes[text] = id
		}
		require.Len(t, slices.Compact(slices.Sorted(maps.Values(classes))), len(classes), "%v: nodes that differ", reads)
	}
	live := map[string]bool{}
	for id := range s.TermSets() {
		if rep, nodes, counts := s.TermSet(int32(id)); len(nodes) > 0 {
			text := rep.Namespace + rep.Spec.Affinity.String()
			require.Equal(t, terms[text], byNode(nodes, counts))
			live[text] = true
		}
	}
	require.Len(t, live, len(terms))
	for _, ns := range []string{"", "n1", "n2", "nowhere"} {
		for _, pair := range [][2]string{{"", ""}, {"app", "a"}, {"app", "b"}, {"tier", ""}, {"app", "zzz"}} {
			want, got := map[string]map[int32]int32{}, map[string]map[int32]int32{}
			for text, on := range sets {
				if label := pair[0] + ":" + pair[1]; (ns == "" || strings.HasPrefix(text, ns+"map")) && (pair[0] == "" || strings.Contains(text, "["+label+" ") || strings.Contains(text, "["+label+"]") || strings.Contains(text, " "+label+"]")) {
					want[text] = on
				}
			}
			s.PodSets(ns, pair[0], pair[1], func(id int32) {
				if rep, nodes, counts := s.PodSet(id); len(nodes) > 0 {
					require.Nil(t, got[setText(rep)], "a set is yielded once")
					got[setText(rep)] = byNode(nodes, counts)
				}
			})
			require.Equal(t, want, got, "%q %q", ns, pair)
		}
	}
}

func setText(p *v1.Pod) string { return fmt.Sprint(p.Namespace, p.Labels, p.DeletionTimestamp != nil) }

func byNode(nodes, counts []int32) map[int32]int32 {
	out := map[int32]int32{}
	for k, n := range nodes {
		out[n] += counts[k]
	}
	return out
}

// classText is what the reads read of a node.
func classText(n *v1.Node, reads []string) string {
	var out []string
	for _, r := range reads {
		switch r {
		case "taints":
			for _, taint := range n.Spec.Taints {
				out = append(out, taint.Key, taint.Value, string(taint.Effect))
			}
		case "unschedulable":
			out = append(out, fmt.Sprint(n.Spec.Unschedulable))
		case "name":
			out = append(out, n.Name)
		case "features":
			out = append(out, slices.Compact(slices.Sorted(slices.Values(n.Status.DeclaredFeatures)))...)
		default:
			v, ok := n.Labels[strings.TrimPrefix(r, "label:")]
			out = append(out, fmt.Sprint(v, ok))
		}
		out = append(out, "|")
	}
	return strings.Join(out, ",")
}

// NonZero is the sum over the pods.
func checkNonZero(t *testing.T, s *Snapshot) {
	t.Helper()
	for i := range s.Len() {
		var cpu, memory int64
		for p := range s.Pods(i) {
			c, m := overhead.NonZero(p, s.release)
			cpu, memory = resources.Add(cpu, c), resources.Add(memory, m)
		}
		gotCPU, gotMemory := s.NonZero(i)
		require.Equal(t, [2]int64{cpu, memory}, [2]int64{gotCPU, gotMemory})
	}
}
