package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// fieldsCluster has nodes, pods and other objects for which every field that a plugin reads can change a decision.
func fieldsCluster(t *testing.T) *cluster.Snapshot {
	var o cluster.Objects
	for i := range 6 {
		n := testkit.Node(fmt.Sprintf("n%d", i+1)).Zone(string("abc"[i%3])).Label("disk", []string{"ssd", "hdd"}[i%2]).
			Capacity(fmt.Sprintf("cpu=%d,memory=%dGi,example.com/gpu=%d", 4+i, 8+3*i, i%3))
		switch i {
		case 0:
			n = n.Taint("dedicated=db:NoSchedule").Image(700<<20, "sidecar:v1")
		case 1:
			n = n.Taint("slow=yes:PreferNoSchedule").Image(800<<20, "web:v1")
		case 2:
			n = n.Image(900<<20, "db:v1").Taint("x:NoSchedule")
		case 5:
			n = n.Unschedulable()
		}
		node := n.Obj()
		if i%2 == 0 {
			node.Status.DeclaredFeatures = []string{"RestartAllContainersOnContainerExits"}
		}
		if i == 1 {
			node.Status.DeclaredFeatures = []string{"UserNamespacesHostNetworkSupport"}
		}
		o.Nodes = append(o.Nodes, node)
	}
	o.Pods = append(o.Pods,
		testkit.Pod("web-0").Labels("app=web").Request("cpu=1").On("n2").Obj(),
		testkit.Pod("web-1").Labels("app=web").Request("cpu=500m").On("n4").HostPort("10.0.0.1", v1.ProtocolTCP, 8080).Obj(),
		testkit.Pod("x/web-2").Labels("app=web").Request("cpu=500m").On("n3").HostPort("", v1.ProtocolUDP, 8080).Obj(),
		testkit.Pod("db-0").Labels("app=db").Request("memory=1Gi").On("n5").RequireApart(v1.LabelTopologyZone, "app=x").Obj(),
		testkit.Pod("web-3").Labels("app=web").On("n6").Obj(),
		testkit.Pod("x/web-4").Labels("app=web").On("n4").Obj(),
		testkit.Pod("terms").On("n5").RequireApart(v1.LabelHostname, "tier=c").PreferWith(100, v1.LabelHostname, "tier=tier").Obj(),
		testkit.Pod("x/db-1").Labels("app=db").On("n1").PreferWith(50, v1.LabelHostname, "tier=front").Obj(),
	)
	for _, namespace := range []string{"default", "x"} {
		o.Services = append(o.Services, &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
			Spec: v1.ServiceSpec{Selector: map[string]string{"app": "web"}}})
		o.Namespaces = append(o.Namespaces, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"name": namespace}}})
	}
	for _, name := range []string{"web", "db"} {
		o.ReplicaSets = append(o.ReplicaSets, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}})
	}
	o.StorageClasses = []*storagev1.StorageClass{storageClass("local", "kubernetes.io/no-provisioner")}
	o.PersistentVolumes = []*v1.PersistentVolume{disk("disk-a", "local", "a", "10Gi"), disk("disk-b", "local", "b", "100Gi")}
	o.Claims = []*v1.PersistentVolumeClaim{waiting("web", "local", "5Gi"), waiting("db", "local", "50Gi")}
	own := waiting("p-own", "local", "5Gi")
	yes := true
	own.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: barePod().UID, Controller: &yes}}
	o.Claims = append(o.Claims, own)
	o.Nodes = append(o.Nodes, testkit.Node("bare").Capacity("cpu=2,memory=4Gi").Obj()) // in no zone
	s, err := cluster.New(o)
	require.NoError(t, err)
	return s
}

// fullPod sets the fields that plugins read; barePod leaves them out.
func fullPod() *v1.Pod {
	p := testkit.Pod("p").Labels("app=web,tier=front").Request("cpu=500m,memory=1Gi").Limit("cpu=1").Image("web:v1").
		Tolerate("dedicated", v1.TolerationOpEqual, "db", v1.TaintEffectNoSchedule).NodeSelector("disk=ssd").
		RequireApart(v1.LabelHostname, "app=db").PreferWith(10, v1.LabelTopologyZone, "app=db").
		Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app=web").Spread(1, v1.LabelHostname, v1.ScheduleAnyway, "app=web").
		Owner("apps/v1", "ReplicaSet", "web").Obj()
	p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []v1.PodAffinityTerm{{
		TopologyKey: v1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	p.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpExists}}}}},
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 7, Preference: v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{"b"}}}}}},
	}
	always, honor, one := v1.ContainerRestartPolicyAlways, v1.NodeInclusionPolicyHonor, int32(1)
	p.Spec.InitContainers = []v1.Container{{Name: "init", Image: "db:v1", RestartPolicy: &always, Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{"cpu": resource.MustParse("100m")}}}}
	p.Spec.Overhead = v1.ResourceList{"cpu": resource.MustParse("50m")}
	p.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy, p.Spec.TopologySpreadConstraints[0].NodeAffinityPolicy = &honor, &honor
	p.Spec.TopologySpreadConstraints[0].MinDomains = &one
	return p
}

func barePod() *v1.Pod { return testkit.Pod("p").Labels("app=web").Request("cpu=500m").Obj() }

// fieldPods are a pod with all of these fields, a pod with none of them, and pods whose decision depends on a single
// field.
func fieldPods() map[string]*v1.Pod {
	full, out := fullPod(), map[string]*v1.Pod{}
	pod := func(name string, change func(p *v1.Pod)) {
		p := barePod()
		change(p)
		out[name] = p
	}
	out["full"], out["bare"] = full, barePod()
	pod("spread", func(p *v1.Pod) { p.Spec.TopologySpreadConstraints = full.DeepCopy().Spec.TopologySpreadConstraints })
	pod("terms", func(p *v1.Pod) {
		p.Spec.Affinity = full.DeepCopy().Spec.Affinity
		p.Spec.Affinity.NodeAffinity, p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil, nil
	})
	pod("nodes", func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: full.DeepCopy().Spec.Affinity.NodeAffinity}
		p.Spec.Tolerations = full.DeepCopy().Spec.Tolerations
	})
	return out
}

// keyPods are fieldPods, and pods for fields that change a decision only together with other fields.
func keyPods() map[string]*v1.Pod {
	out := fieldPods()
	pod := func(name string, change func(p *v1.Pod)) {
		p := barePod()
		change(p)
		out[name] = p
	}
	pod("tolerations", func(p *v1.Pod) {
		p.Spec.Tolerations = []v1.Toleration{{Key: "dedicated", Operator: v1.TolerationOpExists}, {Key: "slow", Value: "yes", Effect: v1.TaintEffectPreferNoSchedule}}
	})
	pod("node fields", func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpNotIn, Values: []string{"n1"}}}}},
		}}}
	})
	pod("namespaces", func(p *v1.Pod) {
		term := testkit.Term(v1.LabelHostname, "app=web")
		list, selected := *term.DeepCopy(), *term.DeepCopy()
		list.Namespaces, selected.NamespaceSelector = []string{"x"}, &metav1.LabelSelector{MatchLabels: map[string]string{"name": "x"}}
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  []v1.PodAffinityTerm{list},
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 5, PodAffinityTerm: selected}},
		}}
	})
	pod("controlled", func(p *v1.Pod) {
		p.Labels = map[string]string{"tier": "back"}
		controls := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "db", Controller: &controls}}
	})
	for _, action := range []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway} {
		constraint := v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: action,
			LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}}
		pod("domains "+string(action), func(p *v1.Pod) {
			one := int32(1)
			constraint.MinDomains = &one
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{constraint}
			constraint.MinDomains = nil
		})
		pod("inclusion "+string(action), func(p *v1.Pod) {
			honor, ignore := v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore
			constraint.NodeTaintsPolicy, constraint.NodeAffinityPolicy = &honor, &ignore
			p.Namespace, p.Spec.NodeSelector = "x", map[string]string{"disk": "ssd"}
			p.Spec.Tolerations = []v1.Toleration{{Key: "dedicated", Operator: v1.TolerationOpExists}}
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{constraint}
		})
		pod("label keys "+string(action), func(p *v1.Pod) {
			constraint.MatchLabelKeys = []string{"tier"}
			p.Labels["tier"] = "front"
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{constraint}
		})
	}
	pod("like the defaults", func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = testkit.Pod("p").Spread(3, v1.LabelHostname, v1.ScheduleAnyway, "app=web").
			Spread(5, v1.LabelTopologyZone, v1.ScheduleAnyway, "app=web").Obj().Spec.TopologySpreadConstraints
	})
	pod("three soft constraints", func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = testkit.Pod("p").Spread(1, v1.LabelHostname, v1.ScheduleAnyway, "app=web").
			Spread(1, v1.LabelTopologyZone, v1.ScheduleAnyway, "app=db").Spread(1, "disk", v1.ScheduleAnyway, "app=web").Obj().Spec.TopologySpreadConstraints
	})
	pod("three hard constraints", func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = testkit.Pod("p").Spread(1, v1.LabelHostname, v1.DoNotSchedule, "app=web").
			Spread(2, v1.LabelTopologyZone, v1.DoNotSchedule, "app=web").Spread(3, v1.LabelHostname, v1.DoNotSchedule, "app=web").Obj().Spec.TopologySpreadConstraints
	})
	pod("own group", func(p *v1.Pod) {
		p.Labels = map[string]string{"tier": "x"}
		p.Spec.Affinity = testkit.Pod("p").RequireWith(v1.LabelTopologyZone, "tier=x").Obj().Spec.Affinity
	})
	pod("one of two terms", func(p *v1.Pod) { p.Labels = map[string]string{"tier": "c"} })
	out["empty"] = &v1.Pod{}
	pod("images", func(p *v1.Pod) {
		p.Spec.InitContainers = []v1.Container{{Image: "db:v1"}}
		p.Spec.Containers[0].Image = "web:v1"
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "sidecar:v1"}}}}
	})
	pod("ports", func(p *v1.Pod) {
		always := v1.ContainerRestartPolicyAlways
		p.Spec.InitContainers = []v1.Container{{RestartPolicy: &always, Ports: []v1.ContainerPort{{HostPort: 8080, Protocol: v1.ProtocolUDP}}}}
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 8080, HostIP: "10.0.0.1", Protocol: v1.ProtocolTCP}}
	})
	pod("features", func(p *v1.Pod) {
		p.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}
	})
	pod("host", func(p *v1.Pod) { p.Spec.HostNetwork, p.Spec.HostUsers = true, new(bool) })
	pod("claims", func(p *v1.Pod) { p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}} })
	pod("amounts", func(p *v1.Pod) {
		p.Spec.Resources = &v1.ResourceRequirements{Requests: testkit.Resources("cpu=2"), Limits: testkit.Resources("cpu=3")}
		p.Spec.Containers[0].Resources.Limits = testkit.Resources("cpu=3,memory=1Gi")
		p.Spec.InitContainers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: testkit.Resources("example.com/gpu=1")}}}
	})
	pod("claim", func(p *v1.Pod) { mounting(p, "web", "db") })
	pod("ephemeral", func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "own", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}}
	})
	return out
}
