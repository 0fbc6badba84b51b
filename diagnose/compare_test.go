package diagnose

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// The parts add up to the totals; at the ends of the range of each weight the choice stays, and one step beyond it changes.
func TestCompare(t *testing.T) {
	nodes := five()[:3]
	nodes[1].Spec.Taints = testkit.Taints("old:PreferNoSchedule")
	pods := []*v1.Pod{running("a1", "n2", "cpu=500m,memory=1Gi"), running("b1", "n3", "cpu=2,memory=1Gi")}
	pod := testkit.Pod("web").Request("cpu=1,memory=1Gi").Obj()
	s, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: pods})
	require.NoError(t, err)
	c, err := Compare(Input{Snapshot: s}, pod, "n2")
	require.NoError(t, err)
	require.Equal(t, "n1", c.Chosen)
	chosen, other := int64(0), int64(0)
	for _, p := range c.Parts {
		chosen, other = chosen+p.Weight*p.Chosen, other+p.Weight*p.Other
		require.True(t, p.Least <= p.Weight && (p.Most < 0 || p.Most >= p.Weight), p.Plugin)
		for w, same := range map[int64]bool{p.Least: true, p.Least - 1: false, p.Most: true, p.Most + 1: false} {
			if w < 1 || p.Most < 0 && w <= 0 {
				continue
			}
			profile := placement.DefaultProfile()
			for i := range profile.Scores {
				if profile.Scores[i].Name == p.Plugin {
					profile.Scores[i].Weight = w
				}
			}
			plan, err := placement.New(s, profile)
			require.NoError(t, err)
			require.Equal(t, same, plan.Decide(pod, placement.Options{}).Node == c.Chosen, "%s %d", p.Plugin, w)
		}
	}
	require.Equal(t, [2]int64{c.ChosenTotal, c.OtherTotal}, [2]int64{chosen, other})
	for _, bad := range []struct{ other, want string }{{"n9", "no such node"}, {"n1", "is the node of the decision"}} {
		_, err := Compare(Input{Snapshot: s}, pod, bad.other)
		require.ErrorContains(t, err, bad.want)
	}
	_, err = Compare(Input{Snapshot: s}, testkit.Pod("big").Request("cpu=9").Obj(), "n2")
	require.ErrorContains(t, err, "has no node")
	_, err = Compare(Input{Snapshot: s}, testkit.Pod("three").Request("cpu=3").Obj(), "n3")
	require.ErrorContains(t, err, "NodeResourcesFit rejects the pod")
	_, err = Compare(Input{}, pod, "n2")
	require.ErrorIs(t, err, cluster.ErrNoSnapshot)
}

// Single changes that let the other node win: a taint less, a pod less, an image, a label.
func TestFlips(t *testing.T) {
	nodes := five()[:2]
	nodes[1].Spec.Taints = testkit.Taints("old:PreferNoSchedule")
	pod := testkit.Pod("web").Request("cpu=1,memory=1Gi").Obj()
	s, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: []*v1.Pod{running("a1", "n1", "cpu=500m,memory=1Gi")}})
	require.NoError(t, err)
	c, err := Compare(Input{Snapshot: s}, pod, "n2")
	require.NoError(t, err)
	require.Equal(t, []string{"weight of NodeResourcesFit from 1 to 24", "remove the taint old:PreferNoSchedule"}, flipTexts(c))
	s, err = cluster.New(cluster.Objects{Nodes: five()[:2], Pods: []*v1.Pod{running("a1", "n2", "cpu=500m,memory=1Gi"), running("b1", "n1", "cpu=100m,memory=100Mi")}})
	require.NoError(t, err)
	c, err = Compare(Input{Snapshot: s}, pod, "n2")
	require.NoError(t, err)
	require.Equal(t, []string{"move default/a1 from n2 to n1"}, flipTexts(c))
	require.Equal(t, "Pod default/a1", c.Flips[0].Object)
	for _, bad := range []struct {
		s    *cluster.Snapshot
		pod  *v1.Pod
		flip Flip
		want string
	}{{nil, pod, c.Flips[0], "the input has no snapshot"}, {s, nil, c.Flips[0], "pod: Required value"}, {s, pod, Flip{Kind: "pod"}, "is no flip of a Comparison"}} {
		_, err := ApplyFlip(bad.s, bad.pod, bad.flip)
		require.ErrorContains(t, err, bad.want)
	}
}

func flipTexts(c *Comparison) (out []string) {
	for _, f := range c.Flips {
		out = append(out, f.Text)
	}
	return out
}

// Known ends of running pods: the pod is placed after the end that makes room.
func TestWake(t *testing.T) {
	at := func(seconds int) metav1.Time {
		return metav1.NewTime(testkit.Epoch.Add(time.Duration(seconds) * time.Second))
	}
	leaving, deadline, tainted, done := running("a1", "n1", "cpu=1"), running("b1", "n1", "cpu=1"), running("c1", "n2", "cpu=4"), running("d1", "n1", "cpu=2")
	gone := at(30)
	leaving.DeletionTimestamp = &gone
	start, sixty := at(0), int64(60)
	deadline.Status.StartTime, deadline.Spec.ActiveDeadlineSeconds = &start, &sixty
	nodes := five()[:2]
	nodes[1].Spec.Taints = []v1.Taint{{Key: "old", Effect: v1.TaintEffectNoExecute, TimeAdded: &start}}
	tainted.Spec.Tolerations = []v1.Toleration{{Key: "old", Operator: v1.TolerationOpExists, TolerationSeconds: &sixty}}
	s, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: []*v1.Pod{leaving, deadline, tainted, done}})
	require.NoError(t, err)
	completes := func(p *v1.Pod) (time.Time, bool) { return at(90).Time, p == done }
	o, err := Wake(Input{Snapshot: s}, testkit.Pod("web").Request("cpu=3").Obj(), WakeOptions{Completes: completes})
	require.NoError(t, err)
	require.Equal(t, at(90).Time, *o.At)
	require.Equal(t, "n1", o.Node)
	var whys []string
	for _, e := range o.Ends {
		whys = append(whys, e.Why)
	}
	require.Equal(t, []string{"grace", "deadline", "taint", "completion"}, whys)
	require.True(t, o.Ends[0].Wakes)
	require.NotEmpty(t, o.Events)
	asked := 0
	o, err = Wake(Input{Snapshot: s}, testkit.Pod("web").Request("cpu=3").Obj(), WakeOptions{Completes: completes, Stop: func() bool { asked++; return asked == 3 }})
	require.NoError(t, err)
	require.Equal(t, "stop", o.Cut, "two ends were tried")
	require.Len(t, o.Ends, 2)
	require.Nil(t, o.At)
	o, err = Wake(Input{Snapshot: s}, testkit.Pod("web").Request("cpu=3").Obj(), WakeOptions{})
	require.NoError(t, err)
	require.Nil(t, o.At)
	require.Empty(t, o.Cut)
	gated := testkit.Pod("gated").Obj()
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}}
	o, err = Wake(Input{Snapshot: s}, gated, WakeOptions{})
	require.NoError(t, err)
	require.Equal(t, &Outlook{Pod: "default/gated", Events: []WakeEvent{{"SchedulingGates", "TargetPodUpdatePodSchedulingGatesEliminated"}}, Ends: []End{}}, o)
	_, err = Wake(Input{}, testkit.Pod("web").Obj(), WakeOptions{})
	require.ErrorIs(t, err, cluster.ErrNoSnapshot)
}

// A pod leaves because of a taint when a toleration with seconds tolerates the taint, by the rule of package taints.
func TestWakeByTaint(t *testing.T) {
	start, sixty := metav1.NewTime(testkit.Epoch), int64(60)
	nodes := five()[:1]
	nodes[0].Spec.Taints = []v1.Taint{{Key: "old", Value: "yes", Effect: v1.TaintEffectNoExecute, TimeAdded: &start}}
	type test struct {
		name, why  string
		toleration v1.Toleration
		ends       int
	}
	testkit.Run(t, []test{
		{"every taint", "a toleration without a key tolerates all keys", v1.Toleration{Operator: v1.TolerationOpExists}, 1},
		{"equal value", "the values agree", v1.Toleration{Key: "old", Operator: v1.TolerationOpEqual, Value: "yes"}, 1},
		{"another value", "the toleration is of another taint", v1.Toleration{Key: "old", Operator: v1.TolerationOpEqual, Value: "no"}, 0},
		{"another effect", "the toleration is of another taint", v1.Toleration{Key: "old", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}, 0},
	}, func(t *testing.T, c test) {
		c.toleration.TolerationSeconds = &sixty
		p := running("a1", "n1", "cpu=4")
		p.Spec.Tolerations = []v1.Toleration{c.toleration}
		s, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: []*v1.Pod{p}})
		require.NoError(t, err)
		o, err := Wake(Input{Snapshot: s}, testkit.Pod("web").Request("cpu=3").Obj(), WakeOptions{})
		require.NoError(t, err)
		require.Len(t, o.Ends, c.ends)
	})
}
