package diagnose

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
)

// renamed returns the place of a volume with the new names of zone and region, which the API server lets it take, the first old one and its new
// name; "" when it has no old one.
func renamed(required *v1.NodeSelector) (out *v1.NodeSelector, old, now string) {
	out = required.DeepCopy()
	for _, t := range out.NodeSelectorTerms {
		for k, r := range t.MatchExpressions {
			if r.Key != v1.LabelFailureDomainBetaZone && r.Key != v1.LabelFailureDomainBetaRegion {
				continue
			}
			name := podinfo.GeneralLabels[r.Key]
			if old == "" {
				old, now = r.Key, name
			}
			t.MatchExpressions[k].Key = name
		}
	}
	return out, old, now
}

// placed returns what a person does about a bound volume whose place no node has: its labels get their new names; the volume and its claim are
// made again for the node that has been renamed, where the data stays (Retain); or a node of the place comes back.
func (d *diagnosis) placed() (out []Change) {
	for claim, pv := range d.sought.volumes() {
		_, required := placeOf(pv)
		if required == nil {
			continue
		}
		if place, old, now := renamed(required); old != "" {
			if s, err := affinity.CompileSelector(place); err == nil && d.anyNode(s.Matches) {
				out = append(out, Change{Kind: Mend, Object: "PersistentVolume " + pv.Name, Path: "spec.nodeAffinity", From: old, To: now, make: func(s *cluster.Snapshot, _ *Change) {
					again := pv.DeepCopy()
					again.Spec.NodeAffinity.Required = place
					must.Do(s.Set(again))
				}})
			}
		}
		if len(required.NodeSelectorTerms) != 1 || len(required.NodeSelectorTerms[0].MatchExpressions) != 1 || len(required.NodeSelectorTerms[0].MatchFields) > 0 {
			continue
		}
		r := required.NodeSelectorTerms[0].MatchExpressions[0]
		if s, err := affinity.CompileSelector(required); err != nil || r.Operator != v1.NodeSelectorOpIn || len(r.Values) != 1 || d.anyNode(s.Matches) {
			continue
		}
		for _, name := range d.cause.Nodes {
			n := d.base.Node(d.base.Slot(name))
			value, has := n.Labels[r.Key]
			if !has || n.Name != r.Values[0] && !strings.HasPrefix(value, r.Values[0]+".") || pv.Spec.PersistentVolumeReclaimPolicy != v1.PersistentVolumeReclaimRetain {
				continue
			}
			out = append(out, Change{Kind: Recover, Object: "PersistentVolume " + pv.Name, To: fmt.Sprintf("make %s and %s again for %s (Retain keeps the files)", pv.Name, claim, value), make: func(s *cluster.Snapshot, _ *Change) {
				again := pv.DeepCopy()
				again.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values = []string{value}
				must.Do(s.Set(again))
			}})
		}
		if c, ok := d.replicated(claim, pv); ok {
			out = append(out, c)
		}
		if len(d.cause.Nodes) == 0 {
			continue
		}
		like := d.base.Node(d.base.Slot(d.cause.Nodes[0]))
		out = append(out, Change{Kind: Recover, Object: "PersistentVolume " + pv.Name, To: fmt.Sprintf("bring back a node with %s, where %s is", labelText(r.Key, r.Values[0]), pv.Name), make: func(s *cluster.Snapshot, _ *Change) {
			name := d.freeName(like.Name)
			addNode(s, like, name, "")
			editNode(s, name, func(n *v1.Node) { setLabel(n, r.Key, r.Values[0]) })
		}})
	}
	return out
}

// replicated is the end of a claim of one of several pods of a StatefulSet whose place is gone: its controller makes the claim and the pod again, and
// what was on the volume is lost. It is never the first remedy.
func (d *diagnosis) replicated(name string, pv *v1.PersistentVolume) (c Change, ok bool) {
	claim, there := cluster.List[*v1.PersistentVolumeClaim](d.base).Get(d.pod.Namespace, name)
	if !there || d.owner.kind != "StatefulSet" || len(d.crew.running) == 0 || !strings.HasSuffix(name, "-"+d.pod.Name) || claim.Spec.StorageClassName == nil {
		return c, false
	}
	class, there := cluster.List[*storagev1.StorageClass](d.base).Get("", *claim.Spec.StorageClassName)
	if !there || class.Provisioner == noProvisioner {
		return c, false
	}
	return Change{Kind: SetClass, Object: "PersistentVolumeClaim " + d.pod.Namespace + "/" + name, Path: "spec.volumeName", From: pv.Name,
		To: fmt.Sprintf("delete it and %s once, and %s makes both again, if the others have the data", podinfo.Name(d.pod), d.owner), Note: "loses what is on " + pv.Name, make: func(s *cluster.Snapshot, _ *Change) {
			fresh := claim.DeepCopy()
			fresh.Spec.VolumeName, fresh.Status = "", v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending}
			for _, done := range []string{"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller", "volume.kubernetes.io/selected-node"} {
				delete(fresh.Annotations, done)
			}
			if waits(class) {
				must.Do(s.Set(fresh))
			} else {
				bind(s, fresh, class)
			}
		}}, true
}

// anyNode reports whether a node of the cluster is one of some.
func (d *diagnosis) anyNode(is func(n *v1.Node) bool) bool {
	for _, i := range d.slots {
		if is(d.base.Node(i)) {
			return true
		}
	}
	return false
}
