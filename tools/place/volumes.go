package place

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/volumes"
)

// BindVolumes plays the controllers that bind and provision volumes: at once, and with success. What they make can be
// reached from the zone of the node that it is made for, or from that node alone when it has no zone.
func (w *world) BindVolumes(_ context.Context, pod *v1.Pod, d volumes.Decision) error {
	volumes, _ := d.Objects()
	for _, pv := range volumes {
		w.put(pv)
	}
	for _, m := range d.Bind {
		if err := w.bindClaim(m.Claim, m.Volume.Name, d.Node); err != nil {
			return err
		}
	}
	for _, claim := range d.Provision {
		pv := w.provision(claim, w.nodes[d.Node])
		w.put(pv)
		if err := w.bindClaim(claim, pv.Name, d.Node); err != nil {
			return err
		}
	}
	return nil
}

// put stores an object and reports it to the scheduler.
func (w *world) put(o metav1.Object) {
	w.changes++
	old := w.others[named(o)]
	w.others[named(o)] = o
	w.s.Set(old, o)
}

func (w *world) bindClaim(claim *v1.PersistentVolumeClaim, pv, node string) error {
	now, ok := w.others[named(claim)].(*v1.PersistentVolumeClaim)
	if !ok {
		return scheduler.ErrGone
	}
	c := now.DeepCopy()
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations["pv.kubernetes.io/bind-completed"] = "yes"
	c.Annotations[volumes.AnnSelectedNode] = node
	c.Spec.VolumeName, c.Status.Phase = pv, v1.ClaimBound
	w.put(c)
	return nil
}

// provision makes a volume for a claim.
func (w *world) provision(claim *v1.PersistentVolumeClaim, node *v1.Node) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{}
	pv.Name = "pvc-" + claim.Namespace + "-" + claim.Name
	if claim.UID != "" {
		pv.Name = "pvc-" + string(claim.UID)
	}
	pv.Spec.Capacity = claim.Spec.Resources.Requests
	pv.Spec.AccessModes, pv.Spec.VolumeMode = claim.Spec.AccessModes, claim.Spec.VolumeMode
	pv.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
	pv.Status.Phase = v1.VolumeBound
	if claim.Spec.StorageClassName != nil {
		pv.Spec.StorageClassName = *claim.Spec.StorageClassName
		for _, class := range w.objects.StorageClasses {
			if class.Name == pv.Spec.StorageClassName {
				pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: class.Provisioner, VolumeHandle: pv.Name}
			}
		}
	}
	label := v1.LabelTopologyZone
	if node.Labels[label] == "" {
		label = v1.LabelHostname
	}
	if value, ok := node.Labels[label]; ok {
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: label, Operator: v1.NodeSelectorOpIn, Values: []string{value}}},
		}}}}
	}
	return pv
}
