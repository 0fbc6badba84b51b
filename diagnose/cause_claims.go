package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/internal/podinfo"
)

// claims returns the names of the pod's volume claims.
func (x *sought) claims() (out []string) {
	for _, v := range x.pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			out = append(out, x.pod.Name+"-"+v.Name)
		}
	}
	return out
}

// rejected returns the cause of a pod that a plugin rejects before it sees a node.
func (x *sought) rejected() *Cause {
	if slices.ContainsFunc(x.a.Pre.Rejecters(), func(by string) bool { return by == ofBinding || by == ofRestriction || by == ofZone }) {
		for _, name := range x.claims() {
			if c := x.claim(name); c != nil {
				return c
			}
		}
	}
	if x.a.Pre.Err != nil {
		return x.failure(x.a.Pre.Err)
	}
	out := &Cause{Type: causeRejected, Text: "the scheduler says: " + x.a.Pre.Message}
	switch {
	case slices.Contains(x.a.Pre.Rejecters(), ofDevices):
		if c := x.deviceObjects(); c != nil {
			return c
		}
		out.Type, out.Field, out.Text = causeDevices, "spec.resourceClaims", x.a.Pre.Message
	case slices.Contains(x.a.Pre.Rejecters(), ofAffinity):
		out.Type, out.Field, out.Text = causeContradiction, requiredNodeAffinity, "its node affinity asks for two node names at once, which no node can have"
	}
	return out
}

// claim returns the cause of a claim that keeps its pod off every node, nil for a claim that does not.
func (x *sought) claim(name string) *Cause {
	list := cluster.List[*v1.PersistentVolumeClaim](x.c)
	object := "PersistentVolumeClaim " + x.pod.Namespace + "/" + name
	pvc, ok := list.Get(x.pod.Namespace, name)
	if !ok {
		out := &Cause{Type: causeClaim, Field: "spec.volumes", Wanted: name, Text: fmt.Sprintf("there is no claim %s in %s", name, x.pod.Namespace)}
		if !slices.ContainsFunc(x.pod.Spec.Volumes, func(v v1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == name
		}) {
			out.Text = fmt.Sprintf("claim %s of its ephemeral volume is not made yet: a controller makes it", name)
			return out
		}
		var there []string
		for c := range list.In(x.pod.Namespace) {
			there = append(there, c.Name)
		}
		slices.Sort(there)
		out.Found = few(there)
		if meant, ok := near.Meant(name, there); ok {
			out.Found = meant
			out.Text += "; near: " + meant
		} else if len(there) > 0 {
			out.Text += " (" + out.Found + " " + verb(len(there), "exists", "exist") + ")"
		}
		return out
	}
	if pvc.DeletionTimestamp != nil {
		return &Cause{Type: causeClaim, Object: object, Field: "metadata.deletionTimestamp", Text: fmt.Sprintf("claim %s is being deleted", name)}
	}
	if c := x.lost(pvc, object); c != nil {
		return c
	}
	if slices.Contains(pvc.Spec.AccessModes, v1.ReadWriteOncePod) {
		if c := x.onePod(name); c != nil {
			return c
		}
	}
	if pvc.Spec.VolumeName != "" {
		return nil
	}
	classes := cluster.List[*storagev1.StorageClass](x.c)
	names := namesOf(classes.All())
	exist := ""
	if len(names) > 0 {
		exist = " (" + few(names) + " " + verb(len(names), "exists", "exist") + ")"
	}
	out := &Cause{Type: causeClass, Object: object, Field: "spec.storageClassName", Found: few(names)}
	switch {
	case pvc.Spec.StorageClassName == nil:
		out.Text = fmt.Sprintf("claim %s has no class, and no class is the default%s", name, exist)
		if c := admission.DefaultStorageClass(slices.Collect(classes.All())); c != nil {
			out.Text = fmt.Sprintf("claim %s has no class yet; the controller of volumes gives it the default class %s", name, c.Name)
		}
		return out
	case *pvc.Spec.StorageClassName == "":
		return &Cause{Type: causeVolume, Object: object, Field: "spec.storageClassName", Text: fmt.Sprintf("claim %s has the class \"\" and is not bound: no volume without a class fits it", name)}
	}
	out.Wanted = *pvc.Spec.StorageClassName
	class, ok := classes.Get("", out.Wanted)
	if !ok {
		out.Text = fmt.Sprintf("claim %s: there is no StorageClass %s%s", name, out.Wanted, exist)
		return out
	}
	if waits(class) {
		return nil
	}
	return &Cause{Type: causeUnbound, Object: object, Field: "spec.volumeName", Found: class.Provisioner,
		Text: fmt.Sprintf("claim %s of class %s is not bound: the class binds at once, and %s must do it%s", name, class.Name, class.Provisioner, x.binds(class.Provisioner))}
}

// lost returns the cause of a claim whose volume does not exist; nil for other claims.
func (x *sought) lost(pvc *v1.PersistentVolumeClaim, object string) *Cause {
	if _, ok := cluster.List[*v1.PersistentVolume](x.c).Get("", pvc.Spec.VolumeName); ok || pvc.Spec.VolumeName == "" {
		return nil
	}
	return &Cause{Type: causeClaim, Object: object, Field: "spec.volumeName", Wanted: pvc.Spec.VolumeName, Text: fmt.Sprintf("claim %s is bound to volume %s, which does not exist", pvc.Name, pvc.Spec.VolumeName)}
}

// taken returns the cause of the first claim of the pod with access mode ReadWriteOncePod that a running pod uses.
func (x *sought) taken() *Cause {
	for _, name := range x.claims() {
		if pvc, ok := cluster.List[*v1.PersistentVolumeClaim](x.c).Get(x.pod.Namespace, name); ok && slices.Contains(pvc.Spec.AccessModes, v1.ReadWriteOncePod) {
			if c := x.onePod(name); c != nil {
				return c
			}
		}
	}
	return nil
}

// onePod returns the cause of a claim with access mode ReadWriteOncePod that a running pod uses.
func (x *sought) onePod(name string) *Cause {
	for _, i := range x.slots {
		for p := range x.c.Pods(i) {
			if p.Namespace != x.pod.Namespace || !slices.ContainsFunc(p.Spec.Volumes, func(v v1.Volume) bool {
				return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == name
			}) {
				continue
			}
			return &Cause{Type: causeOnePod, Object: "PersistentVolumeClaim " + x.pod.Namespace + "/" + name, Field: "spec.accessModes", Found: podinfo.Name(p), Nodes: []string{x.c.Node(i).Name},
				Text: fmt.Sprintf("claim %s is ReadWriteOncePod, and %s on %s uses it", name, p.Name, x.c.Node(i).Name)}
		}
	}
	return nil
}

// everywhere returns the cause of a pod that every node rejects for the same claim of a volume or of devices.
func (x *sought) everywhere(fails map[int][]failure) *Cause {
	for _, plugin := range []string{ofRestriction, ofBinding, ofDevices} {
		all := len(fails) > 0
		for _, list := range fails {
			all = all && slices.ContainsFunc(list, func(f failure) bool { return f.plugin == plugin && !ofPool(f) })
		}
		if !all {
			continue
		}
		first := x.a.Candidates()[0]
		f := fails[first][slices.IndexFunc(fails[first], func(f failure) bool { return f.plugin == plugin })]
		switch plugin {
		case ofRestriction:
			if c := x.taken(); c != nil {
				return c
			}
		case ofBinding:
			return x.unbindable(f, first)
		case ofDevices:
			out := x.ofDevicesOn(f, x.nearest(x.a.Candidates()))
			out.Nodes = x.namesOf(x.a.Candidates())
			return out
		}
	}
	return nil
}

// facts says what a plugin has against a node: its facts, or its reason.
func (x *sought) facts(f failure, slot int) string {
	if list := numbers(f, slot); len(list) > 0 {
		return x.c.Node(slot).Name + ": " + strings.Join(list, ", ")
	}
	return x.c.Node(slot).Name + ": " + f.reason
}

// unbindable returns the cause of a claim that waits for its first consumer and that no volume and no driver serves.
func (x *sought) unbindable(f failure, first int) *Cause {
	for _, name := range x.claims() {
		pvc, ok := cluster.List[*v1.PersistentVolumeClaim](x.c).Get(x.pod.Namespace, name)
		if !ok {
			continue
		}
		if c := x.lost(pvc, "PersistentVolumeClaim "+x.pod.Namespace+"/"+name); c != nil {
			return c
		}
		if pvc.Spec.VolumeName != "" || pvc.Spec.StorageClassName == nil {
			continue
		}
		asks := pvc.Spec.Resources.Requests[v1.ResourceStorage]
		out := &Cause{Type: causeVolume, Object: "PersistentVolumeClaim " + x.pod.Namespace + "/" + name, Field: "spec.resources.requests.storage", Wanted: asks.String(), Nodes: x.namesOf(x.a.Candidates())}
		if strings.Contains(f.reason, "free storage") {
			out.Found = x.capacities(*pvc.Spec.StorageClassName)
			out.Text = fmt.Sprintf("claim %s wants %s of class %s: %s", name, asks.String(), *pvc.Spec.StorageClassName, cmp.Or(out.Found, "no driver publishes so much"))
			return out
		}
		out.Found = x.volumesOf(pvc)
		out.Text = fmt.Sprintf("no volume of class %s fits claim %s (%s): %s", *pvc.Spec.StorageClassName, name, asks.String(), cmp.Or(out.Found, "there is none"))
		return out
	}
	return &Cause{Type: causeVolume, Field: "spec.volumes", Nodes: x.namesOf(x.a.Candidates()), Text: x.facts(f, first)}
}

// volumesOf says why each volume of the class of a claim does not fit it, the largest first.
func (x *sought) volumesOf(pvc *v1.PersistentVolumeClaim) string {
	asks := pvc.Spec.Resources.Requests[v1.ResourceStorage]
	var list []*v1.PersistentVolume
	for pv := range cluster.List[*v1.PersistentVolume](x.c).All() {
		if pv.Spec.StorageClassName == *pvc.Spec.StorageClassName {
			list = append(list, pv)
		}
	}
	slices.SortStableFunc(list, func(a, b *v1.PersistentVolume) int {
		p, q := a.Spec.Capacity[v1.ResourceStorage], b.Spec.Capacity[v1.ResourceStorage]
		if c := q.Cmp(p); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	var out []string
	for _, pv := range list {
		capacity := pv.Spec.Capacity[v1.ResourceStorage]
		text := fmt.Sprintf("%s (%s) ", pv.Name, capacity.String())
		ref := pv.Spec.ClaimRef
		lacks := slices.IndexFunc(pvc.Spec.AccessModes, func(m v1.PersistentVolumeAccessMode) bool { return !slices.Contains(pv.Spec.AccessModes, m) })
		switch {
		case pv.Status.Phase == v1.VolumeReleased && ref != nil:
			text += fmt.Sprintf("is Released, claimRef %s/%s", ref.Namespace, ref.Name)
		case ref != nil && (ref.Namespace != pvc.Namespace || ref.Name != pvc.Name):
			text += fmt.Sprintf("is of claim %s/%s", ref.Namespace, ref.Name)
		case capacity.Cmp(asks) < 0:
			text += "is too small"
		case lacks >= 0:
			text += fmt.Sprintf("has no access mode %s", pvc.Spec.AccessModes[lacks])
		default:
			where, _ := placeOf(pv)
			text += "is not where its nodes are, or differs from the claim"
			if where != "" {
				text = fmt.Sprintf("%s (%s) is at %s", pv.Name, capacity.String(), where)
			}
		}
		out = append(out, text)
	}
	return some(out, ", ")
}

// capacities says how much storage of a class the drivers publish, and where.
func (x *sought) capacities(class string) string {
	var out []string
	for c := range cluster.List[*storagev1.CSIStorageCapacity](x.c).All() {
		if c.StorageClassName != class || c.Capacity == nil {
			continue
		}
		where := "every node"
		if c.NodeTopology != nil {
			var at []string
			for _, i := range x.slots {
				if selects(c.NodeTopology, x.c.Node(i).Labels) {
					at = append(at, x.c.Node(i).Name)
				}
			}
			where = few(at)
		}
		text := fmt.Sprintf("%s %s %s", cmp.Or(where, "no node"), verb(strings.Count(where, " and ")+1, "has", "have"), c.Capacity.String())
		if c.MaximumVolumeSize != nil {
			text += fmt.Sprintf(", but at most %s a volume", c.MaximumVolumeSize.String())
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return some(out, "; ")
}

// some joins texts, the first three at most: "a, b, c, and 4 more".
func some(list []string, separator string) string {
	if more := len(list) - mostNamed; more > 0 {
		list = append(list[:mostNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, separator)
}
