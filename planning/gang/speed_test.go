package gang_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/planning/gang"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
)

var large = flag.Int("large", 0, "questions to large clusters; 0: three small ones")

// racks makes a cluster of equal racks that is used in part, and a gang that asks for about what the fullest racks have left, so that many
// answers are close.
func racks(t testing.TB, r *rand.Rand, nodes, racks int) proof.Question {
	var o cluster.Objects
	devices := []int{4, 8, 8, 16}[r.IntN(4)]
	free := map[string]int{} // devices by domain
	for i := range nodes {
		for _, d := range []string{"", fmt.Sprintf("r%d", i%racks), fmt.Sprintf("z%d", i%racks%5)} {
			free[d] += devices
		}
		name := fmt.Sprintf("n%d", i)
		o.Nodes = append(o.Nodes, testkit.Node(name).Capacity(fmt.Sprintf("cpu=%d,memory=512Gi,%s=%d,pods=110", devices*8, gpu, devices)).
			Label(v1.LabelHostname, name).Label("rack", fmt.Sprintf("r%d", i%racks)).Zone(fmt.Sprintf("z%d", i%racks%5)).Obj())
	}
	fill := r.IntN(90)
	for i := range nodes {
		for used, k := 0, 0; used < devices && r.IntN(100) < fill; k++ {
			n := min(1<<r.IntN(4), devices-used)
			used += n
			for _, d := range []string{"", fmt.Sprintf("r%d", i%racks), fmt.Sprintf("z%d", i%racks%5)} {
				free[d] -= n
			}
			o.Pods = append(o.Pods, testkit.Pod(fmt.Sprintf("r%d-%d", i, k)).Request(fmt.Sprintf("cpu=%d,memory=%dGi,%s=%d", n*(2+r.IntN(7)), n*(4+r.IntN(28)), gpu, n)).On(fmt.Sprintf("n%d", i)).Obj())
		}
	}
	size := []int{16, 16, 32, 64, 128, 256}[r.IntN(6)]
	least := int32(size)
	group := &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train"}, Spec: podgroup.Spec{Minimum: &least}}
	if r.IntN(3) > 0 {
		group.Constraints = &podgroup.Constraints{Topology: []string{"rack"}}
		if size > 64 || r.IntN(3) == 0 {
			group.Constraints.Topology[0] = v1.LabelTopologyZone
		}
	}
	o.PodGroups = append(o.PodGroups, group)
	s, err := cluster.New(o)
	require.NoError(t, err)
	q := proof.Question{Snapshot: s, Gates: podgroup.Gates{Topology: true}}
	most, prefix := free[""], ""
	if group.Constraints != nil {
		prefix, most = map[string]string{"rack": "r", v1.LabelTopologyZone: "z"}[group.Constraints.Topology[0]], 0
		for d, n := range free {
			if prefix == d[:min(1, len(d))] {
				most = max(most, n)
			}
		}
	}
	tight := r.IntN(2) == 0
	var kinds []string
	for range 1 + r.IntN(3) {
		n := []int{1, 1, 2, 4, 8}[r.IntN(5)]
		if tight { // about what the emptiest domain has
			n = max(1, most*(85+r.IntN(20))/100/size+r.IntN(2))
		}
		n = min(n, devices)
		kinds = append(kinds, fmt.Sprintf("cpu=%d,memory=%dGi,%s=%d", n*(2+r.IntN(6)), n*(4+r.IntN(40)), gpu, n))
	}
	rule := r.IntN(6)
	for k := range size {
		p := testkit.Pod(fmt.Sprintf("m%d", k)).Labels("app=train").Request(kinds[k%len(kinds)])
		switch {
		case rule == 0 && size <= 64:
			p = p.RequireApart(v1.LabelHostname, "app=train")
		case rule == 1 && group.Constraints == nil:
			p = p.Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app=train")
		}
		pod, name := p.Obj(), "train"
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
		q.Queued = append(q.Queued, pod)
	}
	return q
}

// The answers about large clusters are right, and few are unknown. -large N asks N questions of 1,000 nodes and prints times of the processor.
func TestLarge(t *testing.T) {
	questions, nodes, count := *large, 1000, 50
	if questions == 0 {
		questions, nodes, count = 3, 200, 10
	}
	outcomes := map[gang.Outcome]int{}
	var times []time.Duration
	for n := range questions {
		q := racks(t, rand.New(rand.NewPCG(uint64(n), *seed)), nodes, count)
		begun := testkit.ProcessorTime(t)
		a, err := gang.Find(q, gang.Options{})
		times = append(times, testkit.ProcessorTime(t)-begun)
		require.NoError(t, err)
		outcomes[a.Outcome]++
		switch {
		case a.Outcome == gang.Exists:
			require.NoError(t, proof.CheckPlacement(q, a.Places))
		case a.Outcome == gang.None && !strings.Contains(kindsOf(a.Absence), "exhausted"):
			require.NoError(t, proof.CheckAbsence(q, *a.Absence, proof.Bound{}), "question %d", n)
		}
		if *large > 0 && (a.Outcome == gang.Unknown || times[n] > 300*time.Millisecond) {
			t.Logf("question %d: %s, %d members, %v, %d steps, %d placed", n, a.Outcome, len(q.Queued), times[n], a.Steps, len(a.Places))
		}
	}
	slices.Sort(times)
	t.Logf("%v; median %v, 99th percentile %v, longest %v", outcomes, times[len(times)/2], times[len(times)*99/100], times[len(times)-1])
}
