package diagnose

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// fault is a planted fault, and what must be said about it.
type fault struct {
	name   string
	pod    *v1.Pod  // waits because of the fault
	cause  string   // the type
	says   []string // parts of the first sentence: object and facts of the planting
	do     string   // a regular expression that matches the whole first remedy
	second string   // the same for the second remedy; "": it does not matter
	zone   string   // of the nodes that the first remedy adds; "": it does not matter
}

// town is a made cluster: pools of nodes, pods of DaemonSets and Deployments on them, and faults.
type town struct {
	r       *rand.Rand
	o       cluster.Objects
	zones   []string
	free    map[string]int64 // cpu by node, in millis
	count   map[string]int   // pods by node
	pending []*v1.Pod
	scalers []*autoscalingv2.HorizontalPodAutoscaler
	faults  []fault
}

const (
	townNodes = 200
	townPods  = 3000
)

// newTown returns a cluster of 200 nodes and 3,000 pods with eleven faults.
func newTown(seed uint64) *town {
	x := &town{r: rand.New(rand.NewPCG(seed, 74)), free: map[string]int64{}, count: map[string]int{}}
	x.zones = anyOf(x.r, []string{"eu-1a", "eu-1b", "eu-1c"}, []string{"a", "b", "c"}, []string{"us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d"})
	x.fullZone()
	x.typo()
	x.gpus()
	x.hostPort()
	x.cordonedZone()
	x.toleration()
	x.autoscaled()
	for len(x.o.Nodes) < townNodes {
		x.node("general", x.zones[len(x.o.Nodes)%len(x.zones)], "cpu=16,memory=64Gi,pods=110")
	}
	x.moreThanZones()
	x.tooLarge()
	x.class()
	x.gate()
	x.fill()
	return x
}

func anyOf[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// pool makes nodes of a pool in all zones, and one that agents keep closed.
func (x *town) pool(name string, nodes int, capacity string, taints ...string) (out []*v1.Node) {
	for k := range nodes {
		out = append(out, x.node(name, x.zones[k%len(x.zones)], capacity, taints...))
	}
	x.node(name, x.zones[0], capacity, append(taints, anyOf(x.r, "node.kubernetes.io/not-ready:NoSchedule", "node.kubernetes.io/disk-pressure:NoSchedule", "ToBeDeletedByClusterAutoscaler=1:NoSchedule", "karpenter.sh/disrupted:NoSchedule"))...)
	return out
}

func (x *town) node(pool, zone, capacity string, taints ...string) *v1.Node {
	b := testkit.Node(fmt.Sprintf("%s-%02d", pool, len(x.o.Nodes))).Label("pool", pool).Zone(zone).Capacity(capacity)
	for _, t := range taints {
		b = b.Taint(t)
	}
	n := b.Obj()
	x.o.Nodes = append(x.o.Nodes, n)
	x.free[n.Name] = n.Status.Allocatable.Cpu().MilliValue()
	for _, name := range []string{"cni", "csi", "logs"} {
		x.run(n.Name, testkit.Pod(name+"-"+n.Name).Owner("apps/v1", "DaemonSet", name).Request("cpu=100m,memory=100Mi").Tolerate("", v1.TolerationOpExists, "", ""))
	}
	return n
}

// run puts a pod on a node.
func (x *town) run(node string, b testkit.PodBuilder) *v1.Pod {
	p := b.On(node).Obj()
	x.o.Pods = append(x.o.Pods, p)
	x.free[node] -= p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
	x.count[node]++
	return p
}

// wait lets pods wait for the same fault, the last of which is asked about.
func (x *town) wait(f fault, pods ...*v1.Pod) {
	x.pending = append(x.pending, pods...)
	f.pod = pods[len(pods)-1]
	x.faults = append(x.faults, f)
}

// full fills a node so that less than some cpu is free.
func (x *town) full(node string, below int64) {
	for k := 0; x.free[node] >= below; k++ {
		ask := min(int64(500+100*x.r.IntN(20)), x.free[node])
		x.run(node, testkit.Pod(fmt.Sprintf("busy-%s-%d", node, k)).Owner("apps/v1", "ReplicaSet", "busy").Request(fmt.Sprintf("cpu=%dm,memory=200Mi", ask)))
	}
}

// replicas are pods of one owner: those with a node run there, and the others wait.
func replicas(owner, name string, n int, each func(b testkit.PodBuilder) testkit.PodBuilder) (out []testkit.PodBuilder) {
	for k := range n {
		b := testkit.Pod(fmt.Sprintf("%s-%d", name, k)).Labels("app=" + name)
		if owner == "ReplicaSet" {
			b = b.Labels("app="+name+",pod-template-hash=7d9").Owner("apps/v1", owner, name+"-7d9")
		} else {
			b = b.Owner("apps/v1", owner, name)
		}
		out = append(out, each(b))
	}
	return out
}

// A StatefulSet's volume is in one zone, and the nodes of its pool there are full.
func (x *town) fullZone() {
	nodes := x.pool("db", 4*len(x.zones), "cpu=8,memory=32Gi,pods=110")
	zone := anyOf(x.r, x.zones...)
	ask := int64(1000 + 500*x.r.IntN(5))
	in := 0
	for _, n := range nodes {
		if n.Labels[v1.LabelTopologyZone] == zone {
			x.full(n.Name, ask)
			in++
		}
	}
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data-pg-0", Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
		Spec: v1.PersistentVolumeClaimSpec{StorageClassName: new("zonal"), VolumeName: "pv-pg-0", AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}}, Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound}}
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-pg-0"}, Spec: v1.PersistentVolumeSpec{StorageClassName: "zonal", AccessModes: claim.Spec.AccessModes, Capacity: testkit.Resources("storage=10Gi"),
		ClaimRef:     &v1.ObjectReference{Namespace: "default", Name: "data-pg-0"},
		NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}}}}}}},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound}}
	x.o.Claims, x.o.PersistentVolumes = append(x.o.Claims, claim), append(x.o.PersistentVolumes, volume)
	late := storagev1.VolumeBindingWaitForFirstConsumer
	x.o.StorageClasses = append(x.o.StorageClasses, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "zonal"}, Provisioner: "disk.example.com", VolumeBindingMode: &late})
	p := replicas("StatefulSet", "pg", 1, func(b testkit.PodBuilder) testkit.PodBuilder {
		return b.NodeSelector("pool=db").Request(fmt.Sprintf("cpu=%dm,memory=1Gi", ask))
	})[0].Obj()
	p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data-pg-0"}}}}
	x.wait(fault{name: "zonal volume and full pool", cause: causeFull, says: []string{"cpu", fmt.Sprint(in), "pool=db", zone, "pv-pg-0"}, do: `add a node like db-\d+ \(pool db\): .*`, zone: zone}, p)
}

// A node selector has a value that no node has, and a pool has one that looks alike.
func (x *town) typo() {
	name := anyOf(x.r, "fast-ssd", "nvme", "memory")
	x.pool(name, 3+x.r.IntN(10), "cpu=8,memory=64Gi,pods=110")
	wrong := map[string]string{"fast-ssd": anyOf(x.r, "fast_ssd", "Fast-SSD", "fast-sdd"), "nvme": anyOf(x.r, "NVMe", "nvm"), "memory": anyOf(x.r, "memry", "memoyr", "Memory")}[name]
	owner := anyOf(x.r, "ReplicaSet", "StatefulSet")
	n := 1 + x.r.IntN(4)
	var pods []*v1.Pod
	for _, b := range replicas(owner, "cache", n, func(b testkit.PodBuilder) testkit.PodBuilder { return b.NodeSelector("pool=" + wrong).Request("cpu=1") }) {
		pods = append(pods, b.Obj())
	}
	x.wait(fault{name: "typo in a selector", cause: causeNoNode, says: []string{"pool=" + wrong, name}, do: `.*did you mean pool=` + name + `\?.*`}, pods...)
}

// Every GPU node has GPUs free, and none has as many as the pod wants.
func (x *town) gpus() {
	wants := anyOf(x.r, 4, 8)
	nodes := x.pool("gpu", 4+x.r.IntN(8), "cpu=64,memory=256Gi,pods=110,nvidia.com/gpu=8", "nvidia.com/gpu=present:NoSchedule")
	for _, n := range nodes {
		for k := range 8 - 1 - x.r.IntN(wants-1) {
			x.run(n.Name, testkit.Pod(fmt.Sprintf("infer-%s-%d", n.Name, k)).Owner("apps/v1", "ReplicaSet", "infer-1").Request("cpu=2,memory=8Gi,nvidia.com/gpu=1").Tolerate("nvidia.com/gpu", v1.TolerationOpExists, "", ""))
		}
	}
	p := testkit.Pod("train-0").Owner("batch/v1", "Job", "train").Request(fmt.Sprintf("cpu=4,memory=16Gi,nvidia.com/gpu=%d", wants)).Tolerate("nvidia.com/gpu", v1.TolerationOpExists, "", "").Obj()
	x.wait(fault{name: "fragmented GPUs", cause: causeFragments, says: []string{fmt.Sprintf("%d nvidia.com/gpu", wants), "free"}, do: `(move default/infer-.*|add a node like gpu-\d+.*)`}, p)
}

// Every node of a pool has the host port taken.
func (x *town) hostPort() {
	n := 3 + x.r.IntN(4)
	nodes := x.pool("ingress", n, "cpu=4,memory=16Gi,pods=110")
	more := 1 + x.r.IntN(2)
	port := anyOf(x.r, int32(443), 8443, 53)
	list := replicas("ReplicaSet", "ingress", n+more, func(b testkit.PodBuilder) testkit.PodBuilder {
		return b.NodeSelector("pool=ingress").Request("cpu=500m").HostPort("", v1.ProtocolTCP, port)
	})
	for k, node := range nodes {
		x.run(node.Name, list[k])
	}
	var pods []*v1.Pod
	for _, b := range list[n:] {
		pods = append(pods, b.Obj())
	}
	do := `add a node like ingress-\d+.*`
	if more > 1 {
		do = `add 2 nodes like ingress-\d+.*`
	}
	x.wait(fault{name: "taken host port", cause: causePort, says: []string{fmt.Sprint(port), "ingress-"}, do: do + fmt.Sprintf(": then %d of %d run.*", n+more, n+more)}, pods...)
}

// A spread constraint counts a zone whose nodes are all cordoned.
func (x *town) cordonedZone() {
	nodes := x.pool("web", 3*len(x.zones), "cpu=8,memory=32Gi,pods=110")
	zone := x.zones[1+x.r.IntN(len(x.zones)-1)]
	each := 1 + x.r.IntN(2)
	list := replicas("ReplicaSet", "web", each*(len(x.zones)-1)+1, func(b testkit.PodBuilder) testkit.PodBuilder {
		return b.NodeSelector("pool=web").Request("cpu=500m").Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app=web")
	})
	at, had := 0, map[string]int{}
	for _, n := range nodes {
		z := n.Labels[v1.LabelTopologyZone]
		if z == zone {
			n.Spec.Unschedulable = true
			n.Spec.Taints = append(n.Spec.Taints, testkit.Taint("node.kubernetes.io/unschedulable:NoSchedule"))
			if each > 1 && had[z] == 0 { // the last pod there has not left yet
				had[z]++
				x.run(n.Name, testkit.Pod("web-old").Labels("app=web").Owner("apps/v1", "ReplicaSet", "web-7d9").Request("cpu=500m"))
			}
			continue
		}
		if had[z] < each {
			had[z]++
			x.run(n.Name, list[at])
			at++
		}
	}
	x.wait(fault{name: "spread with a cordoned zone", cause: causeEmptyDomain, says: []string{"zone " + zone, "cordoned", "maxSkew is 1"}, do: `.*nodeTaintsPolicy: Honor.*`}, list[len(list)-1].Obj())
}

// A toleration has nearly the value or the effect of the taint of its pool.
func (x *town) toleration() {
	x.pool("edge", 3+x.r.IntN(6), "cpu=8,memory=32Gi,pods=110", "dedicated=edge-team:NoSchedule")
	value, effect := "edge-team", v1.TaintEffectNoSchedule
	if x.r.IntN(2) == 0 {
		value = anyOf(x.r, "edge_team", "edge-tem", "Edge-Team")
	} else {
		effect = v1.TaintEffectNoExecute
	}
	n := 1 + x.r.IntN(3)
	var pods []*v1.Pod
	for _, b := range replicas(anyOf(x.r, "ReplicaSet", "StatefulSet"), "relay", n, func(b testkit.PodBuilder) testkit.PodBuilder {
		return b.NodeSelector("pool=edge").Request("cpu=1").Tolerate("dedicated", v1.TolerationOpEqual, value, effect)
	}) {
		pods = append(pods, b.Obj())
	}
	x.wait(fault{name: "nearly matching toleration", cause: causeToleration, says: []string{"dedicated=" + value + ":" + string(effect), "dedicated=edge-team:NoSchedule"}, do: `.*tolerate dedicated=edge-team:NoSchedule.*`}, pods...)
}

// A pool is full, and an autoscaler of pods has made more pods than it has room for.
func (x *town) autoscaled() {
	nodes := x.pool("batch", 4+x.r.IntN(6), "cpu=4,memory=16Gi,pods=110")
	n := 2 + x.r.IntN(8) // wait: a new node has room for three
	list := replicas("ReplicaSet", "worker", n+2, func(b testkit.PodBuilder) testkit.PodBuilder {
		return b.NodeSelector("pool=batch").Request("cpu=1,memory=1Gi")
	})
	for k, n := range nodes {
		if k < 2 {
			x.run(n.Name, list[k])
		}
		x.full(n.Name, 1000)
	}
	var pods []*v1.Pod
	for _, b := range list[2:] {
		pods = append(pods, b.Obj())
	}
	x.scalers = append(x.scalers, &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "worker"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "worker"}, MinReplicas: new(int32(1)), MaxReplicas: int32(n + 2)}})
	do := `add a node like batch-\d+.*`
	if k := (n + 2) / 3; k > 1 {
		do = fmt.Sprintf(`add %d nodes like batch-\d+.*`, k)
	}
	x.wait(fault{name: "full pool under an HPA", cause: causeFull, says: []string{"cpu 1", fmt.Sprint(len(nodes)), "pool=batch"}, do: do + fmt.Sprintf(": then %d of %d run", n+2, n+2), second: `HorizontalPodAutoscaler default/worker: spec\.maxReplicas 2: .*`}, pods...)
}

// Anti-affinity by zone, and more replicas than zones.
func (x *town) moreThanZones() {
	n := len(x.zones)
	list := replicas(anyOf(x.r, "ReplicaSet", "StatefulSet"), "quorum", n+1, func(b testkit.PodBuilder) testkit.PodBuilder {
		return b.Request("cpu=500m").NodeSelector("pool=general").RequireApart(v1.LabelTopologyZone, "app=quorum")
	})
	at := map[string]bool{}
	for _, node := range x.o.Nodes {
		if z := node.Labels[v1.LabelTopologyZone]; node.Labels["pool"] == "general" && !at[z] {
			x.run(node.Name, list[len(at)])
			at[z] = true
		}
	}
	x.wait(fault{name: "more replicas than zones", cause: causeAntiAffinity, says: []string{v1.LabelTopologyZone, "one pod a zone"}, do: `add a node like general-\d+( or general-\d+)* in a zone of its own \(pool general\): ` + fmt.Sprintf("then %d of %d run", n+1, n+1)}, list[n].Obj())
}

// A request that no node has.
func (x *town) tooLarge() {
	ask := anyOf(x.r, "cpu=96", "memory=400Gi", "cpu=17")
	pool := anyOf(x.r, "general", "general", "web")
	what, _, _ := strings.Cut(ask, "=")
	do := `.*requests\.` + what + ` from .* to .*`
	if ask != "cpu=17" || pool == "web" { // no node has half of it
		do = "add a node like " + pool + `-\d+( or ` + pool + `-\d+)*, but with ` + what + ` .* or more: .*`
	}
	p := testkit.Pod("report-0").Owner(anyOf(x.r, "batch/v1", "apps/v1"), anyOf(x.r, "Job", "StatefulSet"), "report").NodeSelector("pool=" + pool).Request(ask).Obj()
	x.wait(fault{name: "larger than any node", cause: causeTooLarge, says: []string{strings.ReplaceAll(ask, "=", " "), "the largest of"}, do: do}, p)
}

// A claim names a storage class that does not exist.
func (x *town) class() {
	class := anyOf(x.r, "zonl", "Zonal", "premium-rwo")
	x.o.Claims = append(x.o.Claims, &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data-queue-0"},
		Spec: v1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Resources: v1.VolumeResourceRequirements{Requests: testkit.Resources("storage=5Gi")}}, Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending}})
	p := testkit.Pod("queue-0").Owner("apps/v1", "StatefulSet", "queue").Request("cpu=500m").Obj()
	p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data-queue-0"}}}}
	x.wait(fault{name: "missing class", cause: causeClass, says: []string{"data-queue-0", class}, do: `PersistentVolumeClaim default/data-queue-0: .*class zonal.*`}, p)
}

// A gate of a controller.
func (x *town) gate() {
	gate := anyOf(x.r, "kueue.x-k8s.io/admission", "example.com/quota")
	p := testkit.Pod("sim-0").Owner("batch/v1", "Job", "sim").Request("cpu=1").Obj()
	p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: gate}}
	do := `Pod default/sim-0: drop spec\.schedulingGates \(example\.com/quota\).*`
	if strings.HasPrefix(gate, "kueue") {
		do = `.*Kueue.*Workload.*`
	}
	x.wait(fault{name: "gate", cause: causeGate, says: []string{gate}, do: do}, p)
}

// fill adds pods of many Deployments until the cluster has its number of pods.
func (x *town) fill() {
	var open []string
	for _, n := range x.o.Nodes {
		if n.Labels["pool"] != "batch" && !slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return strings.Contains(t.Key, "karpenter") || strings.Contains(t.Key, "ToBe") }) {
			open = append(open, n.Name)
		}
	}
	for k := 0; len(x.o.Pods) < townPods; k++ {
		node := anyOf(x.r, open...)
		if x.free[node] < 1500 || x.count[node] > 90 {
			continue
		}
		name := fmt.Sprintf("app%02d", x.r.IntN(60))
		x.run(node, testkit.Pod(fmt.Sprintf("%s-%d", name, k)).Labels("app="+name).Owner("apps/v1", "ReplicaSet", name+"-5f6").Request(fmt.Sprintf("cpu=%dm,memory=%dMi", 50+50*x.r.IntN(6), 64+64*x.r.IntN(8))).
			Tolerate("", v1.TolerationOpExists, "", ""))
	}
	x.r.Shuffle(len(x.pending), func(i, j int) { x.pending[i], x.pending[j] = x.pending[j], x.pending[i] })
}

// Of each planted fault the first sentence names the fault, and the first remedy undoes it or adds to the right pool.
func TestPlanted(t *testing.T) {
	for seed := range uint64(testkit.Rounds(20)) {
		x := newTown(seed)
		require.Len(t, x.o.Nodes, townNodes)
		require.Len(t, x.o.Pods, townPods)
		require.Len(t, x.faults, 11)
		s, err := cluster.New(x.o)
		require.NoError(t, err)
		plan, err := placement.New(s, placement.DefaultProfile())
		require.NoError(t, err)
		for _, f := range x.faults {
			of := fmt.Sprintf("seed %d, %s", seed, f.name)
			require.False(t, len(f.pod.Spec.SchedulingGates) == 0 && plan.Decide(f.pod, placement.Options{}).Placed(), "%s does not keep %s off", of, podinfo.Name(f.pod))
			d, err := Relax(Input{Snapshot: s, Pending: x.pending, Autoscalers: x.scalers}, f.pod, Options{Size: 3})
			require.NoError(t, err)
			advice := d.Advice()
			text := of + "\n" + d.Cause.Text + "\n" + strings.Join(advice, "\n")
			require.Equal(t, f.cause, d.Cause.Type, text)
			for _, part := range f.says {
				require.Contains(t, d.Cause.Text, part, text)
			}
			require.NotEmpty(t, advice, text)
			require.Regexp(t, "^"+f.do+"$", advice[0], text)
			if f.second != "" {
				require.Regexp(t, "^"+f.second+"$", advice[1], text)
			}
			if f.zone != "" {
				require.Equal(t, f.zone, s.Node(s.Slot(d.Remedies[0].Changes[0].From)).Labels[v1.LabelTopologyZone], text)
			}
		}
	}
}
