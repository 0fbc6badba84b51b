package diagnose

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// wide makes a random cluster and a pending pod with every field that a change, a removal or a known end reads.
func wide(b *testkit.Bytes) (o cluster.Objects, pod *v1.Pod) {
	o, pod = random(b)
	for i := range b.Below(4) { // nodes alike
		n := o.Nodes[0].DeepCopy()
		n.Name = fmt.Sprint("like", i)
		n.Labels[v1.LabelHostname] = n.Name
		o.Nodes = append(o.Nodes, n)
	}
	added := metav1.NewTime(testkit.Epoch)
	for _, n := range o.Nodes {
		if b.OneIn(4) {
			t := v1.Taint{Key: testkit.Pick(b, "team", "late", v1.TaintNodeUnschedulable), Value: testkit.Pick(b, "", "x"), Effect: testkit.Pick(b, v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute)}
			if b.OneIn(2) {
				t.TimeAdded = &added
			}
			n.Spec.Taints = append(n.Spec.Taints, t)
			if b.OneIn(3) {
				n.Spec.Taints = append(n.Spec.Taints, t)
			}
		}
		if b.OneIn(3) {
			n.Status.Allocatable["example.com/foo"] = resource.MustParse(testkit.Pick(b, "1", "3"))
		}
		if b.OneIn(3) {
			n.Status.Images = []v1.ContainerImage{{Names: []string{"app:v1"}, SizeBytes: 500 << 20}}
		}
	}
	for i, p := range o.Pods {
		wideRunning(b, p, i)
	}
	o.PodDisruptionBudgets = wideBudgets(b)
	widePending(b, &o, pod)
	return o, pod
}

func wideRunning(b *testkit.Bytes, p *v1.Pod, i int) {
	controller := true
	switch b.Below(8) {
	case 0:
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: testkit.Pick(b, "DaemonSet", "ReplicaSet"), Name: "x", UID: "x", Controller: &controller}}
	case 1:
		p.Annotations = map[string]string{testkit.Pick(b, "kubernetes.io/config.source", "kubernetes.io/config.mirror"): "file"}
	case 2:
		p.Namespace = "other"
	case 3:
		p.Spec.Volumes = claimed("one")
	}
	if b.OneIn(4) {
		gone := metav1.NewTime(testkit.Epoch.Add(time.Duration(b.Below(100)) * time.Second))
		p.DeletionTimestamp = &gone
	}
	if b.OneIn(4) {
		started, most := metav1.NewTime(testkit.Epoch), int64(b.Below(90))
		p.Status.StartTime, p.Spec.ActiveDeadlineSeconds = &started, &most
	}
	if b.OneIn(3) {
		seconds := int64(b.Below(90)) - 20
		p.Spec.Tolerations = []v1.Toleration{{Key: testkit.Pick(b, "", "team", "late"), Operator: v1.TolerationOpExists, TolerationSeconds: &seconds}}
	}
	if b.OneIn(3) {
		p.Labels["tier"] = "x"
	}
	p.UID = types.UID(fmt.Sprint("u", i))
}

func claimed(name string) []v1.Volume {
	return []v1.Volume{{Name: name, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
}

func wideBudgets(b *testkit.Bytes) (out []*policyv1.PodDisruptionBudget) {
	for _, app := range []string{"a", "b", ""} {
		if !b.OneIn(2) {
			continue
		}
		pdb := budget("pdb-"+app, app, int32(b.Below(3))-1)
		if app == "" {
			pdb.Spec.Selector.MatchLabels = map[string]string{"tier": "x"}
		}
		amount := testkit.Pick(b, intstr.FromInt32(0), intstr.FromInt32(2), intstr.FromString("50%"))
		switch b.Below(3) {
		case 0:
			pdb.Spec.MinAvailable = &amount
		case 1:
			pdb.Spec.MinAvailable, pdb.Spec.MaxUnavailable = nil, &amount
		}
		if b.OneIn(2) {
			pdb.Status.ExpectedPods, pdb.Status.CurrentHealthy = int32(1+b.Below(4)), int32(b.Below(4))
		}
		if b.OneIn(4) {
			pdb.Status.DisruptedPods = map[string]metav1.Time{"r0": metav1.NewTime(testkit.Epoch)}
		}
		out = append(out, pdb)
	}
	return out
}

func widePending(b *testkit.Bytes, o *cluster.Objects, pod *v1.Pod) {
	s := &pod.Spec
	for i := range s.Containers {
		s.Containers[i].Image = "app:v1"
	}
	for i := range b.Below(3) {
		if b.OneIn(6) {
			s.SchedulingGates = append(s.SchedulingGates, v1.PodSchedulingGate{Name: fmt.Sprint("gate", i)})
		}
	}
	if b.OneIn(6) {
		c := v1.Container{Name: "second", Resources: v1.ResourceRequirements{Requests: testkit.Resources(testkit.Pick(b, "cpu=1", "cpu=1500m,memory=3Gi", "memory=7Gi"))}}
		c.Ports = []v1.ContainerPort{{ContainerPort: 1}, {ContainerPort: 80, HostPort: 80, Protocol: v1.ProtocolTCP}}
		s.Containers = append(s.Containers, c)
	}
	if b.OneIn(6) {
		s.InitContainers = []v1.Container{{Name: "init", Resources: v1.ResourceRequirements{Requests: testkit.Resources(testkit.Pick(b, "cpu=3", "memory=9Gi"))}}}
	}
	if b.OneIn(6) {
		s.Overhead = testkit.Resources("cpu=250m,memory=64Mi")
	}
	if b.OneIn(6) {
		n := testkit.Resources(testkit.Pick(b, "example.com/foo=1", "example.com/foo=2", "example.com/foo=4"))
		s.Containers[0].Resources.Limits = n
		s.Containers[0].Resources.Requests["example.com/foo"] = n["example.com/foo"]
	}
	if b.OneIn(6) {
		s.Tolerations = []v1.Toleration{{Key: testkit.Pick(b, "team", "old"), Operator: v1.TolerationOpExists, Effect: testkit.Pick(b, "", v1.TaintEffectNoSchedule)}}
	}
	if b.OneIn(6) {
		s.Priority = new(int32)
		*s.Priority = int32(b.Below(3))
	}
	if b.OneIn(6) {
		pod.Spec.Affinity = addPreference(pod.Spec.Affinity, "disk", testkit.Pick(b, "ssd", "hdd"))
	}
	if b.OneIn(6) {
		requireWide(b, s)
	}
	if b.OneIn(6) {
		honor, n := v1.NodeInclusionPolicyHonor, int32(2+b.Below(3))
		s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: "disk", WhenUnsatisfiable: testkit.Pick(b, v1.DoNotSchedule, v1.DoNotSchedule, v1.ScheduleAnyway),
			LabelSelector: &metav1.LabelSelector{MatchLabels: testkit.Pairs(testkit.Pick(b, "app=a", "app=b"))}})
		if c := &s.TopologySpreadConstraints[len(s.TopologySpreadConstraints)-1]; c.WhenUnsatisfiable == v1.DoNotSchedule {
			c.MinDomains, c.NodeTaintsPolicy = &n, &honor
		}
	}
	if b.OneIn(3) {
		wideVolumes(b, o, s)
	}
	switch b.Below(12) {
	case 0: // the pod asks as a whole
		s.Resources = &v1.ResourceRequirements{Requests: testkit.Resources("cpu=3,memory=6Gi")}
	case 1: // limits are requests
		s.Containers[0].Resources.Limits, s.Containers[0].Resources.Requests = s.Containers[0].Resources.Requests, nil
	case 2: // more changes than a search holds
		for k := range 45 {
			s.Containers[0].Ports = append(s.Containers[0].Ports, v1.ContainerPort{ContainerPort: 1, HostPort: int32(1000 + k), Protocol: v1.ProtocolTCP})
		}
	case 3: // a volume without a claim, and one with a claim that is made for it
		s.Volumes = append(s.Volumes, v1.Volume{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
			v1.Volume{Name: "scratch", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{}}}})
		s.Containers[0].VolumeDevices = []v1.VolumeDevice{{Name: "scratch"}, {Name: "other"}}
	}
}

// requireWide asks for labels with every operator, and for fields.
func requireWide(b *testkit.Bytes, s *v1.PodSpec) {
	if s.Affinity == nil {
		s.Affinity = &v1.Affinity{}
	}
	if s.Affinity.NodeAffinity == nil {
		s.Affinity.NodeAffinity = &v1.NodeAffinity{}
	}
	var terms []v1.NodeSelectorTerm
	for range 1 + b.Below(2) {
		var t v1.NodeSelectorTerm
		for range 1 + b.Below(2) {
			r := v1.NodeSelectorRequirement{Key: testkit.Pick(b, "disk", zone, "rack"), Operator: testkit.Pick(b, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist)}
			if r.Operator == v1.NodeSelectorOpIn || r.Operator == v1.NodeSelectorOpNotIn {
				r.Values = testkit.Pick(b, []string{"a", "b"}, []string{"ssd"}, []string{"hdd", "ssd"})
			}
			t.MatchExpressions = append(t.MatchExpressions, r)
		}
		if b.OneIn(4) {
			t.MatchFields = []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: testkit.Pick(b, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn), Values: []string{"n1"}}}
		}
		terms = append(terms, t)
	}
	s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: terms}
}

// wideVolumes gives the pod a claim that is missing, unbound, bound to a volume of one zone or of none, or for one pod alone.
func wideVolumes(b *testkit.Bytes, o *cluster.Objects, s *v1.PodSpec) {
	s.Volumes = claimed(testkit.Pick(b, "one", "data"))
	s.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: s.Volumes[0].Name}, {Name: "other"}}
	name := s.Volumes[0].Name
	if b.OneIn(4) {
		return
	}
	c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	c.Spec.AccessModes = []v1.PersistentVolumeAccessMode{testkit.Pick(b, v1.ReadWriteOncePod, v1.ReadWriteOncePod, v1.ReadWriteMany)}
	if b.OneIn(3) {
		class := "fast"
		c.Spec.StorageClassName = &class
	}
	if c.Spec.Resources.Requests = testkit.Resources("storage=2Gi"); !b.OneIn(4) {
		pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", Labels: map[string]string{}}}
		pv.Spec.AccessModes, pv.Spec.Capacity = c.Spec.AccessModes, c.Spec.Resources.Requests
		pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: name}
		switch b.Below(4) {
		case 0:
			pv.Labels[testkit.Pick(b, zone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone)] = "a"
		case 1, 2:
			pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: zone, Operator: v1.NodeSelectorOpIn, Values: []string{"a"}}}}}}}
		}
		o.PersistentVolumes = append(o.PersistentVolumes, pv)
		c.Spec.VolumeName, c.Annotations = "pv", map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	}
	o.Claims = append(o.Claims, c)
}

// wideDevices gives the pod a claim in a container, constraints of both kinds, and claims that hold devices for nobody. Some pods have a
// claim that does not exist.
func wideDevices(b *testkit.Bytes, o *cluster.Objects, pod *v1.Pod) {
	randomDevices(b, o, pod)
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}, {Name: "other"}}
	}
	numa := resourcev1.FullyQualifiedName(driver + "/numa")
	for _, c := range o.ResourceClaims {
		if c.Name == "pending" && b.OneIn(2) {
			c.Spec.Devices.Constraints = append(c.Spec.Devices.Constraints, resourcev1.DeviceConstraint{DistinctAttribute: &numa})
		}
		if c.Name != "pending" && b.OneIn(2) { // the claim was made for its pod
			for _, r := range c.Status.ReservedFor {
				controller := true
				c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: r.Name, UID: r.UID, Controller: &controller}}
			}
		}
	}
	if b.OneIn(4) {
		for k := range 8 {
			gpus(o, fmt.Sprint("idle", k), 1)
			c := claim(o, fmt.Sprint("idle", 9-k), 1, false)
			c.Namespace = []string{"default", "other", "another"}[k%3]
			give(c, fmt.Sprint("idle", k), 0, nil)
		}
	}
	if b.OneIn(6) {
		uses(pod, "missing")
	}
}

// roomy makes a cluster with room, and a pod that asks for little and has wishes.
func roomy(b *testkit.Bytes) (o cluster.Objects, pod *v1.Pod) {
	for i := range 2 + b.Below(3) {
		n := testkit.Node(fmt.Sprint("n", i)).Zone(testkit.Pick(b, "a", "b")).Capacity(testkit.Pick(b, "cpu=4,memory=8Gi", "cpu=6,memory=8Gi"))
		if b.OneIn(3) {
			n = n.Taint(testkit.Pick(b, "soft:PreferNoSchedule", "old:PreferNoSchedule"))
		}
		if b.OneIn(2) {
			n = n.Image(int64(200+100*b.Below(8))<<20, "app:v1", "app:latest")
		}
		if b.OneIn(2) {
			n = n.Label("disk", testkit.Pick(b, "ssd", "hdd"))
		}
		o.Nodes = append(o.Nodes, n.Obj())
	}
	for i := range b.Below(9) {
		p := testkit.Pod(fmt.Sprint("r", i)).On(o.Nodes[b.Below(len(o.Nodes))].Name).Labels(testkit.Pick(b, "app=a", "app=b")).Request(testkit.Pick(b, "cpu=1", "cpu=300m,memory=1Gi", "memory=500Mi"))
		if b.OneIn(4) {
			p = p.PreferWith(int32(1+b.Below(100)), zone, "app=a")
		}
		if b.OneIn(5) {
			p = p.NodeSelector(zone + "=" + testkit.Pick(b, "a", "b"))
		}
		o.Pods = append(o.Pods, p.Obj())
		wideRunning(b, p.Obj(), i)
	}
	p := testkit.Pod("pending").Labels("app=a").Image("app:v1").Request(testkit.Pick(b, "cpu=1,memory=1Gi", "cpu=500m,memory=2Gi", "cpu=100m"))
	if b.OneIn(2) {
		p = p.Spread(1, zone, v1.ScheduleAnyway, "app=a")
	}
	if b.OneIn(3) {
		p = p.PreferWith(int32(1+b.Below(100)), v1.LabelHostname, "app=b")
	}
	pod = p.Obj()
	if b.OneIn(2) {
		pod.Spec.Affinity = addPreference(pod.Spec.Affinity, "disk", testkit.Pick(b, "ssd", "hdd"))
	}
	if b.OneIn(4) {
		randomDevices(b, &o, pod)
		if b.OneIn(2) {
			pod.Spec.ResourceClaims = nil
		}
	}
	return o, pod
}
