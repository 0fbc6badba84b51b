package gen

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// storage makes what VolumeBinding scores nodes by: drivers that publish their capacity for zones, and free volumes.
func (g *generator) storage() {
	o := &g.c.Objects
	later, yes := storagev1.VolumeBindingWaitForFirstConsumer, true
	for _, x := range [][2]string{{"late", driver}, {"late2", driver2}, {"static", "kubernetes.io/no-provisioner"}} {
		o.StorageClasses = append(o.StorageClasses, &storagev1.StorageClass{ObjectMeta: g.meta("", x[0]), Provisioner: x[1], VolumeBindingMode: &later})
	}
	for _, name := range []string{driver, driver2} {
		o.CSIDrivers = append(o.CSIDrivers, &storagev1.CSIDriver{ObjectMeta: g.meta("", name), Spec: storagev1.CSIDriverSpec{StorageCapacity: &yes}})
	}
	if g.one(6) {
		o.CSIDrivers = o.CSIDrivers[:1] // every node has room for the other driver
	}
	for i, zone := range slices.Concat(zones, zones) {
		q := g.size(1, 400)
		c := &storagev1.CSIStorageCapacity{ObjectMeta: g.meta("default", fmt.Sprintf("cap%d", i)), StorageClassName: []string{"late", "late2"}[i/len(zones)], Capacity: &q}
		c.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelTopologyZone: zone}}
		o.CSIStorageCapacities = append(o.CSIStorageCapacities, c)
	}
	for i := range g.Intn(10) {
		pv := &v1.PersistentVolume{ObjectMeta: g.meta("", fmt.Sprintf("pv%d", i))}
		pv.Spec.StorageClassName = pick(g, []string{"static", "static", "late"})
		pv.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: g.size(10, 100)}
		pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
		mode := v1.PersistentVolumeFilesystem
		pv.Spec.VolumeMode = &mode
		pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: pv.Name}
		if !g.one(4) {
			pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{pick(g, zones)}}}}}}}
		}
		pv.Status.Phase = v1.VolumeAvailable
		pv.ResourceVersion = "1"
		o.PersistentVolumes = append(o.PersistentVolumes, pv)
	}
}

// size returns a size of least to most Gi, seldom in whole Gi.
func (g *generator) size(least, most int) resource.Quantity {
	return *resource.NewQuantity(int64(least)<<30+g.Int63n(int64(most-least)<<30), resource.BinarySI)
}

// store gives a pod one to three claims that wait for it.
func (g *generator) store(p *v1.Pod) {
	p.Spec.Volumes = nil
	for i := range 1 + g.Intn(3) {
		c := &v1.PersistentVolumeClaim{ObjectMeta: g.meta(p.Namespace, fmt.Sprintf("%s-%d", p.Name, i))}
		class := pick(g, []string{"static", "late", "late", "late2"})
		c.Spec.StorageClassName = &class
		c.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
		c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: g.size(1, pick(g, []int{2, 40, 100}))}
		mode := v1.PersistentVolumeFilesystem
		c.Spec.VolumeMode = &mode
		c.Status.Phase = v1.ClaimPending
		c.ResourceVersion = "1"
		g.c.Claims = append(g.c.Claims, c)
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: c.Name, VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name}}})
	}
}
