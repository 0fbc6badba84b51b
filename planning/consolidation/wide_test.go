package consolidation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/spread"
)

// wide adds to a random cluster what else holds nodes, restricts pods, or changes what counts.
func wide(b *testkit.Bytes) *world {
	w := random(b)
	w.objects.StorageClasses = []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Provisioner: "disk.example.com", VolumeBindingMode: ptr(storagev1.VolumeBindingWaitForFirstConsumer)}}
	for k, n := range w.objects.Nodes {
		if b.OneIn(4) {
			n.Labels["pool"] = testkit.Pick(b, "x", "y")
		}
		if b.OneIn(6) {
			delete(n.Labels, v1.LabelTopologyZone)
		}
		if b.OneIn(6) {
			n.Spec.Taints = testkit.Taints(testkit.Pick(b, "team=x:NoSchedule", "team=x:NoExecute", "soft:PreferNoSchedule"))
		}
		if b.OneIn(3) {
			n.Status.Allocatable["example.com/gpu"] = testkit.Resources(testkit.Pick(b, "a=2", "a=4"))["a"]
		}
		switch b.Below(10) {
		case 0:
			w.objects.Nodes[k].Annotations = map[string]string{"owner": "x"}
		case 1:
			n.Labels[""] = "" // not valid, and nothing reads it
		case 2:
			n.Status.Allocatable[v1.ResourceMemory] = resource.MustParse("1Gi") // pods may ask for more
		}
	}
	for _, pod := range w.objects.Pods {
		changePod(b, w, pod)
	}
	if b.OneIn(3) {
		w.in.HoldNode = func(n *v1.Node) string {
			if n.Name == "n1" {
				return "held"
			}
			return ""
		}
	}
	if b.OneIn(3) {
		w.in.Hold = HeldByAnnotation
	}
	w.in.EmptyDirs = b.OneIn(2)
	for _, pdb := range w.objects.PodDisruptionBudgets {
		if n := testkit.Pick(b, intstr.FromInt32(1), intstr.FromString("50%")); b.OneIn(3) {
			pdb.Spec.MinAvailable, pdb.Spec.MaxUnavailable = nil, &n
		}
	}
	if len(w.objects.ReplicaSets) > 0 && b.OneIn(3) {
		r := w.objects.ReplicaSets[0]
		if b.OneIn(2) {
			w.objects.ReplicaSets = w.objects.ReplicaSets[1:] // its pods have a controller that is not among the objects
		} else {
			r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "d", Controller: ptr(true)}}
			w.in.Deployments = []*appsv1.Deployment{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d", UID: types.UID("d")}, Spec: appsv1.DeploymentSpec{Replicas: testkit.Pick(b, nil, ptr(int32(2)), ptr(int32(4)))}}}
		}
	}
	switch b.Below(5) {
	case 0:
		w.in.Price, w.in.Defragment = nil, testkit.Pick[v1.ResourceName](b, "cpu", "example.com/gpu", "example.com/none")
	case 1, 2:
		for k := range 1 + b.Below(2) {
			node := testkit.Node(fmt.Sprint("type", k)).Zone(testkit.Pick(b, "a", "b")).Capacity(testkit.Pick(b, "cpu=6,memory=16Gi", "cpu=16,memory=64Gi", "cpu=3,memory=4Gi"))
			if b.OneIn(4) {
				node = node.Taint("team=x:NoSchedule")
			}
			w.in.Types = append(w.in.Types, Type{Node: node.Obj(), Price: int64(b.Below(4)), Most: b.Below(4) - 1})
		}
		w.in.DaemonSets = []*appsv1.DaemonSet{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"},
			Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}, Template: template("agent", "cpu=1,memory=1Gi", nil)},
		}}
	case 3:
		w.in.Price = nil
	}
	return w
}

// read returns the input over a snapshot of which some have free slots, and a profile of which some lack filters.
func (w *world) read(t *testing.T, b *testkit.Bytes) Input {
	first := b.OneIn(6)
	nodes := w.objects.Nodes
	if first {
		w.objects.Nodes = append([]*v1.Node{testkit.Node("first").Capacity("cpu=1").Obj()}, nodes...)
	}
	s, err := cluster.New(w.objects)
	require.NoError(t, err)
	if first {
		require.NoError(t, s.Remove(w.objects.Nodes[0]))
		w.objects.Nodes = nodes
	}
	if b.OneIn(3) {
		gone := testkit.Node("gone").Zone("a").Capacity("cpu=8,memory=8Gi").Obj()
		require.NoError(t, s.Set(gone))
		if b.OneIn(2) {
			require.NoError(t, s.Set(testkit.Node("last").Zone("b").Capacity("cpu=8,memory=8Gi").Obj()))
		}
		require.NoError(t, s.Remove(gone))
	}
	w.in.Snapshot, w.in.Now = s, testkit.Epoch
	switch b.Below(12) {
	case 0:
		defaults := spread.Options{Defaults: spread.Defaults{Constraints: []v1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule}}}}
		w.in.Profile = placement.PluginArgs{PodTopologySpread: defaults}.Profile()
	case 1, 2:
		w.in.Profile = placement.DefaultProfile()
		without := testkit.Pick(b, "PodTopologySpread", "InterPodAffinity", "TaintToleration", "NodeAffinity", "NodeUnschedulable")
		w.in.Profile.Filters = slices.DeleteFunc(w.in.Profile.Filters, func(f *placement.Plugin) bool { return f.Name == without })
	}
	return w.in
}

// changePod gives some pods of a workload what holds them, binds them to nodes or lets another rule count them.
func changePod(b *testkit.Bytes, w *world, pod *v1.Pod) {
	node := w.objects.Nodes[slices.IndexFunc(w.objects.Nodes, func(n *v1.Node) bool { return n.Name == pod.Spec.NodeName })]
	s := &pod.Spec
	switch b.Below(24) {
	case 0:
		pod.Annotations = map[string]string{testkit.Pick(b, "cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/do-not-disrupt"): testkit.Pick(b, "false", "true")}
	case 1:
		s.Volumes = []v1.Volume{{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	case 2:
		s.SchedulerName = "other"
	case 3:
		pod.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
	case 4, 5:
		if pool, ok := node.Labels["pool"]; ok {
			s.NodeSelector = map[string]string{"pool": pool}
		}
	case 6, 7, 8:
		s.Tolerations = []v1.Toleration{testkit.Pick(b, v1.Toleration{Key: "team", Operator: v1.TolerationOpExists}, v1.Toleration{Operator: v1.TolerationOpExists},
			v1.Toleration{Key: "team", Value: testkit.Pick(b, "x", "y")}, v1.Toleration{Key: "team", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule})}
	case 9, 10:
		s.Containers[0].Resources.Requests["example.com/gpu"] = testkit.Resources("a=1")["a"]
		s.Containers[0].Resources.Limits = v1.ResourceList{"example.com/gpu": s.Containers[0].Resources.Requests["example.com/gpu"]}
	case 11:
		if s.Affinity == nil {
			s.Affinity = &v1.Affinity{}
		}
		s.Affinity.NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
			{}, {MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{"a", "b"}}}}}}}
	case 12:
		s.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{}, PodAntiAffinity: &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: testkit.Term(v1.LabelHostname, "app=app0")}}}}
	case 13:
		pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"}
	case 14:
		spec := v1.PersistentVolumeClaimSpec{AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Resources: v1.VolumeResourceRequirements{Requests: testkit.Resources("storage=1Gi")}}
		if b.OneIn(2) {
			spec.StorageClassName = ptr("disk")
		}
		s.Volumes = []v1.Volume{{Name: "scratch", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{Spec: spec}}}}}
	case 17:
		if a := s.Affinity; a != nil && a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].Namespaces = []string{"default", "other"}
		}
	case 15, 16:
		for k := range s.TopologySpreadConstraints {
			c := &s.TopologySpreadConstraints[k]
			switch b.Below(7) {
			case 0:
				c.MaxSkew = 2
			case 1:
				c.MinDomains = ptr(int32(1 + b.Below(3)))
			case 2:
				c.NodeTaintsPolicy = ptr(v1.NodeInclusionPolicyHonor)
			case 3:
				c.WhenUnsatisfiable = v1.ScheduleAnyway
			case 4:
				c.MatchLabelKeys = []string{"app"}
			case 5:
				c.NodeTaintsPolicy = ptr(v1.NodeInclusionPolicyIgnore)
			case 6:
				soft := *c
				soft.TopologyKey, soft.WhenUnsatisfiable = v1.LabelHostname, v1.ScheduleAnyway
				s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, soft)
			}
		}
	}
}

// counted returns a profile whose filters are counted each time they look at a pod.
func counted(p placement.Profile, n *int) placement.Profile {
	if len(p.Filters) == 0 {
		p = placement.DefaultProfile()
	}
	p.Filters = append(slices.Clone(p.Filters), &placement.Plugin{Name: "Counted", Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
		*n++
		return placement.PreFiltered{Code: filter.Skip}
	}})
	return p
}

// anyChoice takes nodes to empty and places for their pods without a look at rules and room.
func anyChoice(b *testkit.Bytes, p *Planner) choice {
	c := choice{target: map[int32]int32{}}
	var stay []int32
	for i := range p.nodes {
		switch n := &p.nodes[i]; {
		case n.object == nil:
		case n.kind != nil:
			if b.OneIn(4) {
				c.add, stay = append(c.add, i), append(stay, int32(i))
			}
		case n.held == "" && b.OneIn(2):
			c.nodes = append(c.nodes, i)
		default:
			stay = append(stay, int32(i))
		}
	}
	for _, i := range c.nodes {
		for _, id := range p.nodes[i].loads {
			if len(stay) > 0 && !b.OneIn(4) {
				c.target[id] = stay[b.Below(len(stay))]
			}
		}
	}
	return c
}

// The plans for clusters with every rule that a planner knows, in short: the costs, the steps, and a hash of all that is said and of what
// the planner read.
func TestEveryRule(t *testing.T) {
	var out strings.Builder
	emptied, above := 0, 0
	for seed := range uint64(250) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+8e6, 300))
		w := wide(b)
		in, asked := w.read(t, b), 0
		if seed%2 == 0 {
			in.Profile = counted(in.Profile, &asked)
		}
		p, err := New(in)
		require.NoError(t, err)
		h := testkit.Hash32(t, seed)
		for i := range p.loads {
			l := &p.loads[i]
			fmt.Fprintf(h, "%s %s %d %s %v %.6f %q %d %v %t\n", l.old.Name, l.fresh.Name, l.slot, l.way, l.asks, l.size, l.shape, l.kind, l.groups, l.claims)
		}
		for i := range p.nodes {
			for _, pod := range p.nodes[i].tied {
				fmt.Fprintln(h, pod.Name, pod.Spec.NodeName)
			}
		}
		for _, k := range p.kinds {
			fmt.Fprintf(h, "%v %v %t %t %v\n", k.at, k.broken, k.hard == nil, k.pods == nil, k.rep.Spec.Affinity)
		}
		x := &bounder{Planner: p, schema: p.base.Schema().Len()}
		x.read()
		bounds := []int64{x.held, x.divisor, x.cover(nil, nil), x.restricted(), x.domains(), x.spreads()}
		fmt.Fprintln(h, p.ranks(), bounds, x.offers, x.asks)
		o := Options{Steps: 30, Seed: seed, MaxMoves: max(0, b.Below(12)-4)}
		o.Improved = func(progress Progress) { fmt.Fprintln(h, progress) }
		if stops := 0; b.OneIn(6) {
			o.Stop = func() bool { stops++; return stops > 10 }
		}
		plan, err := p.Plan(o)
		require.NoError(t, err)
		one, err := p.Step(o)
		require.NoError(t, err)
		again, err := p.Replay(plan)
		require.NoError(t, err)
		blind := p.order(anyChoice(b, p))
		for _, plan := range []*Plan{plan, one, blind} {
			fmt.Fprintln(h, plan.Before, plan.After, plan.Bound, plan.Steps, plan.Gap(), plan.Moves(), plan.Nodes)
			for _, wave := range plan.Waves {
				for _, m := range wave {
					fmt.Fprintln(h, m.Pod.Name, m.New.Name, m.New.UID, m.From, m.To, m.Way, m.Chosen, m.Budgets, m.Pin())
				}
			}
			for _, k := range plan.Kept {
				fmt.Fprintln(h, k.Node, k.Reason, k.Pod != nil)
			}
			for _, a := range plan.Added {
				fmt.Fprintln(h, a.Type, a.Price, a.Node.Name, slices.Sorted(maps.Keys(a.Node.Labels)))
			}
		}
		fmt.Fprintln(h, again.Same, again.Nodes, len(again.Pending))
		if len(plan.Nodes) > 0 {
			emptied++
		}
		if plan.After > plan.Bound {
			above++
		}
		fmt.Fprintf(&out, "%d: from %d to %d in %d steps, filters asked %d times, bounds %v, %d moves, %08x\n", seed, plan.Before, plan.After, plan.Steps, asked, bounds, plan.Moves(), h.Sum32())
	}
	require.Greater(t, emptied, 100)
	require.Greater(t, above, 50)
	testkit.Golden(t, "testdata/every_rule.txt", out.String())
}

// The plans for clusters that are full but for a little, where nodes are emptied by trades, in short. A third of the pods also ask
// for memory, of which some nodes have too little, and some ask for nothing.
func TestEveryTrade(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(40) {
		r, b, asked := rand.New(rand.NewPCG(seed, 53)), testkit.NewBytes(testkit.RandomBytes(seed+9e6, 300)), 0
		w := pack(r, 6+r.IntN(8))
		for _, n := range w.objects.Nodes {
			n.Status.Allocatable["memory"] = resource.MustParse(testkit.Pick(b, "16Gi", "16Gi", "1Gi"))
		}
		for k, pod := range w.objects.Pods {
			if b.OneIn(20) {
				delete(pod.Spec.Containers[0].Resources.Requests, "cpu")
			}
			if k%3 == 0 {
				pod.Spec.Containers[0].Resources.Requests["memory"] = *resource.NewQuantity(int64(1+r.IntN(12))<<28, resource.BinarySI)
			}
		}
		if seed%4 == 0 {
			w.in.Price = func(n *v1.Node) int64 { return int64(3 + len(n.Name) + int(n.Name[len(n.Name)-1])%3) }
		}
		w.in.Profile = counted(w.in.Profile, &asked)
		h := testkit.Hash32(t, seed)
		o := Options{Steps: 80, Seed: seed, MaxMoves: int(seed%5) * 12, Improved: func(p Progress) { fmt.Fprintln(h, p) }}
		plan := w.plan(t, o)
		fmt.Fprintln(h, lines(plan))
		fmt.Fprintf(&out, "%d: from %d to %d in %d steps, filters asked %d times, bound %d, %d moves, %08x\n", seed, plan.Before, plan.After, plan.Steps, asked, plan.Bound, plan.Moves(), h.Sum32())
	}
	testkit.Golden(t, "testdata/every_trade.txt", out.String())
}
