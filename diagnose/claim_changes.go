package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
)

// mostClasses is the number of classes that a search tries for a claim.
const mostClasses = 3

// noProvisioner is the provisioner of classes whose volumes a person makes.
const noProvisioner = "kubernetes.io/no-provisioner"

// volumeChanges lists what a person does about the pod's claims that no scheduler can bind: a claim that is missing, one whose class is
// missing, and one whose class binds at once, which its provisioner does.
func (d *diagnosis) volumeChanges() (out []*Change) {
	claims, classes := cluster.List[*v1.PersistentVolumeClaim](d.base), cluster.List[*storagev1.StorageClass](d.base)
	for _, v := range d.pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		name := v.PersistentVolumeClaim.ClaimName
		claim, there := claims.Get(d.pod.Namespace, name)
		switch {
		case there && claim.DeletionTimestamp != nil:
		case there && claim.Spec.VolumeName != "":
			if _, exists := cluster.List[*v1.PersistentVolume](d.base).Get("", claim.Spec.VolumeName); !exists {
				out = append(out, restored(claim))
			}
		case !there:
			fresh := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: d.pod.Namespace, Name: name}, Spec: v1.PersistentVolumeClaimSpec{
				AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
				Resources:   v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
			}}
			classes := d.classes("")
			text := "make it"
			c := metav1.GetControllerOfNoCopy(d.pod)
			if c != nil && c.Kind == "StatefulSet" {
				text = fmt.Sprintf("delete %s once: StatefulSet %s makes it again with its claim", podinfo.Name(d.pod), c.Name)
			}
			for _, class := range classes {
				if c == nil || c.Kind != "StatefulSet" {
					text = fmt.Sprintf("make it with class %s", class.Name)
				}
				out = append(out, provide(fresh, class, "", text))
			}
			if classes == nil {
				out = append(out, byHand(fresh, SetClass, text+"; a volume that a person makes must bind it, for there is no StorageClass"))
			}
		case claim.Spec.StorageClassName == nil:
			classes := d.classes("")
			for _, class := range classes {
				out = append(out, provide(claim, class, "", fmt.Sprintf("set its spec.storageClassName to %s, which is allowed once", class.Name)))
			}
			if classes == nil {
				out = append(out, byHand(claim, Recover, fmt.Sprintf("make a StorageClass that is the default: its provisioner binds claim %s", name)))
			}
		case *claim.Spec.StorageClassName == "":
			size := claim.Spec.Resources.Requests[v1.ResourceStorage]
			out = append(out, byHand(claim, Recover, fmt.Sprintf("make a volume without a class with %s (%s) for claim %s", size.String(), modes(claim), name)))
		default:
			wanted := *claim.Spec.StorageClassName
			if class, ok := classes.Get("", wanted); ok {
				if !waits(class) {
					out = append(out, d.bound(claim, class))
				} else {
					out = append(out, smaller(claim))
				}
				out = append(out, d.released(claim, class)...)
				continue
			}
			list := d.classes(wanted)
			if list == nil {
				out = append(out, byHand(claim, Recover, fmt.Sprintf("make the StorageClass %s: its provisioner binds claim %s", wanted, name)))
			}
			for _, class := range list {
				if c := d.provideAll(claim, class, wanted); c != nil {
					out = append(out, c)
					continue
				}
				out = append(out, provide(claim, class, wanted, fmt.Sprintf("make it again with class %s", class.Name)))
			}
		}
	}
	return out
}

// byHand returns the change that binds a claim to a volume of which nothing is known yet but that it is made for the claim.
func byHand(claim *v1.PersistentVolumeClaim, kind Kind, text string) *Change {
	return &Change{Kind: kind, Object: "PersistentVolumeClaim " + claim.Namespace + "/" + claim.Name, Path: "spec.volumeName", To: text, make: func(s *cluster.Snapshot, _ *Change) {
		bind(s, claim.DeepCopy(), classOf(claim))
	}}
}

// classOf returns a class that has nothing but the name that the claim gives, if it gives one.
func classOf(claim *v1.PersistentVolumeClaim) *storagev1.StorageClass {
	class := &storagev1.StorageClass{}
	if claim.Spec.StorageClassName != nil {
		class.Name = *claim.Spec.StorageClassName
	}
	return class
}

// restored returns the recovery of a claim whose volume does not exist any more.
func restored(claim *v1.PersistentVolumeClaim) *Change {
	text := fmt.Sprintf("make volume %s again, with claimRef %s/%s, if its disk is still there", claim.Spec.VolumeName, claim.Namespace, claim.Name)
	return &Change{Kind: Recover, Object: "PersistentVolume " + claim.Spec.VolumeName, To: text, make: func(s *cluster.Snapshot, _ *Change) {
		volume := volumeFor(claim, classOf(claim))
		volume.Name = claim.Spec.VolumeName
		bindTo(s, claim.DeepCopy(), volume)
	}}
}

// smaller returns the change that makes a claim again with the largest size that a volume, or the driver, has.
func smaller(claim *v1.PersistentVolumeClaim) *Change {
	size := claim.Spec.Resources.Requests[v1.ResourceStorage]
	show := func(v int64) string { return amount(v1.ResourceMemory, v) }
	return &Change{Kind: LowerRequest, Object: "PersistentVolumeClaim " + claim.Namespace + "/" + claim.Name, Path: "spec.resources.requests.storage", From: size.String(), Again: true,
		value: &span{from: max(2, size.Value()), loosest: 1, show: show}, make: func(s *cluster.Snapshot, c *Change) {
			x := claim.DeepCopy()
			x.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: *resource.NewQuantity(c.now(), resource.BinarySI)}
			must.Do(s.Set(x))
		}}
}

// mostReleasedVolumes is the number of released volumes that a search tries for a claim.
const mostReleasedVolumes = 3

// released returns the changes that free volumes of the class of a claim that another claim has released, and that are large enough and have
// its access modes: the smallest ones.
func (d *diagnosis) released(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass) (out []*Change) {
	wants := claim.Spec.Resources.Requests[v1.ResourceStorage]
	var list []*v1.PersistentVolume
	for pv := range cluster.List[*v1.PersistentVolume](d.base).All() {
		has := pv.Spec.Capacity[v1.ResourceStorage]
		lacks := slices.ContainsFunc(claim.Spec.AccessModes, func(m v1.PersistentVolumeAccessMode) bool { return !slices.Contains(pv.Spec.AccessModes, m) })
		if pv.Spec.StorageClassName == class.Name && pv.Status.Phase == v1.VolumeReleased && pv.Spec.ClaimRef != nil && pv.DeletionTimestamp == nil && has.Cmp(wants) >= 0 && !lacks {
			list = append(list, pv)
		}
	}
	slices.SortFunc(list, func(a, b *v1.PersistentVolume) int {
		p, q := a.Spec.Capacity[v1.ResourceStorage], b.Spec.Capacity[v1.ResourceStorage]
		return cmp.Or(p.Cmp(q), cmp.Compare(a.Name, b.Name))
	})
	for _, pv := range list[:min(mostReleasedVolumes, len(list))] {
		out = append(out, &Change{Kind: ClearClaimRef, Object: "PersistentVolume " + pv.Name, Path: "spec.claimRef", From: pv.Spec.ClaimRef.Namespace + "/" + pv.Spec.ClaimRef.Name, make: func(s *cluster.Snapshot, _ *Change) {
			free := pv.DeepCopy()
			free.Spec.ClaimRef, free.Status.Phase = nil, v1.VolumeAvailable
			if !waits(class) { // the controller of volumes binds it at once
				bindTo(s, claim.DeepCopy(), free)
				return
			}
			must.Do(s.Set(free))
		}})
	}
	return out
}

// madeOn returns the changes that make a volume for a claim on a node, of classes whose volumes a person makes.
func (d *diagnosis) madeOn(n *v1.Node) (out []*Change) {
	name := cmp.Or(n.Labels[v1.LabelHostname], n.Name)
	for _, v := range d.pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, ok := cluster.List[*v1.PersistentVolumeClaim](d.base).Get(d.pod.Namespace, v.PersistentVolumeClaim.ClaimName)
		if !ok || claim.Spec.VolumeName != "" || claim.Spec.StorageClassName == nil || claim.DeletionTimestamp != nil {
			continue
		}
		class, ok := cluster.List[*storagev1.StorageClass](d.base).Get("", *claim.Spec.StorageClassName)
		if !ok || !waits(class) || class.Provisioner != noProvisioner || n.Labels[v1.LabelHostname] == "" {
			continue
		}
		size := claim.Spec.Resources.Requests[v1.ResourceStorage]
		out = append(out, &Change{Kind: Recover, Object: "Node " + n.Name, Path: "spec.volumeName",
			To: fmt.Sprintf("make a volume of class %s with %s (%s) on %s for claim %s", class.Name, size.String(), modes(claim), n.Name, claim.Name), make: func(s *cluster.Snapshot, _ *Change) {
				pv := volumeFor(claim, class)
				pv.Spec.ClaimRef, pv.Status.Phase = nil, v1.VolumeAvailable
				pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
					MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{name}}}}}}}
				must.Do(s.Set(pv))
			}})
	}
	return out
}

// modes writes the access modes of a claim.
func modes(claim *v1.PersistentVolumeClaim) string {
	var out []string
	for _, m := range claim.Spec.AccessModes {
		out = append(out, string(m))
	}
	return joined(out)
}

// classes returns the classes to try for a claim: the one whose name looks like the wanted one, else the default, else the first ones.
func (d *diagnosis) classes(wanted string) (out []*storagev1.StorageClass) {
	for c := range cluster.List[*storagev1.StorageClass](d.base).All() {
		out = append(out, c)
	}
	far := func(c *storagev1.StorageClass) int {
		return near.Distance(strings.ToLower(wanted), strings.ToLower(c.Name))
	}
	slices.SortFunc(out, func(a, b *storagev1.StorageClass) int {
		return cmp.Or(cmp.Compare(far(a), far(b)), cmp.Compare(a.Name, b.Name))
	})
	one := func(of func(c *storagev1.StorageClass) bool) bool {
		k := slices.IndexFunc(out, of)
		if k >= 0 {
			out = out[k : k+1]
		}
		return k >= 0
	}
	standard := admission.DefaultStorageClass(out)
	if wanted != "" && one(func(c *storagev1.StorageClass) bool { return near.Value(wanted, c.Name) }) ||
		one(func(c *storagev1.StorageClass) bool { return c == standard }) {
		return out
	}
	return out[:min(mostClasses, len(out))]
}

// waits reports whether a claim of a class is bound when a pod that uses it gets a node.
func waits(c *storagev1.StorageClass) bool {
	return c.VolumeBindingMode != nil && *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// provide returns the change that makes a claim, or gives it a class. A class that binds at once leaves the rest to its provisioner.
func provide(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, from, text string) *Change {
	if !waits(class) {
		text += fmt.Sprintf("; %s must bind it", binder(class))
	}
	return &Change{Kind: SetClass, Object: "PersistentVolumeClaim " + claim.Namespace + "/" + claim.Name, Path: "spec.storageClassName", From: from, To: text, make: func(s *cluster.Snapshot, _ *Change) {
		x := claim.DeepCopy()
		x.Spec.StorageClassName = &class.Name
		if waits(class) {
			must.Do(s.Set(x))
		} else {
			bind(s, x, class)
		}
	}}
}

// provideAll is provide for the claims that a StatefulSet has made for its pods that wait, none of which has a volume: its volumeClaimTemplates are
// immutable, so that it is made again while its running pods stay. nil for other claims.
func (d *diagnosis) provideAll(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, from string) *Change {
	by := metav1.GetControllerOfNoCopy(d.pod)
	if by == nil || by.Kind != "StatefulSet" {
		return nil
	}
	set, ok := cluster.List[*appsv1.StatefulSet](d.base).Get(d.pod.Namespace, by.Name)
	if !ok {
		return nil
	}
	at := slices.IndexFunc(set.Spec.VolumeClaimTemplates, func(t v1.PersistentVolumeClaim) bool { return t.Name+"-"+d.pod.Name == claim.Name })
	if at < 0 {
		return nil
	}
	var again []*v1.PersistentVolumeClaim
	var names []string
	claims := cluster.List[*v1.PersistentVolumeClaim](d.base)
	for _, p := range d.crew.queue {
		if !d.crew.mine[p] {
			continue
		}
		x, ok := claims.Get(p.Namespace, set.Spec.VolumeClaimTemplates[at].Name+"-"+p.Name)
		if ok && x.Spec.VolumeName == "" && x.DeletionTimestamp == nil && x.Spec.StorageClassName != nil && *x.Spec.StorageClassName == from {
			again, names = append(again, x), append(names, x.Name)
		}
	}
	path := fmt.Sprintf("spec.volumeClaimTemplates[%d].spec.storageClassName", at)
	text := fmt.Sprintf("delete it with --cascade=orphan, make it again with class %s in volumeClaimTemplates[%d], and delete %s, which no volume has, and the pods that wait, once", class.Name, at, few(names))
	if !waits(class) {
		text += fmt.Sprintf("; %s must bind them", binder(class))
	}
	return &Change{Kind: SetClass, Object: "StatefulSet " + set.Namespace + "/" + set.Name, Path: path, From: from, To: text, make: func(s *cluster.Snapshot, _ *Change) {
		for _, claim := range again {
			provide(claim, class, from, "").make(s, nil)
		}
	}}
}

// bound returns the recovery of a claim whose provisioner has not bound it.
func (d *diagnosis) bound(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass) *Change {
	start, who := "start or install "+class.Provisioner, "it"
	pods := d.sought.provisioners(class.Provisioner)
	if len(pods) > 0 {
		who = class.Provisioner
	}
	if down := slices.IndexFunc(pods, func(p *v1.Pod) bool { return stateOf(p) != "" }); down >= 0 {
		start = "see to " + podinfo.Name(pods[down])
	} else if len(pods) > 0 {
		start = "look at the log of " + podinfo.Name(pods[0])
	}
	text := fmt.Sprintf("%s (%s binds claim %s of class %s)", start, who, claim.Name, class.Name)
	if class.Provisioner == noProvisioner {
		size := claim.Spec.Resources.Requests[v1.ResourceStorage]
		text = fmt.Sprintf("make a volume of class %s with %s for claim %s", class.Name, size.String(), claim.Name)
	}
	return &Change{Kind: Recover, Object: "PersistentVolumeClaim " + claim.Namespace + "/" + claim.Name, Path: "spec.volumeName", To: text, make: func(s *cluster.Snapshot, _ *Change) {
		bind(s, claim.DeepCopy(), class)
	}}
}

func binder(class *storagev1.StorageClass) string {
	if class.Provisioner == noProvisioner {
		return "a volume that a person makes"
	}
	return class.Provisioner
}

// bind gives a claim a volume as its provisioner does: where the class allows it.
func bind(s *cluster.Snapshot, claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass) {
	bindTo(s, claim, volumeFor(claim, class))
}

// volumeFor returns a volume for a claim.
func volumeFor(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass) *v1.PersistentVolume {
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + claim.Namespace + "-" + claim.Name},
		Spec: v1.PersistentVolumeSpec{
			Capacity: claim.Spec.Resources.Requests.DeepCopy(), AccessModes: claim.Spec.AccessModes, VolumeMode: claim.Spec.VolumeMode, StorageClassName: class.Name,
			ClaimRef:               &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: class.Provisioner, VolumeHandle: claim.Name}},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound},
	}
	if len(class.AllowedTopologies) > 0 {
		required := &v1.NodeSelector{}
		for _, t := range class.AllowedTopologies {
			var term v1.NodeSelectorTerm
			for _, e := range t.MatchLabelExpressions {
				term.MatchExpressions = append(term.MatchExpressions, v1.NodeSelectorRequirement{Key: e.Key, Operator: v1.NodeSelectorOpIn, Values: e.Values})
			}
			required.NodeSelectorTerms = append(required.NodeSelectorTerms, term)
		}
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: required}
	}
	return volume
}

// bindTo binds a claim to a volume.
func bindTo(s *cluster.Snapshot, claim *v1.PersistentVolumeClaim, volume *v1.PersistentVolume) {
	volume.Spec.ClaimRef, volume.Status.Phase = &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}, v1.VolumeBound
	claim.Spec.VolumeName, claim.Status.Phase = volume.Name, v1.ClaimBound
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations["pv.kubernetes.io/bind-completed"] = "yes"
	must.Do(s.Set(volume))
	must.Do(s.Set(claim))
}
