package failures

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

func ptr[T any](v T) *T { return &v }

// world is a cluster that tests fill.
type world struct {
	objects cluster.Objects
	in      Input
}

// five returns the nodes n1..n5 in the zones a (n1 n2), b (n3 n4) and c (n5), each with the capacity.
func five(capacity string) *world {
	w := &world{}
	for i, zone := range []string{"a", "a", "b", "b", "c"} {
		w.objects.Nodes = append(w.objects.Nodes, testkit.Node(fmt.Sprintf("n%d", i+1)).Zone(zone).Capacity(capacity).Obj())
	}
	return w
}

// app is a ReplicaSet with a pod on each of the nodes. change may change the template.
func (w *world) app(name, request, nodes string, change func(*v1.PodSpec)) *appsv1.ReplicaSet {
	t := v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "c", Image: name, Resources: v1.ResourceRequirements{Requests: testkit.Resources(request)},
		}}},
	}
	if change != nil {
		change(&t.Spec)
	}
	on := strings.Fields(nodes)
	r := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("rs-" + name)},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr(int32(len(on))), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, Template: t,
		},
	}
	w.objects.ReplicaSets = append(w.objects.ReplicaSets, r)
	for i, node := range on {
		w.pod("ReplicaSet", name, fmt.Sprintf("%s-%d", name, i), node, t)
	}
	return r
}

// pod adds a pod of a controller; of none when kind is "".
func (w *world) pod(kind, owner, name, node string, t v1.PodTemplateSpec) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: t.Labels},
		Spec:       *t.Spec.DeepCopy(),
	}
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, Controller: ptr(true)}}
	}
	p.Spec.NodeName = node
	p.Spec.SchedulerName = v1.DefaultSchedulerName
	for _, c := range w.in.Admission.PriorityClasses {
		if c.Name == p.Spec.PriorityClassName {
			p.Spec.Priority = &c.Value
		}
	}
	if p.Spec.Priority == nil {
		p.Spec.Priority = ptr(int32(0))
	}
	w.objects.Pods = append(w.objects.Pods, p)
	return p
}

func (w *world) planner(t *testing.T) *Planner {
	t.Helper()
	p, err := planner(w)
	require.NoError(t, err)
	return p
}

func planner(w *world) (*Planner, error) {
	s, err := cluster.New(w.objects)
	if err != nil {
		return nil, err
	}
	w.in.Snapshot = s
	return New(w.in)
}

func (w *world) run(t *testing.T, nodes ...string) Result {
	t.Helper()
	r, err := w.planner(t).Run([]Scenario{{"test", nodes}}, Options{})
	require.NoError(t, err)
	return r[0]
}

// lines writes what became of the pods, and the groups.
func lines(r Result) (out []string) {
	for _, o := range r.Pods {
		s := fmt.Sprintf("%s %s %s", o.Pod.Name, o.From, o.Fate)
		if o.Node != "" {
			s += " " + o.Node
		}
		if o.DisplacedBy != "" {
			s += " displaced by " + o.DisplacedBy
		}
		out = append(out, s)
	}
	for _, g := range r.Groups {
		out = append(out, fmt.Sprintf("%s: %s: %s: %s %d/%d: %s", g.Workload, strings.Join(g.Pods, " "), g.Cause, g.Plugin, g.Alone, g.Nodes, g.Reason))
	}
	return out
}

const zoneKey = v1.LabelTopologyZone

func apart(app, key string) func(*v1.PodSpec) {
	return func(s *v1.PodSpec) {
		s.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, TopologyKey: key,
		}}}}
	}
}

func beside(app, key string) func(*v1.PodSpec) {
	return func(s *v1.PodSpec) {
		s.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, TopologyKey: key,
		}}}}
	}
}

func spreadOver(app, key string, minDomains *int32) func(*v1.PodSpec) {
	return func(s *v1.PodSpec) {
		s.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: v1.DoNotSchedule, MinDomains: minDomains,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		}}
	}
}

func (w *world) class(name string, value int32) {
	w.in.Admission.PriorityClasses = append(w.in.Admission.PriorityClasses, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value})
}

func classed(name string) func(*v1.PodSpec) {
	return func(s *v1.PodSpec) { s.PriorityClassName = name }
}

// stateful adds a StatefulSet whose pods have a claim on a volume of their node's zone.
func (w *world) stateful(name, nodes string, policy appsv1.PodManagementPolicyType) {
	on := strings.Fields(nodes)
	labels := map[string]string{"app": name}
	w.objects.StatefulSets = append(w.objects.StatefulSets, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("set-" + name)},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr(int32(len(on))), Selector: &metav1.LabelSelector{MatchLabels: labels}, PodManagementPolicy: policy,
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "db", Resources: v1.ResourceRequirements{Requests: testkit.Resources("cpu=1")}}}},
			},
			VolumeClaimTemplates: []v1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec()}},
		},
	})
	for i, node := range on {
		pod := fmt.Sprintf("%s-%d", name, i)
		t := w.objects.StatefulSets[len(w.objects.StatefulSets)-1].Spec.Template.DeepCopy()
		t.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + pod}}}}
		w.pod("StatefulSet", name, pod, node, *t)
		zone := ""
		for _, n := range w.objects.Nodes {
			if n.Name == node {
				zone = n.Labels[zoneKey]
			}
		}
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data-" + pod, UID: types.UID("claim-" + pod)}, Spec: claimSpec()}
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		claim.Spec.VolumeName, claim.Status.Phase = "pv-"+pod, v1.ClaimBound
		volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + pod, Labels: map[string]string{}}}
		volume.Spec = v1.PersistentVolumeSpec{
			Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			ClaimRef: &v1.ObjectReference{Namespace: "default", Name: claim.Name, UID: claim.UID}, StorageClassName: "disk",
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: zoneKey, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}},
			}}}},
		}
		volume.Status.Phase = v1.VolumeBound
		w.objects.Claims, w.objects.PersistentVolumes = append(w.objects.Claims, claim), append(w.objects.PersistentVolumes, volume)
	}
}

func claimSpec() v1.PersistentVolumeClaimSpec {
	return v1.PersistentVolumeClaimSpec{
		AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: ptr("disk"),
		Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
	}
}

func (w *world) budget(name, app string, minAvailable int) {
	w.objects.PodDisruptionBudgets = append(w.objects.PodDisruptionBudgets, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr(intstr.FromInt32(int32(minAvailable))), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
	})
}

// devices adds devices of a node.
func (w *world) devices(node string, names ...string) {
	slice := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: node + "-gpus"},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
		},
	}
	for _, name := range names {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: name})
	}
	w.objects.ResourceSlices = append(w.objects.ResourceSlices, slice)
	w.objects.DeviceClasses = []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}}
}

func deviceClaimSpec() resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
		Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1},
	}}}}
}

// claim adds a claim that has a device of a node and is reserved for pods.
func (w *world) claim(name, node, device string, pods ...types.UID) {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("claim-" + name)}, Spec: deviceClaimSpec()}
	c.Status.Allocation = &resourcev1.AllocationResult{
		Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "gpu", Driver: "gpu.example.com", Pool: node, Device: device}}},
		NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
		}}},
	}
	for _, uid := range pods {
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: string(uid), UID: uid})
	}
	w.objects.ResourceClaims = append(w.objects.ResourceClaims, c)
}

func claiming(claim string) func(*v1.PodSpec) {
	return func(s *v1.PodSpec) {
		s.ResourceClaims = []v1.PodResourceClaim{{Name: "device", ResourceClaimName: &claim}}
	}
}

// What becomes of pods, and each reason why a pod stays pending.
func TestRun(t *testing.T) {
	testkit.Run(t, []struct {
		name, why string
		cluster   func() *world
		lose      string
		want      []string
	}{
		{"room", "the other nodes have room", func() *world {
			w := five("cpu=4")
			w.app("web", "cpu=1", "n1 n3", nil)
			return w
		}, "n1", []string{"web-0 n1 Placed n2"}},
		{"no room", "each node has room for one pod and runs one", func() *world {
			w := five("cpu=1500m")
			w.app("web", "cpu=1", "n1 n2 n3 n4 n5", nil)
			return w
		}, "n1", []string{"web-0 n1 Pending", "ReplicaSet default/web: default/web-0: resources: NodeResourcesFit 4/4: Insufficient cpu"}},
		{"hostname anti-affinity", "every node that is left has a pod of the app", func() *world {
			w := five("cpu=4")
			w.app("web", "cpu=1", "n1 n2 n3 n4 n5", apart("web", v1.LabelHostname))
			return w
		}, "n5", []string{"web-4 n5 Pending", "ReplicaSet default/web: default/web-4: anti-affinity: InterPodAffinity 4/4: node(s) didn't match pod anti-affinity rules"}},
		{"affinity to a lost pod", "the cache was the only one and is gone with its node", func() *world {
			w := five("cpu=4")
			w.pod("", "", "cache", "n5", v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "cache"}}})
			w.app("web", "cpu=1", "n5", beside("cache", zoneKey))
			return w
		}, "n5", []string{"cache n5 Gone", "web-0 n5 Pending", "ReplicaSet default/web: default/web-0: affinity: InterPodAffinity 4/4: node(s) didn't match pod affinity rules"}},
		{"affinity to a pod that comes back later", "the pod is tried again once the cache has a node", func() *world {
			w := five("cpu=4")
			w.class("first", 100)
			w.app("cache", "cpu=1", "n5", nil)
			w.app("web", "cpu=1", "n5", func(s *v1.PodSpec) { beside("cache", zoneKey)(s); s.PriorityClassName = "first" })
			return w
		}, "n5", []string{"cache-0 n5 Placed n1", "web-0 n5 Placed n2"}},
		{"minDomains", "two zones are left and three are asked for: no zone may have more than maxSkew pods", func() *world {
			w := five("cpu=4")
			w.app("web", "cpu=1", "n1 n3 n5", spreadOver("web", zoneKey, ptr(int32(3))))
			return w
		}, "n5", []string{"web-2 n5 Pending", "ReplicaSet default/web: default/web-2: spread: PodTopologySpread 4/4: node(s) didn't match pod topology spread constraints"}},
		{"volume in the lost zone", "the volume is of zone c, which has no node any more", func() *world {
			w := five("cpu=4")
			w.stateful("db", "n1 n3 n5", appsv1.ParallelPodManagement)
			return w
		}, "n5", []string{"db-2 n5 Pending", "StatefulSet default/db: default/db-2: volumes: VolumeBinding 4/4: node(s) didn't match PersistentVolume's node affinity"}},
		{"volume in a zone with another node", "n4 is in the zone of the volume", func() *world {
			w := five("cpu=4")
			w.stateful("db", "n1 n3 n5", appsv1.ParallelPodManagement)
			return w
		}, "n3", []string{"db-1 n3 Placed n4"}},
		{"ordered pods", "db-0 cannot come back, and OrderedReady makes db-1 after db-0 only", func() *world {
			w := five("cpu=4")
			w.stateful("db", "n5 n5 n1", appsv1.OrderedReadyPodManagement)
			return w
		}, "n5", []string{"db-0 n5 Pending", "db-1 n5 Waiting",
			"StatefulSet default/db: default/db-0: volumes: VolumeBinding 4/4: node(s) didn't match PersistentVolume's node affinity",
			"StatefulSet default/db: default/db-1: order:  0/0: StatefulSet default/db makes no more pods: pod db-0 is not running and ready"}},
		{"ordered pods come back", "each is made when those before it are ready", func() *world {
			w := five("cpu=4")
			w.stateful("db", "n3 n3 n1", appsv1.OrderedReadyPodManagement)
			return w
		}, "n3", []string{"db-0 n3 Placed n4", "db-1 n3 Placed n4"}},
		{"priority displaces others", "the important pod takes the place of a batch pod, which nobody can take in", func() *world {
			w := five("cpu=1500m")
			w.class("high", 1000)
			w.app("batch", "cpu=1", "n2 n3 n4 n5", nil)
			w.app("web", "cpu=1", "n1", classed("high"))
			return w
		}, "n1", []string{"web-0 n1 Placed n2", "batch-0 n2 Pending displaced by default/web-0",
			"ReplicaSet default/batch: default/batch-0: resources: NodeResourcesFit 4/4: Insufficient cpu"}},
		{"devices gone", "the only device was on the lost node; the claim is free again, and no other node has devices", func() *world {
			w := five("cpu=4")
			w.devices("n1", "gpu-0")
			w.claim("train", "n1", "gpu-0", "uid-train-0")
			w.app("train", "cpu=1", "n1", claiming("train"))
			return w
		}, "n1", []string{"train-0 n1 Pending", "ReplicaSet default/train: default/train-0: devices: DynamicResources 4/4: cannot allocate all claims"}},
		{"devices elsewhere", "the claim loses its allocation with its last pod, and gets a device of another node", func() *world {
			w := five("cpu=4")
			w.devices("n1", "gpu-0")
			w.devices("n4", "gpu-0")
			w.claim("train", "n1", "gpu-0", "uid-train-0")
			w.app("train", "cpu=1", "n1", claiming("train"))
			return w
		}, "n1", []string{"train-0 n1 Placed n4"}},
		{"devices of a shared claim", "a pod of another node keeps the claim allocated for that node", func() *world {
			w := five("cpu=4,pods=1")
			w.devices("n1", "gpu-0")
			w.claim("train", "n1", "gpu-0", "uid-train-0", "uid-other")
			w.app("train", "cpu=1", "n2", claiming("train"))
			return w
		}, "n2", []string{"train-0 n2 Placed n1"}},
		{"devices in use", "another claim has the device of the node that is left", func() *world {
			w := five("cpu=4")
			w.devices("n1", "gpu-0")
			w.devices("n4", "gpu-0")
			w.claim("train", "n1", "gpu-0", "uid-train-0")
			w.claim("infer", "n4", "gpu-0", "uid-infer-0")
			w.app("train", "cpu=1", "n1", claiming("train"))
			w.app("infer", "cpu=1", "n4", claiming("infer"))
			return w
		}, "n1", []string{"train-0 n1 Pending", "ReplicaSet default/train: default/train-0: devices: DynamicResources 4/4: cannot allocate all claims"}},
		{"devices from a template", "the claim that was made for the pod goes with the pod, and the new pod gets a new one", func() *world {
			w := five("cpu=4")
			w.devices("n1", "gpu-0")
			w.devices("n3", "gpu-0")
			w.objects.ResourceClaimTemplates = append(w.objects.ResourceClaimTemplates, &resourcev1.ResourceClaimTemplate{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gpu"}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: deviceClaimSpec()},
			})
			w.claim("train-0-device-x", "n1", "gpu-0", "uid-train-0")
			w.objects.ResourceClaims[0].OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "train-0", UID: "uid-train-0", Controller: ptr(true)}}
			w.app("train", "cpu=1", "n1", func(s *v1.PodSpec) {
				s.ResourceClaims = []v1.PodResourceClaim{{Name: "device", ResourceClaimTemplateName: ptr("gpu")}}
			})
			w.objects.Pods[0].Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "device", ResourceClaimName: ptr("train-0-device-x")}}
			return w
		}, "n1", []string{"train-0 n1 Placed n3"}},
		{"nobody makes them again", "a bare pod, a DaemonSet's pod and a static pod", func() *world {
			w := five("cpu=4")
			t := v1.PodTemplateSpec{}
			w.pod("", "", "bare", "n1", t)
			w.pod("DaemonSet", "agent", "agent-1", "n1", t)
			p := w.pod("Node", "n1", "proxy-n1", "n1", t)
			p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"}
			return w
		}, "n1", []string{"agent-1 n1 Tied", "bare n1 Gone", "proxy-n1 n1 Tied"}},
		{"unknown controller", "the pod is made again as it was", func() *world {
			w := five("cpu=4")
			w.pod("Rollout", "web", "web-1", "n1", v1.PodTemplateSpec{})
			return w
		}, "n1", []string{"web-1 n1 Placed n2"}},
		{"taints", "the other nodes are cordoned", func() *world {
			w := five("cpu=4")
			for _, n := range w.objects.Nodes[1:] {
				n.Spec.Unschedulable = true
			}
			w.app("web", "cpu=1", "n1", nil)
			return w
		}, "n1", []string{"web-0 n1 Pending", "ReplicaSet default/web: default/web-0: taints: NodeUnschedulable 4/4: node(s) were unschedulable"}},
		{"a refused pod", "its PriorityClass is gone", func() *world {
			w := five("cpu=4")
			w.app("web", "cpu=1", "n1", classed("gone"))
			return w
		}, "n1", []string{"web-0 n1 Pending",
			`ReplicaSet default/web: default/web-0: refused:  0/0: pods "web-1" is forbidden: no PriorityClass with name gone was found`}},
		{"another scheduler", "somebody else decides", func() *world {
			w := five("cpu=4")
			w.app("web", "cpu=1", "n1", func(s *v1.PodSpec) { s.SchedulerName = "other" })
			return w
		}, "n1", []string{"web-0 n1 Foreign"}},
		{"scheduling gates", "the new pod has the template's gate", func() *world {
			w := five("cpu=4")
			w.app("web", "cpu=1", "n1", func(s *v1.PodSpec) { s.SchedulingGates = []v1.PodSchedulingGate{{Name: "quota"}} })
			return w
		}, "n1", []string{"web-0 n1 Pending", "ReplicaSet default/web: default/web-0: gates: SchedulingGates 0/0: waiting for scheduling gates: [quota]"}},
		{"no nodes left", "nothing can come back", func() *world {
			w := five("cpu=4")
			w.app("web", "cpu=1", "n1", nil)
			return w
		}, "n1 n2 n3 n4 n5", []string{"web-0 n1 Pending", "ReplicaSet default/web: default/web-0: other:  0/0: no nodes available to schedule pods"}},
	}, func(t *testing.T, c struct {
		name, why string
		cluster   func() *world
		lose      string
		want      []string
	}) {
		w := c.cluster()
		require.Equal(t, c.want, lines(w.run(t, strings.Fields(c.lose)...)))
	})
}
