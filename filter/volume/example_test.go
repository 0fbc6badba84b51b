package volume_test

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
	"github.com/podberth/podberth/filter/volume"
)

// nodes is a cluster of nodes without pods.
type nodes []*v1.Node

func (n nodes) Len() int                   { return len(n) }
func (n nodes) Node(i int) *v1.Node        { return n[i] }
func (n nodes) Pods(int) iter.Seq[*v1.Pod] { return slices.Values([]*v1.Pod(nil)) }

// Three zones and five nodes.
func exampleNodes() nodes {
	var out nodes
	for _, name := range []string{"a1", "a2", "b1", "b2", "c1"} {
		out = append(out, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: name[:1]}}})
	}
	return out
}

// The class "local" has one volume for databases, in zone b.
func exampleObjects(claims ...*v1.PersistentVolumeClaim) volume.Objects {
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk-b"}}
	pv.Spec.StorageClassName = "local"
	pv.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("100Gi")}
	pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{"b"}}}}}}}
	pv.Status.Phase = v1.VolumeAvailable
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &mode}
	return volume.Objects{Claims: volume.List(claims...), PersistentVolumes: volume.List(pv), StorageClasses: volume.List(class)}
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

// Two database pods after one volume: the second learns that it is promised.
func Example() {
	cluster := exampleNodes()
	ledger := volume.NewLedger(exampleObjects(exampleClaim("data-db-1"), exampleClaim("data-db-2")))
	for _, name := range []string{"db-1", "db-2"} {
		pod := examplePod(name, "data-"+name)
		state := volume.Compile(pod, ledger.Objects(), volume.Options{}).Binding().On(cluster)
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
	// db-1 to b1 with disk-b
	// db-2 0/5 nodes are available: 5 node(s) didn't find available persistent volumes to bind.
}

// A claim that is not there rejects the pod before any node is looked at.
func ExamplePod() {
	p := volume.Compile(examplePod("web-1", "nowhere"), exampleObjects(), volume.Options{})
	answer := p.Binding().PreFilter()
	fmt.Println(answer.Code, answer.Reasons[0])
	// Output: UnschedulableAndUnresolvable persistentvolumeclaim "nowhere" not found
}
