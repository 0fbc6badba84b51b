package lint

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/fixes"
)

// A fix names another label only when the wrong one most likely means it. Otherwise the explanation says what nodes have, and no fix names it.
func TestLabelsThatAreMeant(t *testing.T) {
	match := func(key string, op v1.NodeSelectorOperator, values ...string) []v1.NodeSelectorTerm {
		return []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}}
	}
	affinity := func(w *world, terms ...v1.NodeSelectorTerm) {
		w.pod.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms}}}
	}
	prefer := func(w *world, term v1.NodeSelectorTerm) {
		w.pod.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1, Preference: term}}}}
	}
	type test struct {
		name, rule  string
		fires       func(w *world)
		says, fixed string
	}
	testkit.Run(t, []test{
		{"a value", "no-node-matches", func(w *world) { w.pod.NodeSelector = map[string]string{"disk": "sssd"} },
			"none of 5 nodes matches: no node has disk=sssd, near: ssd", "use disk=ssd in the place of disk=sssd"},
		{"a value between two", "no-node-matches", func(w *world) { w.pod.NodeSelector = map[string]string{"disk": "sdd"} },
			"none of 5 nodes matches: no node has disk=sdd; nodes have hdd, ssd", "add a node that matches"},
		{"another value", "no-node-matches", func(w *world) { w.pod.NodeSelector = map[string]string{"disk": "nvme"} },
			"none of 5 nodes matches: no node has disk=nvme; nodes have hdd, ssd", "add a node that matches"},
		{"a zone that is none", "no-node-matches", func(w *world) { w.pod.NodeSelector = map[string]string{zone: "d"} },
			"none of 5 nodes matches: no node has topology.kubernetes.io/zone=d; nodes have a, b, c", "add a node that matches"},
		{"a key", "no-node-matches", func(w *world) { w.pod.NodeSelector = map[string]string{"Disk": "ssd"} },
			"none of 5 nodes matches: no node has the label Disk, near: disk", "use disk=ssd in the place of Disk"},
		{"another key", "no-node-matches", func(w *world) { w.pod.NodeSelector = map[string]string{"gpu": "a100"} },
			"none of 5 nodes matches: no node has the label gpu; nodes have disk, kubernetes.io/hostname, topology.kubernetes.io/zone", "add a node that matches"},
		{"a key without a value", "no-node-matches", func(w *world) { affinity(w, match("disks", v1.NodeSelectorOpExists)...) },
			"none of 5 nodes matches: no node has the label disks, near: disk", "use disk in the place of disks"},
		{"an old key of affinity", "no-node-matches", func(w *world) {
			affinity(w, match(v1.LabelFailureDomainBetaZone, v1.NodeSelectorOpIn, "a", "b")...)
		}, "none of 5 nodes matches: no node has the label failure-domain.beta.kubernetes.io/zone, near: topology.kubernetes.io/zone",
			"use topology.kubernetes.io/zone in the place of failure-domain.beta.kubernetes.io/zone"},
		{"one of two terms", "term-matches-nothing", func(w *world) {
			affinity(w, append(match("disk", v1.NodeSelectorOpIn, "hdd"), match("disk", v1.NodeSelectorOpIn, "SSD")...)...)
		}, "none of 5 nodes matches the term", "use disk=ssd in the place of disk=SSD"},
		{"one of two terms, another value", "term-matches-nothing", func(w *world) {
			affinity(w, append(match("disk", v1.NodeSelectorOpIn, "hdd"), match("disk", v1.NodeSelectorOpIn, "nvme")...)...)
		}, "none of 5 nodes matches the term", "drop the term"},
		{"a preference", "preferred-node-none", func(w *world) { prefer(w, match("disk", v1.NodeSelectorOpIn, "sssd")[0]) }, "0 of 5 nodes match", "use disk=ssd in the place of disk=sssd"},
		{"a preference for another value", "preferred-node-none", func(w *world) { prefer(w, match("disk", v1.NodeSelectorOpIn, "nvme")[0]) }, "0 of 5 nodes match", "drop the term"},
		{"a preference of all nodes", "preferred-node-all", func(w *world) { prefer(w, match("disk", v1.NodeSelectorOpExists)[0]) }, "5 of 5 nodes match", "drop the term"},
		{"another topology key", "spread-key-missing", func(w *world) { w.spread(1, "rack", v1.DoNotSchedule, "web") },
			"no node has the label rack; nodes have disk, kubernetes.io/hostname, topology.kubernetes.io/zone", "drop the constraint"},
		{"an old topology key", "spread-key-missing", func(w *world) { w.spread(1, v1.LabelFailureDomainBetaZone, v1.DoNotSchedule, "web") },
			"no node has the label failure-domain.beta.kubernetes.io/zone, near: topology.kubernetes.io/zone", "use topology.kubernetes.io/zone as topologyKey"},
	}, func(t *testing.T, c test) {
		draw := func() *Input {
			w := newWorld()
			for i, n := range w.objs.Nodes {
				n.Labels["disk"] = []string{"ssd", "hdd"}[i%2]
			}
			c.fires(w)
			return &w.in
		}
		all, err := Check(*draw())
		require.NoError(t, err)
		i := slices.IndexFunc(all, func(f Finding) bool { return f.Rule == c.rule })
		require.GreaterOrEqual(t, i, 0, "%v", all)
		require.Equal(t, c.says, all[i].Explanation)
		require.Equal(t, c.fixed, all[i].Fix)
		fixes.Law(t, draw, said(t), true, map[string]int{})
	})
}

// A text names three of many values.
func TestManyLabels(t *testing.T) {
	w := newWorld()
	for i, n := range w.objs.Nodes {
		n.Labels["pool"] = []string{"batch", "", "general", "memory", "web"}[i]
	}
	w.pod.NodeSelector = map[string]string{"pool": "gpu"}
	require.Equal(t, `none of 5 nodes matches: no node has pool=gpu; nodes have "", batch, general and 2 more`, of(t, w, "no-node-matches")[0].Explanation)
}
