package volumes_test

import (
	"fmt"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/volumes"
)

// nodes is a cluster of nodes without pods.
type nodes []*v1.Node

func (n nodes) Len() int                   { return len(n) }
func (n nodes) Node(i int) *v1.Node        { return n[i] }
func (n nodes) Pods(int) iter.Seq[*v1.Pod] { return slices.Values([]*v1.Pod(nil)) }

// Three zones and five nodes.
func exampleNodes() nodes {
	var out nodes
	for k, zone := range []string{"a", "a", "b", "b", "c"} {
		out = append(out, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", k+1), Labels: map[string]string{v1.LabelTopologyZone: zone}}})
	}
	return out
}

// The class "local" has one volume for databases, in zone b.
func exampleObjects(claims ...*v1.PersistentVolumeClaim) volumes.Objects {
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk-b"}}
	pv.Spec.StorageClassName = "local"
	pv.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("100Gi")}
	pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{"b"}}}}}}}
	pv.Status.Phase = v1.VolumeAvailable
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &mode}
	return volumes.Objects{Claims: volumes.List(claims...), PersistentVolumes: volumes.List(pv), StorageClasses: volumes.List(class)}
}

func exampleClaim(name string) *v1.PersistentVolumeClaim {
	class := "local"
	c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	c.Spec.StorageClassName = &class
	c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("50Gi")}
	return c
}

func examplePod(name, claim string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	return p
}

// Two database pods want one volume. The ledger keeps the volume for the first pod.
func Example() {
	cluster := exampleNodes()
	ledger := volumes.NewLedger(exampleObjects(exampleClaim("data-db-1"), exampleClaim("data-db-2")))
	for _, name := range []string{"db-1", "db-2"} {
		pod := examplePod(name, "data-"+name)
		state := volumes.Compile(pod, ledger.Objects(), volumes.Options{}).Binding().On(cluster)
		ps := filter.Predicates{state}
		found := filter.Search{Candidates: []int{0, 1, 2, 3, 4}, Limit: 1}.Run(ps, nil)
		if len(found.Feasible) == 0 {
			fmt.Println(name, filter.Message{Nodes: 5, Reasons: found.Rejected.Counts(ps)})
			continue
		}
		i := found.Feasible[0]
		decision, _ := state.Bindings(i)
		fmt.Println(name, "to", cluster[i].Name, "with", decision.Bind[0].Volume.Name)
		if err := ledger.Assume(pod, cluster[i], decision); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// db-1 to n3 with disk-b
	// db-2 0/5 nodes are available: 5 node(s) didn't find available persistent volumes to bind.
}

// A claim that does not exist rejects the pod before any node is checked.
func ExamplePod() {
	p := volumes.Compile(examplePod("web", "nowhere"), exampleObjects(), volumes.Options{})
	answer := p.Binding().PreFilter()
	fmt.Println(answer.Code, answer.Reasons[0])
	// Output: UnschedulableAndUnresolvable persistentvolumeclaim "nowhere" not found
}

// The zone of a bound volume rejects the nodes of other zones.
func ExamplePod_Zone() {
	cluster := exampleNodes()
	claim := exampleClaim("data-db")
	claim.Spec.VolumeName = "disk-b"
	objects := exampleObjects(claim)
	disk, _ := objects.PersistentVolumes.Get("", "disk-b")
	disk.Labels = map[string]string{v1.LabelTopologyZone: "b"}
	state := volumes.Compile(examplePod("db", "data-db"), objects, volumes.Options{}).Zone().On(cluster)
	for i, node := range cluster {
		fmt.Println(node.Name, state.Reasons(state.Check(i)))
	}
	// Output:
	// n1 [node(s) had no available volume zone]
	// n2 [node(s) had no available volume zone]
	// n3 []
	// n4 []
	// n5 [node(s) had no available volume zone]
}

// The CSI driver of node n1 attaches one volume, and a running pod has it.
func ExamplePod_Limits() {
	cluster := exampleNodes()
	one := int32(1)
	csiNode := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: "ebs.csi.aws.com", Allocatable: &storagev1.VolumeNodeResources{Count: &one}},
	}}}
	objects := volumes.Objects{CSINodes: volumes.List(csiNode)}
	ebs := func(pod, id string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: pod, UID: types.UID(pod)}}
		p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: id}}}}
		return p
	}
	usage := volumes.NewUsage(cluster, objects)
	usage.Add(ebs("web", "vol-1"), 0)
	state := volumes.Compile(ebs("db", "vol-2"), objects, volumes.Options{}).Limits().On(usage)
	fmt.Println(state.Reasons(state.Check(0)), state.Explain(0))
	fmt.Println(state.Reasons(state.Check(1)))
	// Output:
	// [node(s) exceed max volume count] [{ebs.csi.aws.com 1 1 1}]
	// []
}

// A disk that a running pod writes to cannot be attached to the same node for another pod.
func ExamplePod_Restrictions() {
	cluster := exampleNodes()
	disk := func(pod string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: pod, UID: types.UID(pod)}}
		p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "models"}}}}
		return p
	}
	usage := volumes.NewUsage(cluster, volumes.Objects{})
	usage.Add(disk("web"), 0)
	state := volumes.Compile(disk("gpu"), volumes.Objects{}, volumes.Options{}).Restrictions().On(usage)
	fmt.Println(state.Reasons(state.Check(0)))
	fmt.Println(state.Reasons(state.Check(1)))
	// Output:
	// [node(s) had no available disk]
	// []
}
