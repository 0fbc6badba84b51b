package upgrade

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/tools/dump"
)

// A difference concerns the pods that ask for what it is about, and the verdicts that it can make.
func TestConcerns(t *testing.T) {
	image := testkit.Pod("p").Obj()
	image.Spec.Volumes = []v1.Volume{{}, {VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{}}}}
	claims := testkit.Pod("p").Obj()
	claims.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "c"}}
	storage := testkit.Pod("p").Obj()
	storage.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{}}}}
	plain, extended, on := testkit.Pod("p").Request("cpu=1").Obj(), testkit.Pod("p").Request("cpu=1,example.com/gpu=1,memory=1Gi").Obj(), testkit.Pod("p").On("n1").Obj()
	extended.Spec.Containers = append(extended.Spec.Containers, plain.Spec.Containers...)
	n1, n2 := verdict{Node: "n1"}, verdict{Node: "n2"}
	no, other := verdict{Message: "no"}, verdict{Message: "no", NominatedNode: "n1"}
	pods := map[string][2]*v1.Pod{ // one that is concerned, one that is not
		"L2.1": {on, plain}, "L3.5": {on, plain}, "L3.2": {storage, image}, "L3.3": {extended, plain}, "L5.2": {image, storage}, "L2.3": {claims, plain},
	}
	for id, p := range pods {
		require.True(t, possible[id](p[0], n1, n2), id)
		require.False(t, possible[id](p[1], n1, n2), id)
	}
	for id, want := range map[string]string{
		"L2.3": "true false false false", "L2.4": "true false false false", "L3.1": "false true true true", "L6.1": "false false true true", "L6.2": "false false false true",
	} {
		var got string
		for _, v := range [][2]verdict{{n1, n2}, {n1, no}, {no, no}, {no, other}} {
			for _, pair := range [][2]verdict{v, {v[1], v[0]}} {
				got += fmt.Sprint(possible[id](claims, pair[0], pair[1]), " ")
			}
		}
		var twice string
		for _, word := range strings.Fields(want) {
			twice += word + " " + word + " "
		}
		require.Equal(t, twice, got, id)
	}
	require.True(t, asksExtended(testkit.Pod("p").Request("example.com/gpu=1,hugepages-2Mi=2Mi").Obj()), "whatever else the pod asks for")
	require.False(t, possible["L6.1"](plain, other, other), "both have a node")
	require.True(t, possible["L6.2"](plain, other, other))
	require.False(t, possible["L6.1"](plain, n1, no))
}

// Only a required term with a namespace selector selects namespaces.
func TestSelectsNamespaces(t *testing.T) {
	term := func(s *metav1.LabelSelector) []v1.PodAffinityTerm {
		return []v1.PodAffinityTerm{{}, {NamespaceSelector: s}}
	}
	all := &metav1.LabelSelector{}
	for _, c := range []struct {
		affinity *v1.Affinity
		want     bool
	}{
		{nil, false}, {&v1.Affinity{}, false}, {&v1.Affinity{PodAffinity: &v1.PodAffinity{}}, false},
		{&v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(nil)}}, false},
		{&v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(all)}}, true},
		{&v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{PodAffinityTerm: term(all)[1]}}}}, false},
		{&v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(nil)}}, false},
		{&v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(all)}}, true},
		{&v1.Affinity{PodAffinity: &v1.PodAffinity{}, PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(all)}}, true},
	} {
		p := testkit.Pod("p").Obj()
		p.Spec.Affinity = c.affinity
		require.Equal(t, c.want, selectsNamespaces(p), "%+v", c.affinity)
	}
}

// A node with pods that count with other amounts has the rules of all these pods.
func TestResizedNodes(t *testing.T) {
	pod := func(name, node string, change func(p *v1.Pod)) *v1.Pod {
		p := testkit.Pod(name).Request("cpu=1").On(node).Obj()
		p.Spec.InitContainers = []v1.Container{{Name: "i", Resources: v1.ResourceRequirements{Requests: testkit.Resources("cpu=1")}}}
		p.Status.Phase = v1.PodRunning
		change(p)
		return p
	}
	init := func(p *v1.Pod) {
		p.Status.InitContainerStatuses = []v1.ContainerStatus{{Name: "x"}, {Name: "i", Resources: &v1.ResourceRequirements{Requests: testkit.Resources("cpu=3")}}}
	}
	own := func(p *v1.Pod) { // 4 cpu before v1.37, 3 since
		amount := func(cpu string) v1.ResourceRequirements {
			return v1.ResourceRequirements{Requests: testkit.Resources("cpu=" + cpu)}
		}
		p.Spec.Containers = []v1.Container{{Name: "a", Resources: amount("2")}, {Name: "b", Resources: amount("1")}}
		one, two := amount("1"), amount("2")
		p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "a", Resources: &one}, {Name: "b", Resources: &two}}
	}
	allocated := func(p *v1.Pod) {
		own(p)
		for i := range p.Status.ContainerStatuses {
			s := &p.Status.ContainerStatuses[i]
			s.AllocatedResources, s.Resources = testkit.Resources("cpu=5"), nil
		}
	}
	both := func(p *v1.Pod) { own(p); init(p) }
	podLevel := func(p *v1.Pod) {
		p.Spec.Resources = &v1.ResourceRequirements{Requests: testkit.Resources("cpu=2")}
		p.Status.Resources = &v1.ResourceRequirements{Requests: testkit.Resources("cpu=5")}
		p.Status.AllocatedResources = testkit.Resources("cpu=3")
	}
	m := &dump.Objects{Pods: []*v1.Pod{
		pod("a", "n1", init), pod("b", "n1", podLevel), pod("c", "n2", both), pod("d", "", init), pod("e", "n3", func(*v1.Pod) {}), pod("f", "n4", own), pod("g", "n5", allocated), pod("h", "n6", podLevel), pod("i", "n4", init),
	}}
	const since37 = "map[n1:map[L4.3:true] n2:map[L4.1:true L4.3:true] n4:map[L4.1:true L4.3:true] n5:map[L4.1:true]]"
	const since34 = "map[n1:map[L4.2:true L4.3:true] n2:map[L4.1:true L4.3:true] n4:map[L4.1:true L4.3:true] n5:map[L4.1:true] n6:map[L4.2:true]]"
	for _, c := range []struct {
		from, to release.Version
		want     string
	}{
		{release.V1_36, release.V1_37, since37}, {release.V1_37, release.V1_36, since37}, {release.V1_34, release.V1_37, since34},
		{release.V1_35, release.V1_36, "map[n1:map[L4.2:true] n6:map[L4.2:true]]"}, {release.V1_34, release.V1_35, "map[]"}, {release.V1_37, release.V1_37, "map[]"},
	} {
		require.Equal(t, c.want, fmt.Sprint(resizedNodes(m, options{from: version{c.from}, to: version{c.to}})), "%v to %v", c.from, c.to)
	}
}

// A running pod that both versions refuse is not told, and only the rule that refuses it is named.
func TestRefusedBefore(t *testing.T) {
	const cluster = `
{apiVersion: v1, kind: Namespace, metadata: {name: default}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: vault, labels: {secret: "1"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: "%s", memory: 10Gi, pods: "110", example.com/gpu: "1"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: target, namespace: vault, labels: {app: tgt}}, spec: {nodeName: n1, containers: [{name: c}]}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: near, namespace: default}, spec: {nodeName: n1, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: tgt}}, namespaceSelector: {matchExpressions: [{key: secret, operator: DoesNotExist}]}}]}}, containers: [{name: c, resources: {requests: {cpu: "2", example.com/gpu: "1"}}}]}, status: {phase: Running}}
`
	for cpu, want := range map[string]string{"4": "default/near L3.4", "1": ""} {
		require.Equal(t, want, rulesOf(t, fmt.Sprintf(cluster, cpu), "1.34", "1.37"), cpu)
	}
}

// A scheduler is made once for a version and a part, and only for parts that differ between the versions.
func TestSchedulersAreKept(t *testing.T) {
	m := &dump.Objects{Nodes: []*v1.Node{testkit.Node("n1").Obj()}}
	o := options{from: version{release.V1_36}, to: version{release.V1_37}}
	x := mixes{}
	ask := func() []*scheduler {
		x.reasons(m, o, testkit.Pod("p").Obj(), verdict{}, verdict{})
		return append(slices.Clone(x[release.V1_36]), x[release.V1_37]...)
	}
	made := ask()
	require.Equal(t, made, ask())
	for k, s := range ask() {
		require.Same(t, made[k], s)
		require.Equal(t, differ(parts[k%len(parts)].rules, o), s != nil, parts[k%len(parts)].rules)
	}
}

// Every node is looked at, also in clusters in which kube-scheduler looks at a part of them.
func TestAllNodesAreLookedAt(t *testing.T) {
	m := &dump.Objects{}
	for i := range 250 {
		n := testkit.Node(fmt.Sprintf("n%03d", i)).Capacity("cpu=10,memory=10Gi,pods=10").Obj()
		m.Nodes = append(m.Nodes, n)
		if i != 249 {
			m.Pods = append(m.Pods, testkit.Pod(fmt.Sprint("p", i)).Request("cpu=5,memory=5Gi").On(n.Name).Obj())
		}
	}
	s := newScheduler(m, placement.PluginArgs{}, all(release.V1_36))
	require.Equal(t, verdict{Outcome: "Scheduled", Node: "n249"}, s.ask(testkit.Pod("new").Request("cpu=1,memory=1Gi").Obj()))
}
