package diagnose

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/preemption"
)

// Generated clusters with an owner whose new pods a quota, a LimitRange or a missing class refuses: with each printed remedy admission takes as many of
// these pods as the owner has, kube-scheduler gives the first a node, and as many run as the remedy says.
func TestRemediesOfRefusedPods(t *testing.T) {
	k := kube(t)
	want := *remedyClusters
	if want == 0 {
		want = gen.Count(150, 100)
	}
	var refusals, played, crowds int
	kinds := map[diagnose.Kind]int{}
	for seed := *gen.Seed; seed < *gen.Seed+int64(want); seed++ {
		c := gen.Of(seed, gen.Shape{Nodes: 6, Running: 12, Pending: 3, Roomy: seed%2 == 0})
		c.Pending = slices.DeleteFunc(c.Pending, func(p *v1.Pod) bool { return twin(c, p) })
		gen.Team(c, seed)
		for _, p := range c.Pending {
			p.Status.NominatedNodeName = ""
			identify(p)
		}
		refused := gen.Refuse(c, seed)
		if refused == nil {
			continue
		}
		slices.SortStableFunc(c.Pending, func(a, b *v1.Pod) int { return int(preemption.Priority(b) - preemption.Priority(a)) })
		s, err := cluster.New(c.Objects)
		must(t, err)
		_, remedies, err := diagnose.Refused(diagnose.Input{Snapshot: s, Pending: c.Pending, RuntimeClasses: refused.Cluster.RuntimeClasses,
			Accept: refused.Accept}, refused.Pods[0], refused.Text, refused.Pods[1:]...)
		must(t, err)
		refusals++
		for _, r := range remedies {
			if r.Changes[0].Kind == diagnose.Scale {
				continue // the owner has fewer pods then
			}
			for _, x := range r.Changes {
				kinds[x.Kind]++
			}
			p := player{t: t, k: k, c: c, s: s, pod: refused.Pods[0], r: r, seed: seed}
			p.had = p.before()
			p.r.Changes = slices.DeleteFunc(slices.Clone(r.Changes), func(x diagnose.Change) bool { return x.Kind == diagnose.RaiseBudget })
			var again []*v1.Pod
			for _, x := range refused.Pods {
				again = append(again, p.edited(x))
			}
			if err := refused.Accept(again, raised(refused.Quota, r.Changes)); err != nil {
				t.Errorf("seed %d: %s\nof: %s\nadmission refuses a pod: %v", seed, r.Text, refused.Text, err)
			}
			whole := *c
			at := slices.IndexFunc(c.Pending, func(x *v1.Pod) bool { return preemption.Priority(x) < preemption.Priority(again[0]) })
			if at < 0 {
				at = len(c.Pending)
			}
			whole.Pending = slices.Insert(slices.Clone(c.Pending), at, refused.Pods...)
			p.c = &whole
			node, run := p.play()
			played++
			if r.Of > 1 {
				crowds++
			}
			if node == "" || node != r.Node || run != r.Run {
				t.Errorf("seed %d: %s\nof: %s\nkube-scheduler: node %q, %d run", seed, r.Text, refused.Text, node, run)
			}
			for _, name := range p.late {
				if !strings.Contains(r.Text, name) {
					t.Errorf("seed %d: %s: %s has lost its node, and the remedy does not say so", seed, r.Text, name)
				}
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d clusters, %d refusals, %d remedies made, %d of them for several pods; %v", want, refusals, played, crowds, kinds)
	if played < refusals/3 || crowds == 0 {
		t.Error("few remedies: the generator makes other clusters than this test is for")
	}
	for _, kind := range []diagnose.Kind{diagnose.SetRequest, diagnose.LowerRequest, diagnose.RaiseBudget, diagnose.Mend} {
		if kinds[kind] == 0 && want >= 100 {
			t.Errorf("no remedy has a change of the kind %s", kind)
		}
	}
}

// raised returns the hard amounts of a quota after changes; nil for no quota.
func raised(q *v1.ResourceQuota, changes []diagnose.Change) map[string]v1.ResourceList {
	if q == nil {
		return nil
	}
	hard := q.Spec.Hard.DeepCopy()
	for _, x := range changes {
		if x.Kind == diagnose.RaiseBudget {
			hard[v1.ResourceName(strings.TrimSuffix(strings.TrimPrefix(x.Path, "spec.hard["), "]"))] = resource.MustParse(x.To)
		}
	}
	return map[string]v1.ResourceList{q.Name: hard}
}
