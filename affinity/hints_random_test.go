package affinity_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// meets reports whether a pod matches all terms and whether it matches one, in a world whose namespaces have no labels.
func meets(owner *v1.Pod, terms []v1.PodAffinityTerm, p *v1.Pod) (all, one bool) {
	o := &oracle{world: &world{}, pod: p}
	all = len(terms) > 0
	for _, t := range terms {
		matches := o.runningMatches(t, owner)
		all, one = all && matches, one || matches
	}
	return all, one
}

// podHint is the rule of PodOptions.WouldHelp for pods; bad: an error.
func podHint(v release.Version, p, old, new *v1.Pod) (helps, bad bool) {
	about := new
	if new == nil {
		about = old
	}
	switch {
	case about == nil:
		return false, false
	case old != nil && new != nil && new.UID == p.UID:
		return v.AtLeast(release.V1_36), false
	case about.Spec.NodeName == "" && (!v.AtLeast(release.V1_36) || about.Status.NominatedNodeName == ""):
		return false, false
	}
	required, anti, _, _ := lists(p)
	if !usable(required, plainTerm) || !usable(anti, plainTerm) {
		return false, true
	}
	against := func(owner *v1.Pod, terms []v1.PodAffinityTerm, q *v1.Pod) bool {
		all, one := meets(owner, terms, q)
		return all || one && v.AtLeast(release.V1_37)
	}
	wanted := func(q *v1.Pod) bool { all, _ := meets(p, required, q); return all }
	switch {
	case old == nil:
		return wanted(new), false
	case new != nil:
		return !wanted(old) && wanted(new) || against(p, anti, old) && !against(p, anti, new), false
	case against(p, anti, old):
		return true, false
	case !v.AtLeast(release.V1_36):
		return false, false
	}
	_, theirs, _, _ := lists(old)
	if !usable(theirs, plainTerm) {
		return false, true
	}
	return against(old, theirs, p), false
}

// nodeHint is the rule of PodOptions.WouldHelp for nodes; bad: an error.
func nodeHint(p *v1.Pod, old, new *v1.Node) (helps, bad bool) {
	required, anti, _, _ := lists(p)
	if !usable(required, plainTerm) {
		return false, true
	}
	if new == nil {
		return false, false
	}
	for _, t := range required {
		now, has := new.Labels[t.TopologyKey]
		if has && (old == nil || old.Labels[t.TopologyKey] != now || !hasLabel(old, t.TopologyKey)) {
			return true, false
		}
	}
	if !usable(anti, plainTerm) {
		return false, true
	}
	for _, t := range anti {
		if old == nil || hasLabel(old, t.TopologyKey) && (!hasLabel(new, t.TopologyKey) || old.Labels[t.TopologyKey] != new.Labels[t.TopologyKey]) {
			return true, false
		}
	}
	return false, false
}

func hasLabel(n *v1.Node, key string) bool { _, ok := n.Labels[key]; return ok }

// TestRandomHints: the hint of InterPodAffinity follows its rule for random pods, nodes and releases.
func TestRandomHints(t *testing.T) {
	helped, failed := 0, 0
	for seed := range int64(testkit.Rounds(6000)) {
		src := newSource(bytes(seed))
		v := release.Versions()[src.Below(4)]
		p := src.pod()
		p.UID = "rejected"
		event := func() *v1.Pod {
			q := src.pod()
			switch src.Below(8) {
			case 0: // nowhere
			case 1:
				q.Status.NominatedNodeName = "n1"
			default:
				q.Spec.NodeName = "n1"
			}
			if src.Below(20) == 0 {
				q.UID = p.UID
			}
			return q
		}
		place := func() *v1.Node {
			labels := ""
			for _, key := range []string{"zone", "h", "rack"} {
				if src.Below(3) > 0 {
					labels += key + "=" + src.pick("a", "b", "") + ","
				}
			}
			return node("n", labels)
		}
		old, new := event(), event()
		before, after := place(), place()
		switch src.Below(4) {
		case 0:
			old, before = nil, nil
		case 1:
			new, after = nil, nil
		}
		want, bad := podHint(v, p, old, new)
		got, err := affinity.PodOptions{Release: v}.WouldHelp(p, object(old), object(new))
		require.Equal(t, bad, err != nil, "seed %d", seed)
		require.Equal(t, want, got, "seed %d", seed)
		helped, failed = helped+btoi(got), failed+btoi(bad)

		want, bad = nodeHint(p, before, after)
		got, err = affinity.PodOptions{Release: v}.WouldHelp(p, object(before), object(after))
		require.Equal(t, bad, err != nil, "seed %d: nodes", seed)
		require.Equal(t, want, got, "seed %d: nodes", seed)
	}
	require.Positive(t, helped)
	require.Positive(t, failed)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestRandomNodeHints: the hint of NodeAffinity follows its rule: the profile's terms and the pod's match the node, and the pod's
// did not match it before. A term that cannot be converted is an error where no other term matches.
func TestRandomNodeHints(t *testing.T) {
	holds := func(r v1.NodeSelectorRequirement, n *v1.Node) bool {
		value, has := n.Labels[r.Key]
		return map[v1.NodeSelectorOperator]bool{"In": has && slices.Contains(r.Values, value), "Exists": has, "DoesNotExist": !has}[r.Operator]
	}
	match := func(p *v1.Pod, terms []v1.NodeSelectorRequirement, n *v1.Node) (matches, bad bool) {
		for k, v := range p.Spec.NodeSelector {
			if value, has := n.Labels[k]; !has || value != v {
				return false, false
			}
		}
		matches = terms == nil
		for _, r := range terms {
			matches = matches || holds(r, n)
			bad = bad || r.Operator == "Bogus"
		}
		return matches, bad && !matches
	}
	for seed := range int64(testkit.Rounds(6000)) {
		src := newSource(bytes(seed))
		list := func(bad int) (out []v1.NodeSelectorRequirement) {
			for range src.Below(3) {
				key := src.pick("zone", "rack")
				switch src.Below(3 + bad) {
				case 0:
					out = append(out, req(key, "Exists"))
				case 1:
					out = append(out, req(key, "DoesNotExist"))
				case 2:
					out = append(out, req(key, "In", "a", ""))
				default:
					out = append(out, req(key, "Bogus"))
				}
			}
			return out
		}
		affinityOf := func(list []v1.NodeSelectorRequirement) *v1.NodeAffinity {
			if list == nil {
				return nil
			}
			required := terms()
			for _, r := range list {
				required.NodeSelectorTerms = append(required.NodeSelectorTerms, exprs(r))
			}
			return &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}
		}
		own, profile := list(1), list(0)
		p := pod("d", "")
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: affinityOf(own)}
		if src.Below(3) == 0 {
			p.Spec.NodeSelector = map[string]string{"h": src.pick("a", "")}
		}
		place := func() *v1.Node {
			labels := ""
			for _, key := range []string{"zone", "h", "rack"} {
				if src.Below(2) > 0 {
					labels += key + "=" + src.pick("a", "b", "") + ","
				}
			}
			return node("n", labels)
		}
		old, new := place(), place()
		if src.Below(4) == 0 {
			old = nil
		}

		added, _ := match(pod("d", ""), profile, new)
		want, bad := match(p, own, new)
		if !added {
			want, bad = false, false
		}
		if want && old != nil {
			want, bad = match(p, own, old)
			want = !want
		} else if bad {
			want = true
		}
		got, err := nodeOptions(t, affinityOf(profile)).WouldHelp(p, object(old), object(new))
		require.Equal(t, bad, err != nil, "seed %d", seed)
		require.Equal(t, want, got, "seed %d", seed)
	}
}
