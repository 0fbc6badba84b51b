package gang_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/situation/question"
	"github.com/podberth/podberth/planning/gang"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
)

func TestFind(t *testing.T) {
	type test struct {
		name, why, situation string
		outcome              gang.Outcome
		places               map[string]string // of some members
		proof                string
	}
	testkit.Run(t, []test{
		{"another order", "the small member must not take the big node (E22)", "node big:4; node small:2; group g gang2; pod p1:2 in=g; pod p2:4 in=g",
			gang.Exists, map[string]string{"d/p1": "small", "d/p2": "big"}, ""},
		{"a sibling", "the group without a selector must leave zone a (E50)", "gates=C; node a1:2 zone=a disk=ssd; node b1:9 zone=b; composite job gang2; group x gang1 key=zone parent=job; " +
			"group y gang2 key=zone parent=job; pod xa:1 in=x; pod ya,yb:1 in=y select=disk=ssd", gang.Exists, map[string]string{"d/xa": "b1", "d/ya": "a1"}, ""},
		{"one after the other", "the first needs the second (E29)", "node n1:4; group g gang2; pod a:1 in=g with=kubernetes.io/hostname=b; pod b:1 in=g label=app=b",
			gang.Exists, map[string]string{"d/a": "n1"}, ""},
		{"beside its own", "a running member fixes the zone (E35)", "gates=T; node a1:1 zone=a; node b1:8 zone=b; group g gang2 key=zone; pod r:1 in=g on=a1; pod p:1 in=g", gang.None, nil, " members"},
		{"no rack", "12 free in all, one rack is needed", "gates=T; node a1:6 zone=a; node b1:6 zone=b; group g gang8 key=zone; pod a,b,c,d,e,f,h,i:1 in=g", gang.None, nil, " resource"},
		{"pieces", "each node has half a member too little", "node n1:3; node n2:3; group g gang3; pod a,b,c:2 in=g", gang.None, nil, " nodes"},
		{"apart", "three members, two nodes", "node n1:9; node n2:9; group g gang3; pod a,b,c:1 in=g label=app=m apart=kubernetes.io/hostname=m", gang.None, nil, " apart"},
		{"spread", "zone b is full, so zone a gets two at most", "node n1:9 zone=a; node n2:1 zone=b; group g gang4; pod a,b,c,e:1 in=g label=app=m spread=zone=m", gang.None, nil, " spread"},
		{"spread beside one that runs", "zone a has one already and gets one more", "node n1:9 zone=a; node n2:1 zone=b; pod r:1 on=n1 label=app=m; group g gang3; pod a,b,c:1 in=g label=app=m spread=zone=m", gang.None, nil, " spread"},
		{"a label of one member", "the pod that runs keeps off b alone", "node n1:9; pod r:1 on=n1 apart=kubernetes.io/hostname=x; group g gang2; pod a:1 in=g; pod b:1 in=g label=app=x", gang.None, nil, " members"},
		{"too few", "three of four exist", "node n1:9; group g gang4; pod a,b,c:1 in=g", gang.None, nil, " members"},
		{"no domain", "no node has the label", "gates=T; node n1:9; group g gang1 key=zone; pod a:1 in=g", gang.None, nil, ""},
		{"one is too large", "no node takes it", "node n1:9; group g gang2; pod a:1 in=g; pod b:10 in=g", gang.None, nil, " members"},
		{"the large ones", "two of 3 do not share a node of 5", "node n1:5; node n2:5; group g gang4; pod a,b,c:3 in=g; pod s:1 in=g", gang.None, nil, " nodes+of"},
		{"a child", "y has no zone, and both are needed", "gates=C; node a1:2 zone=a; node b1:2 zone=b; composite job gang2; group x gang1 parent=job; group y gang3 key=zone parent=job; pod xa:1 in=x; pod ya,yb,yc:1 in=y",
			gang.None, nil, " children resource"},
		{"nobody waits", "the members that run are enough, and one more must be placed", "node n1:1; group g gang1; pod r:1 in=g on=n1; pod a:1 in=g", gang.None, nil, " members"},
		{"a long way", "zone a looks large enough, and a dive ends there: the large member leaves room for no other", long, gang.Exists, map[string]string{"d/a": "b1", "d/h": "b1"}, ""},
		{"every way of a zone", "the large member of a node leaves room for no other", "gates=T; node n1:7 zone=a; node n2:7 zone=a; group g gang4 key=zone; pod a:5 in=g; pod b,c,e:3 in=g", gang.None, nil, " exhausted"},
		{"extra members", "go where they fit", "node n1:3; group g gang2; pod a,b,c:1 in=g", gang.Exists, map[string]string{"d/a": "n1", "d/b": "n1", "d/c": "n1"}, ""},
	}, func(t *testing.T, c test) {
		q := question.Of(t, c.situation)
		a, err := gang.Find(q, gang.Options{})
		require.NoError(t, err)
		require.Equal(t, c.outcome, a.Outcome)
		require.Equal(t, c.proof, kindsOf(a.Absence))
		on := map[string]string{}
		for _, p := range a.Places {
			on[p.Pod] = p.Node
		}
		for pod, node := range c.places {
			require.Equal(t, node, on[pod], pod)
		}
		if a.Outcome == gang.Exists {
			require.NoError(t, proof.CheckPlacement(q, a.Places))
		} else {
			require.NoError(t, proof.CheckAbsence(q, *a.Absence, proof.Bound{}))
		}
	})
}

// long has a place for x in zone b. To see that zone a has none takes more steps than a dive.
const long = "gates=C; node a1:88 zone=a; node a2:89 zone=a; node a3:90 zone=a; node a4:91 zone=a; node b1:400 zone=b; composite job gang1; group x gang8 key=zone parent=job; " +
	"pod a:70 in=x; pod b:31 in=x; pod c:32 in=x; pod d:33 in=x; pod e:34 in=x; pod f:35 in=x; pod g:36 in=x; pod h:37 in=x"

// A node has a host port once, whatever the ports of the containers are; the port of a container alone is not taken of the node.
func TestFindPorts(t *testing.T) {
	type test struct {
		name, why string
		ports     [2]v1.ContainerPort
		outcome   gang.Outcome
		proof     string
	}
	testkit.Run(t, []test{
		{"one", "both want 80 of the node", [2]v1.ContainerPort{{HostPort: 80, ContainerPort: 8080}, {HostPort: 80, ContainerPort: 9090}}, gang.None, " nodes"},
		{"two", "80 and 81", [2]v1.ContainerPort{{HostPort: 80, ContainerPort: 8080}, {HostPort: 81, ContainerPort: 8080}}, gang.Exists, ""},
		{"none", "each pod has an address of its own", [2]v1.ContainerPort{{ContainerPort: 8080}, {ContainerPort: 8080}}, gang.Exists, ""},
	}, func(t *testing.T, c test) {
		q := question.Of(t, "node n1:9; group g gang2; pod a,b:1 in=g")
		for k, p := range c.ports {
			p.Protocol = v1.ProtocolTCP
			q.Queued[k].Spec.Containers[0].Ports = []v1.ContainerPort{p}
		}
		a, err := gang.Find(q, gang.Options{})
		require.NoError(t, err)
		require.Equal(t, c.outcome, a.Outcome)
		require.Equal(t, c.proof, kindsOf(a.Absence))
	})
}

// Where no placement exists, the answer still has the members that were placed at once.
func TestMostPlaced(t *testing.T) {
	a, err := gang.Find(question.Of(t, "node n1:7; node n2:7; group g gang4; pod a:5 in=g; pod b,c,e:3 in=g"), gang.Options{})
	require.NoError(t, err)
	require.Equal(t, gang.None, a.Outcome)
	require.NotEmpty(t, a.Places)
}

// Steps and Stop end the search: what is known then is the most that was placed.
func TestCut(t *testing.T) {
	q := question.Of(t, "node n1:7; node n2:7; group g gang4; pod a:4 in=g; pod b:3 in=g; pod c,e:3 in=g")
	a, err := gang.Find(q, gang.Options{Steps: 1})
	require.NoError(t, err)
	require.Equal(t, gang.Unknown, a.Outcome)
	require.Equal(t, 1, len(a.Places))
	a, err = gang.Find(q, gang.Options{Stop: func() bool { return true }})
	require.NoError(t, err)
	require.Equal(t, gang.Unknown, a.Outcome)
	require.Empty(t, a.Places)
}

// The steps that an answer takes are enough for it.
func TestEnoughSteps(t *testing.T) {
	q := question.Of(t, "node n1:7; node n2:7; group g gang4; pod a:5 in=g; pod b,c,e:3 in=g")
	whole, err := gang.Find(q, gang.Options{})
	require.NoError(t, err)
	a, err := gang.Find(q, gang.Options{Steps: whole.Steps + 1})
	require.NoError(t, err)
	require.Equal(t, whole, a)
}

// Groups of a queue are answered by priority, and each has the room that is left.
func TestFindEach(t *testing.T) {
	q := question.Of(t, "node n1:3; group low gang1; group high gang2 ^10; group also gang1; pod l:2 in=low; pod a,b:1 ^10 in=high; pod s:1 in=also")
	all, err := gang.FindEach(q, gang.Options{})
	require.NoError(t, err)
	var names []string
	for _, a := range all {
		names = append(names, a.Group+" "+string(a.Outcome))
	}
	require.Equal(t, []string{"podgroup/d/high exists", "podgroup/d/low none", "podgroup/d/also exists"}, names)
	_, err = gang.FindEach(proof.Question{}, gang.Options{})
	require.ErrorIs(t, err, cluster.ErrNoSnapshot)
	_, err = gang.FindEach(proof.Question{Snapshot: q.Snapshot, Queued: []*v1.Pod{nil}}, gang.Options{})
	require.EqualError(t, err, "gang: queued[0]: Required value: must not be nil")
	_, err = gang.FindEach(proof.Question{Snapshot: q.Snapshot, Queued: []*v1.Pod{testkit.Pod("x").Obj()}}, gang.Options{})
	require.EqualError(t, err, `gang: queued[0].spec.schedulingGroup.podGroupName: Invalid value: "": default/x: pod group default/: no object of the group`)
}

// Pods that are nominated keep their room.
func TestNominated(t *testing.T) {
	q := question.Of(t, "node n1:2; group g gang2; pod a,b:1 in=g")
	guest := testkit.Pod("guest").Priority(5).Request("cpu=1").Obj()
	q.Nominated = func(int) []*v1.Pod { return []*v1.Pod{guest} }
	a, err := gang.Find(q, gang.Options{})
	require.NoError(t, err)
	require.Equal(t, gang.None, a.Outcome)
	require.NoError(t, proof.CheckAbsence(q, *a.Absence, proof.Bound{}))
	q.Nominated = nil
	require.ErrorContains(t, proof.CheckAbsence(q, *a.Absence, proof.Bound{}), "a placement exists")
}

func TestBadInput(t *testing.T) {
	const good = "node n1:4; group g gang1; group h gang1; pod a:1 in=g; pod b:1 in=h; pod r:1 on=n1; pod free:1"
	type test struct {
		name, why string
		change    func(q *proof.Question, o *gang.Options)
		want      string
	}
	pod := func(q *proof.Question, k int) *v1.Pod { return q.Queued[k] }
	testkit.Run(t, []test{
		{"no snapshot", "there is no cluster", func(q *proof.Question, _ *gang.Options) { q.Snapshot = nil }, "gang: the input has no snapshot"},
		{"no members", "there is no group", func(q *proof.Question, _ *gang.Options) { q.Queued = nil }, "gang: queued: Required value: the pods are not members of one group"},
		{"nil", "names no pod", func(q *proof.Question, _ *gang.Options) { q.Queued = []*v1.Pod{nil} }, "gang: queued[0]: Required value: must not be nil"},
		{"twice", "names are unique", func(q *proof.Question, _ *gang.Options) { q.Queued = []*v1.Pod{pod(q, 0), pod(q, 0)} }, `gang: queued[1].metadata.name: Duplicate value: "d/a": queued[0] has the name`},
		{"no group", "it is a pod alone", func(q *proof.Question, _ *gang.Options) { q.Queued = q.Queued[2:] }, "gang: queued[0].spec.schedulingGroup: Required value: d/free: the pods are not members of one group"},
		{"two groups", "they are two questions", func(q *proof.Question, _ *gang.Options) { q.Queued = q.Queued[:2] }, `gang: queued[1].spec.schedulingGroup.podGroupName: Invalid value: "h": d/b: the pods are not members of one group`},
		{"no object", "nothing is known of the group", func(q *proof.Question, _ *gang.Options) {
			p, name := pod(q, 0).DeepCopy(), "gone"
			p.Spec.SchedulingGroup.PodGroupName = &name
			q.Queued = []*v1.Pod{p}
		}, `gang: queued[0].spec.schedulingGroup.podGroupName: Invalid value: "gone": pod group d/gone: no object of the group`},
		{"on a node", "it does not wait", func(q *proof.Question, _ *gang.Options) {
			p := pod(q, 0).DeepCopy()
			p.Name = "r"
			q.Queued = []*v1.Pod{p}
		}, `gang: queued[0]: Invalid value: "d/r": the pod is on a node already`},
		{"priority", "kube-scheduler tries nobody", func(q *proof.Question, _ *gang.Options) {
			p, five := pod(q, 0).DeepCopy(), int32(5)
			p.Spec.Priority = &five
			q.Queued = []*v1.Pod{p}
		}, "all pods in a single pod group should have the same priority as the pod group's priority, got 5 and 0"},
		{"steps", "0 is the default", func(q *proof.Question, o *gang.Options) { q.Queued, o.Steps = q.Queued[:1], -1 }, "gang: steps: must not be negative"},
		{"devices", "the search has its own", func(q *proof.Question, _ *gang.Options) { q.Profile.Devices = &tracker.Tracker{} }, "gang: profile.Devices: Forbidden: the search has devices of its own"},
		{"two domains", "members run in two", func(q *proof.Question, _ *gang.Options) {
			*q = question.Of(t, "gates=T; node n1:4 zone=a; node n2:4 zone=b; group g gang3 key=zone; pod r:1 in=g on=n1; pod s:1 in=g on=n2; pod a:1 in=g")
		}, "cannot determine domain for already scheduled pods: more than 1 domain found for pod group: a, b"},
	}, func(t *testing.T, c test) {
		q, o := question.Of(t, good), gang.Options{}
		c.change(&q, &o)
		_, err := gang.Find(q, o)
		require.EqualError(t, err, c.want)
	})
	q := question.Of(t, good)
	terminating := q.Queued[0].DeepCopy()
	terminating.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	q.Queued = []*v1.Pod{terminating}
	a, err := gang.Find(q, gang.Options{})
	require.NoError(t, err, "nobody is left")
	require.Equal(t, gang.None, a.Outcome)
}

// A question changes nothing, and the same question has the same answer.
func TestPure(t *testing.T) {
	w := chance(testkit.NewBytes(testkit.RandomBytes(7, 400)))
	q := w.question(t)
	var first gang.Answer
	testkit.Unchanged(t, func() {
		var err error
		first, err = gang.Find(q, gang.Options{})
		require.NoError(t, err)
	}, q.Queued...)
	again, err := gang.Find(q, gang.Options{})
	require.NoError(t, err)
	require.Equal(t, first, again)
}

// Random bytes as a cluster: what is found is a placement, what is proved is proved.
func FuzzFind(f *testing.F) {
	for n := range 10 {
		f.Add(testkit.RandomBytes(uint64(n), 300))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := chance(testkit.NewBytes(data))
		q := w.question(t)
		a, err := gang.Find(q, gang.Options{Steps: 3000})
		require.NoError(t, err)
		switch a.Outcome {
		case gang.Exists:
			require.NoError(t, proof.CheckPlacement(q, a.Places))
		case gang.None:
			if err := proof.CheckAbsence(q, *a.Absence, proof.Bound{Steps: 3000}); err != nil {
				require.ErrorContains(t, err, "it was not checked within")
			}
		}
	})
}

// BenchmarkFind asks about a gang of 64 in one of 50 racks of 5,000 nodes.
func BenchmarkFind(b *testing.B) {
	var o cluster.Objects
	for i := range 5000 {
		o.Nodes = append(o.Nodes, testkit.Node(nodeName(i)).Capacity("cpu=64,memory=512Gi,"+gpu+"=8,pods=110").Label("rack", nodeName(i%50)).Obj())
		if i%3 > 0 {
			o.Pods = append(o.Pods, testkit.Pod("r"+nodeName(i)).Request("cpu=8,"+gpu+"=5").On(nodeName(i)).Obj())
		}
	}
	least, name := int32(64), "train"
	o.PodGroups = []*podgroup.Group{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: podgroup.Spec{Minimum: &least, Constraints: &podgroup.Constraints{Topology: []string{"rack"}}}}}
	s, err := cluster.New(o)
	require.NoError(b, err)
	q := proof.Question{Snapshot: s, Gates: podgroup.Gates{Topology: true}}
	for k := range 64 {
		pod := testkit.Pod("m" + nodeName(k)).Request("cpu=8," + gpu + "=4").Obj()
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
		q.Queued = append(q.Queued, pod)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gang.Find(q, gang.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// Devices and volumes that a group gets are not there for the next.
func TestFindEachTakesClaims(t *testing.T) {
	q := question.Of(t, "devices n1:1; claim ca; claim cb; node n1:9; group a gang1 ^10; group b gang1; pod pa:1 in=a ^10 claim=c=ca; pod pb:1 in=b claim=c=cb")
	all, err := gang.FindEach(q, gang.Options{})
	require.NoError(t, err)
	require.Equal(t, gang.Exists, all[0].Outcome)
	require.Equal(t, gang.None, all[1].Outcome, "one device is there")

	wait, class := storagev1.VolumeBindingWaitForFirstConsumer, "local"
	size := v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	q = question.Of(t, "node n1:9; group a gang1 ^10; group b gang1; pod pa:1 in=a ^10; pod pb:1 in=b")
	s := q.Snapshot
	require.NoError(t, s.Set(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &wait}))
	require.NoError(t, s.Set(&v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Spec: v1.PersistentVolumeSpec{StorageClassName: class, Capacity: size, AccessModes: modes},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable}}))
	for k, name := range []string{"ca", "cb"} {
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: name, UID: types.UID(name)}}
		claim.Spec = v1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: modes, Resources: v1.VolumeResourceRequirements{Requests: size}}
		require.NoError(t, s.Set(claim))
		q.Queued[k].Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
	}
	all, err = gang.FindEach(q, gang.Options{})
	require.NoError(t, err)
	require.Equal(t, gang.Exists, all[0].Outcome)
	require.Equal(t, gang.None, all[1].Outcome, "one volume is there")
}
