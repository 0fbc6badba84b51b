package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// storage is the storage objects of a world.
type storage struct {
	csiNodes []*storagev1.CSINode
	classes  []*storagev1.StorageClass
	volumes  []*v1.PersistentVolume
	claims   []*v1.PersistentVolumeClaim
}

func (s storage) objects() []runtime.Object {
	return appendObjects(appendObjects(appendObjects(appendObjects(nil, s.csiNodes), s.classes), s.volumes), s.claims)
}

// appendObjects appends a list of objects of one kind.
func appendObjects[T runtime.Object](dst []runtime.Object, list []T) []runtime.Object {
	for _, o := range list {
		dst = append(dst, o)
	}
	return dst
}

const (
	disks         = "disk.csi.example.com"
	disksPerNode  = 20
	volumePending = 4 // pending pods for each node
)

// volumes makes nodes that may have 20 volumes each and run a pod with a volume of its zone and a plain pod. Every pending pod has a
// claim of its own: bound to a volume of one of three zones, or waiting for its first consumer. With plain every second pending pod
// has no claim.
func volumes(bound, plain bool) func(int) (world, error) {
	return func(n int) (world, error) {
		w := world{nodes: makeNodes(n, "32", "64Gi"), namespaces: []*v1.Namespace{namespace("default", nil)}, limit: n * volumePending}
		mode, limit := storagev1.VolumeBindingWaitForFirstConsumer, int32(disksPerNode)
		w.storage.classes = []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: disks, VolumeBindingMode: &mode}}
		for i, node := range w.nodes {
			w.storage.csiNodes = append(w.storage.csiNodes, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node.Name}, Spec: storagev1.CSINodeSpec{
				Drivers: []storagev1.CSINodeDriver{{Name: disks, NodeID: node.Name, Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}},
			}})
			for k, claim := range []string{fmt.Sprintf("run-%d", i), ""} {
				p := makePod("default", fmt.Sprintf("run-%d-%d", i, k), fmt.Sprintf("app-%02d", i%apps))
				p.Spec.NodeName = node.Name
				if claim != "" {
					w.storage.claim(claim, i%3)
					mount(p, claim)
				}
				w.running = append(w.running, p)
			}
		}
		for i := range w.limit {
			switch name := fmt.Sprintf("new-%d", i); {
			case plain && i%2 == 1:
			case bound:
				w.storage.claim(name, i/apps%3)
			default:
				w.storage.claim(name, -1)
			}
		}
		w.pod = func(i int) *v1.Pod {
			p := makePod("default", fmt.Sprintf("new-%d", i), fmt.Sprintf("app-%02d", i%apps))
			if !plain || i%2 == 0 {
				mount(p, p.Name)
			}
			return p
		}
		return w, nil
	}
}

func mount(p *v1.Pod, claim string) {
	p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
		PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}}
}

// claim adds a claim, bound to a volume of a zone; a zone below 0 means that the claim waits.
func (s *storage) claim(name string, zone int) {
	class, size := "fast", v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	c := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("claim-" + name)},
		Spec:       v1.PersistentVolumeClaimSpec{AccessModes: modes, StorageClassName: &class, Resources: v1.VolumeResourceRequirements{Requests: size}},
		Status:     v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending},
	}
	s.claims = append(s.claims, c)
	if zone < 0 {
		return
	}
	c.Spec.VolumeName, c.Status.Phase = "pv-"+name, v1.ClaimBound
	c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	where := []string{fmt.Sprintf("zone-%d", zone)}
	s.volumes = append(s.volumes, &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: c.Spec.VolumeName, UID: types.UID(c.Spec.VolumeName)},
		Spec: v1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, StorageClassName: class,
			ClaimRef:               &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: name, UID: c.UID},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: disks, VolumeHandle: c.Spec.VolumeName}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: where}},
			}}}},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound},
	})
}
