package diagnose

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// team gives a random pod an owner with pods that run and pods that wait, and lets pods of others wait. Half of the clusters have the taint
// of an agent on some nodes.
func team(b *testkit.Bytes, o *cluster.Objects, pod *v1.Pod) (pending []*v1.Pod) {
	kind := testkit.Pick(b, "ReplicaSet", "ReplicaSet", "StatefulSet", "Job", "")
	owned := func(p *v1.Pod, revision string) {
		api, name := "apps/v1", "own"
		switch kind {
		case "":
			return
		case "Job":
			api = "batch/v1"
		case "ReplicaSet":
			name = "own-" + revision
			p.Labels = map[string]string{"app": pod.Labels["app"], "pod-template-hash": revision}
		}
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: api, Kind: kind, Name: name, Controller: &yes}}
	}
	copied := func(name, revision string) *v1.Pod {
		p := pod.DeepCopy()
		p.Name, p.UID = name, ""
		owned(p, revision)
		return p
	}
	for k := range b.Below(4) {
		p := copied(fmt.Sprintf("own-%d", k), testkit.Pick(b, "b", "b", "a"))
		p.Spec.NodeName = o.Nodes[b.Below(len(o.Nodes))].Name
		if kind != "" {
			o.Pods = append(o.Pods, p)
		}
	}
	for k := range b.Below(3) {
		if p := copied(fmt.Sprintf("own-%d", 4+k), "b"); kind != "" {
			pending = append(pending, p)
		}
	}
	for k := range b.Below(3) {
		pending = append(pending, testkit.Pod(fmt.Sprintf("other-%d", k)).Labels(testkit.Pick(b, "app=a", "app=z")).Request(testkit.Pick(b, "cpu=1", "cpu=3", "cpu=9")).Obj())
	}
	owned(pod, "b")
	pod.Name = "own-7"
	at := b.Below(len(pending) + 1)
	pending = slices.Insert(pending, at, pod)
	if b.OneIn(2) {
		n := o.Nodes[b.Below(len(o.Nodes))]
		r := taintRows[b.Below(len(taintRows))]
		n.Spec.Taints = append(n.Spec.Taints, testkit.Taint(samples(r)[0]+":NoSchedule"))
	}
	return pending
}

// settled gives the pods nodes in their order, own-7 none. It returns the snapshot with them, and the pods that have no node.
func settled(t *testing.T, o cluster.Objects, pending []*v1.Pod) (*cluster.Snapshot, []*v1.Pod) {
	s, err := cluster.New(o)
	require.NoError(t, err)
	placer, err := placement.NewPlacer(s, placement.DefaultProfile())
	require.NoError(t, err)
	var left []*v1.Pod
	for _, p := range pending {
		if d := placer.Decide(p, placement.Options{}); d.Placed() && p.Name != "own-7" {
			require.NoError(t, placer.Assume(p, d))
			continue
		}
		left = append(left, p)
	}
	return s, left
}

// played makes a remedy on the owner, tries all pods that wait in their order, makes the running pods of the owner again when the template
// changes, and returns the node of the pod, how many pods of the owner have nodes, and which pods of others wait. It shares nothing with the
// proof of the remedy but Apply and placement.
func played(t *testing.T, s *cluster.Snapshot, pod *v1.Pod, pending []*v1.Pod, r Remedy) (node string, run int, restarts int, late map[string]bool) {
	late = map[string]bool{}
	mine := func(p *v1.Pod) bool {
		a, b := metav1.GetControllerOf(p), metav1.GetControllerOf(pod)
		return a != nil && b != nil && a.Kind == b.Kind && (a.Name == b.Name || a.Kind == "ReplicaSet") && strings.HasPrefix(p.Name, "own-")
	}
	running := func(s *cluster.Snapshot) (list []*v1.Pod) {
		for _, i := range s.Order() {
			for p := range s.Pods(int(i)) {
				if mine(p) && p.DeletionTimestamp == nil {
					list = append(list, p)
				}
			}
		}
		if metav1.GetControllerOf(pod) != nil && metav1.GetControllerOf(pod).Kind == "StatefulSet" { // the last first
			slices.SortStableFunc(list, func(a, b *v1.Pod) int { return strings.Compare(b.Name, a.Name) })
		}
		return list
	}
	fork := s.Fork()
	edited := func(p *v1.Pod) *v1.Pod {
		q, err := Apply(s.Fork(), p, r.Changes...)
		require.NoError(t, err)
		return q
	}
	old := running(s)
	_, err := Apply(fork, pod, r.Changes...)
	require.NoError(t, err)
	placer, err := placement.NewPlacer(fork, placement.DefaultProfile())
	require.NoError(t, err)
	for _, p := range pending {
		if fork.Pod(p.Namespace, p.Name) != nil {
			continue // the remedy has given it a node
		}
		q := p
		if p == pod || mine(p) {
			q = edited(p)
		}
		if len(q.Spec.SchedulingGates) > 0 {
			continue
		}
		if d := placer.Decide(q, placement.Options{}); d.Placed() {
			require.NoError(t, placer.Assume(q, d))
			if p == pod || mine(p) {
				run++
			}
			if p == pod {
				node = d.Node
			}
		} else if !mine(p) {
			late[p.Name] = true
		}
	}
	template := slices.ContainsFunc(r.Changes, func(c Change) bool {
		return c.edit != nil && !c.Again && (strings.HasPrefix(c.Object, "Deployment") || strings.HasPrefix(c.Object, "StatefulSet"))
	})
	for _, p := range old {
		deleted := template && slices.ContainsFunc(r.Changes, func(c Change) bool { return c.Kind == Prefer && slices.Contains(c.remove, p) })
		if deleted {
			restarts++
			again := edited(unplaced(p))
			if d := placer.Decide(again, placement.Options{}); d.Placed() {
				require.NoError(t, placer.Assume(again, d))
				run++
			}
			continue
		}
		if fork.Pod(p.Namespace, p.Name) != p { // it has moved
			if fork.Pod(p.Namespace, p.Name) != nil {
				run++
			}
			continue
		}
		run++
		if !template {
			continue
		}
		restarts++
		again := p.DeepCopy()
		again.Spec.NodeName = ""
		require.NoError(t, fork.Remove(p))
		again = edited(again)
		if d := placer.Decide(again, placement.Options{}); d.Placed() {
			require.NoError(t, placer.Assume(again, d))
		} else {
			run--
		}
	}
	return node, run, restarts, late
}

// runsOf returns how many pods of the owner of a pod run.
func runsOf(s *cluster.Snapshot, pod *v1.Pod) (n int) {
	for _, i := range s.Order() {
		for p := range s.Pods(int(i)) {
			a, b := metav1.GetControllerOf(p), metav1.GetControllerOf(pod)
			if a != nil && b != nil && a.Kind == b.Kind && (a.Name == b.Name || a.Kind == "ReplicaSet") && strings.HasPrefix(p.Name, "own-") {
				n++
			}
		}
	}
	return n
}

var remedyClusters = flag.Int("remedies", 350, "random clusters of TestRemedies")

// latecomers returns the pods that a remedy says then wait, and how many more there are.
func latecomers(r Remedy) (names []string, more int) {
	for _, text := range r.Also {
		list, is := strings.CutSuffix(strings.TrimSuffix(text, "s"), " then wait")
		if !is || strings.Contains(list, "/own") {
			continue // a pod of the owner counts in Run
		}
		for _, name := range strings.Split(strings.ReplaceAll(list, " and ", ", "), ", ") {
			if number, is := strings.CutSuffix(name, " more"); is {
				more = must.Get(strconv.Atoi(number))
				continue
			}
			names = append(names, strings.TrimPrefix(name, "default/"))
		}
	}
	return names, more
}

// Every remedy reaches its goal and its count when it is made on the owner and all pods are decided again; nothing that advice forbids is in
// one; and every node that a first sentence names is in the input. A broken node more changes no first remedy but to the end of its
// state.
func TestRemedies(t *testing.T) {
	tried, crowds, kinds, restarted, waiting := 0, 0, map[Kind]int{}, 0, 0
	names := regexp.MustCompile(`\b(n\d+|copy-\d)\b`)
	for seed := range uint64(testkit.Rounds(*remedyClusters)) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+4e6, 500))
		o, pod := random(b)
		o.PodDisruptionBudgets = randomBudgets(b)
		pending := team(b, &o, pod)
		s, left := settled(t, o, pending)
		if seed%3 == 0 { // pods of others have not been tried
			var err error
			s, err = cluster.New(o)
			require.NoError(t, err)
			for k := range 3 {
				pending = append(pending, testkit.Pod(fmt.Sprintf("other-%d", 7+k)).Request("cpu=1").Obj())
			}
			left = pending
		}
		d, err := Relax(Input{Snapshot: s, Pending: left}, pod, Options{Size: 2})
		require.NoError(t, err)
		if d.Node != "" {
			continue
		}
		for _, name := range names.FindAllString(d.Cause.Text, -1) {
			require.GreaterOrEqual(t, s.Slot(name), 0, "seed %d: %s", seed, d.Cause.Text)
		}
		require.LessOrEqual(t, len(d.Remedies), 3)
		for k, r := range d.Remedies {
			tried++
			for _, c := range r.Changes {
				kinds[c.Kind]++
				if c.Kind == LowerRequest || c.Kind == LowerCount {
					require.GreaterOrEqual(t, 2*c.value.v, c.value.from, "seed %d: %s", seed, r.Text)
				}
				for _, row := range taintRows {
					if row.kind == agent || row.kind == provider {
						require.False(t, (c.Kind == Tolerate || c.Kind == Untaint) && forbidden(c.Text(), samples(row)[0]), "seed %d: %s", seed, r.Text)
					}
				}
			}
			if r.Of > 1 {
				crowds++
				if r.Changes[0].Kind != Scale && r.Changes[0].Kind != Strategy {
					require.Greater(t, r.Run, runsOf(s, pod), "seed %d: %s", seed, r.Text)
				}
			}
			if k > 0 && r.Run == r.Of && (d.Remedies[k-1].Run < d.Remedies[k-1].Of) {
				t.Errorf("seed %d: %s is behind %s", seed, r.Text, d.Remedies[k-1].Text)
			}
			if r.Changes[0].Kind == Scale || r.Changes[0].Kind == Strategy {
				continue // TestScale, TestStrategy
			}
			node, run, restarts, late := played(t, s, pod, left, r)
			_, _, _, before := played(t, s, pod, left, Remedy{})
			told, more := latecomers(r)
			for name := range late {
				if before[name] {
					require.NotContains(t, told, name, "seed %d: %s", seed, r.Text)
				} else {
					waiting++
					more--
				}
			}
			for _, name := range told {
				require.True(t, late[name], "seed %d: %s", seed, r.Text)
				more++
			}
			require.Zero(t, more, "seed %d: %s", seed, r.Text)
			require.NotEmpty(t, node, "seed %d: %s", seed, r.Text)
			require.Equal(t, r.Node, node, "seed %d: %s", seed, r.Text)
			require.Equal(t, r.Run, run, "seed %d: %s", seed, r.Text)
			if restarts > 0 {
				restarted++
				require.Contains(t, r.Text, fmt.Sprintf("%d pod", restarts), "seed %d", seed)
			} else {
				require.NotContains(t, r.Text, " restart", "seed %d", seed)
			}
		}
		if seed%4 == 0 && len(d.Remedies) > 0 && len(pod.Spec.TopologySpreadConstraints) == 0 { // a node more is a domain more
			harmed(t, o, s, left, pod, d, seed)
		}
	}
	t.Log(tried, crowds, restarted, waiting, kinds)
	require.Greater(t, tried, testkit.Rounds(150))
	require.Greater(t, crowds, testkit.Rounds(150))
	require.Greater(t, restarted, testkit.Rounds(30))
	require.Greater(t, waiting, testkit.Rounds(5))
}

// harmed holds that a broken node more changes no first remedy, unless to the end of its state or to one more node.
func harmed(t *testing.T, o cluster.Objects, s *cluster.Snapshot, left []*v1.Pod, pod *v1.Pod, before *Diagnosis, seed uint64) {
	for _, row := range taintRows {
		if row.kind != agent || row.of == causeReserved {
			continue
		}
		fork := s.Fork()
		n := o.Nodes[0].DeepCopy()
		n.Name, n.UID = "zzz", ""
		n.Spec.Taints = append(n.Spec.Taints, testkit.Taint(samples(row)[0]+":NoSchedule"))
		n.Labels[v1.LabelHostname] = "zzz"
		require.NoError(t, fork.Set(n))
		after, err := Relax(Input{Snapshot: fork, Pending: left}, pod, Options{Size: 2})
		require.NoError(t, err)
		if slices.ContainsFunc(before.Remedies[0].Changes, func(c Change) bool { return c.Kind == Recover }) {
			continue
		}
		require.NotEmpty(t, after.Remedies, "seed %d %s: %s\n%v\n%v\n%v", seed, samples(row)[0], before.Remedies[0].Text, after.Dropped, after.Relaxations, after.Cause)
		a, b := before.Remedies[0], after.Remedies[0]
		kinds := func(r Remedy) (out []Kind) {
			for _, c := range r.Changes {
				out = append(out, c.Kind)
			}
			return out
		}
		if b.Changes[0].Kind == Recover || a.Text == b.Text || len(b.Changes) == 1 && b.Changes[0].Kind == AddNode { // labels that two nodes share make another model
			continue
		}
		require.Equal(t, kinds(a), kinds(b), "seed %d %s: %s\n%s\n%s\n%s", seed, samples(row)[0], a.Text, b.Text, before.Cause.Text, after.Cause.Text)
	}
}
