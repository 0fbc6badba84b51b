package diagnose

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/resources"
)

// This file ends a cause outside the API: a controller makes a claim, a Job ends, or a driver reports what its machines have. Each is decided
// on a fork in which that has happened.

// mostJobs is the number of Jobs whose end is tried.
const mostJobs = 4

// outside returns what ends the cause outside the API.
func (d *diagnosis) outside() (out []Change) {
	add := func(c Change, ok bool) {
		if ok {
			out = append(out, c)
		}
	}
	switch d.cause.Type {
	case causeClaim:
		add(d.claimsToCome())
	case causeDevices:
		add(d.templateMeant())
		add(d.deviceClaimsToCome())
		add(d.jobEnds())
		add(d.equipped())
	case causeVolume:
		add(d.roomier())
		add(d.understated())
	case causeAttachments:
		add(d.attachesMore())
	case causeTopologyKey, causeSpread, causeEmptyDomain, causeAffinity:
		add(d.realPlaces())
	case causeNotOffered:
		add(d.plugin())
	}
	return out
}

// ownQueue returns the pods of the owner that wait, the pod among them.
func (d *diagnosis) ownQueue() []*v1.Pod {
	return slices.DeleteFunc(slices.Clone(d.crew.queue), func(p *v1.Pod) bool { return !d.crew.mine[p] })
}

// claimsToCome is the end of the wait for claims of ephemeral volumes, which a controller makes.
func (d *diagnosis) claimsToCome() (c Change, ok bool) {
	claims := cluster.List[*v1.PersistentVolumeClaim](d.base)
	classes := cluster.List[*storagev1.StorageClass](d.base)
	first, by := "", ""
	var makes []func(s *cluster.Snapshot)
	for _, p := range d.ownQueue() {
		for _, claim := range podinfo.EphemeralClaims(p) {
			if _, there := claims.Get(claim.Namespace, claim.Name); there {
				continue
			}
			if p == d.pod && first == "" {
				first = claim.Name
			}
			class := admission.DefaultStorageClass(slices.Collect(classes.All()))
			if name := claim.Spec.StorageClassName; name != nil {
				class, _ = classes.Get("", *name)
			}
			if class == nil {
				return c, false // the claim would wait for its class
			}
			claim.Spec.StorageClassName = &class.Name
			if waits(class) {
				makes = append(makes, func(s *cluster.Snapshot) { must.Do(s.Set(claim.DeepCopy())) })
			} else {
				makes, by = append(makes, func(s *cluster.Snapshot) { bind(s, claim.DeepCopy(), class) }), binder(class)
			}
		}
	}
	if first == "" {
		return c, false
	}
	text := fmt.Sprintf("wait until the controller of ephemeral volumes has made claim %s", first)
	if by != "" {
		text += fmt.Sprintf(", and %s has bound it", by)
	}
	return Change{Kind: Recover, Object: "PersistentVolumeClaim " + d.pod.Namespace + "/" + first, To: text, make: func(s *cluster.Snapshot, _ *Change) {
		for _, make := range makes {
			make(s)
		}
	}}, true
}

// deviceClaimsToCome is the end of the wait for claims of devices, which a controller makes of their templates.
func (d *diagnosis) deviceClaimsToCome() (c Change, ok bool) {
	objects := tracker.New(d.base, tracker.Of(d.base))
	own := objects.Made(d.pod)
	if len(own) == 0 {
		return c, false
	}
	entry := slices.Min(slices.Collect(maps.Keys(own)))
	at := slices.IndexFunc(d.pod.Spec.ResourceClaims, func(r v1.PodResourceClaim) bool { return r.Name == entry })
	template := *d.pod.Spec.ResourceClaims[at].ResourceClaimTemplateName
	return Change{
		Kind: Recover, Object: "ResourceClaimTemplate " + d.pod.Namespace + "/" + template, To: "wait until the controller of claims has made one of template " + template, pod: d.pod,
		edit: func(p *v1.Pod, _ int64) { nameClaims(p, objects.Made(p)) },
		make: func(s *cluster.Snapshot, _ *Change) {
			for _, p := range d.ownQueue() {
				setClaims(s, objects.Made(p))
			}
		},
	}, true
}

// nameClaims writes claims that are made for the entries of a pod into its status.
func nameClaims(p *v1.Pod, made map[string]*resourcev1.ResourceClaim) {
	for _, entry := range slices.Sorted(maps.Keys(made)) {
		p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: entry, ResourceClaimName: &made[entry].Name})
	}
}

// setClaims adds claims that are made for the entries of a pod to a cluster.
func setClaims(s *cluster.Snapshot, made map[string]*resourcev1.ResourceClaim) {
	for _, claim := range made {
		claim.UID = types.UID(claim.Namespace + "/" + claim.Name) // it is there
		must.Do(s.Set(claim))
	}
}

// jobEnds is the end of the first Job with which the pod gets a node: its pods give their devices back.
func (d *diagnosis) jobEnds() (c Change, ok bool) {
	byJob := map[string][]*v1.Pod{}
	for _, i := range d.slots {
		for p := range d.base.Pods(i) {
			if by := metav1.GetControllerOfNoCopy(p); by != nil && by.Kind == "Job" && usesDevices(p) && !d.sibling(p) {
				name := p.Namespace + "/" + by.Name
				byJob[name] = append(byJob[name], p)
			}
		}
	}
	names := slices.Sorted(maps.Keys(byJob))
	for _, name := range names[:min(mostJobs, len(names))] {
		c = Change{Kind: Recover, Object: "Job " + name, To: fmt.Sprintf("wait until Job %s has ended", name), make: func(s *cluster.Snapshot, _ *Change) {
			for _, p := range byJob[name] {
				if s.Pod(p.Namespace, p.Name) == p {
					takeAway(s, p)
				}
			}
		}}
		if d.prove([]Change{c}).node != "" {
			return c, true
		}
	}
	return c, false
}

// ofStorage is the path of a change that adds a node with more room for volumes than its model.
const ofStorage = "capacity"

// published returns the first claim of the pod whose class has too little room, the capacities that the driver publishes for this class, and the
// nodes of each; nil for a cause of another kind.
func (d *diagnosis) published() (claim *v1.PersistentVolumeClaim, of []*storagev1.CSIStorageCapacity, at [][]int) {
	for _, name := range d.sought.claims() {
		c, ok := cluster.List[*v1.PersistentVolumeClaim](d.base).Get(d.pod.Namespace, name)
		if !ok || c.Spec.VolumeName != "" || c.Spec.StorageClassName == nil || d.cause.Object != "PersistentVolumeClaim "+d.pod.Namespace+"/"+name {
			continue
		}
		for x := range cluster.List[*storagev1.CSIStorageCapacity](d.base).All() {
			if x.StorageClassName == *c.Spec.StorageClassName && x.Capacity != nil {
				of = append(of, x)
			}
		}
		slices.SortStableFunc(of, func(a, b *storagev1.CSIStorageCapacity) int { return b.Capacity.Cmp(*a.Capacity) })
		for _, x := range of {
			var slots []int
			for _, i := range d.slots {
				if x.NodeTopology == nil || selects(x.NodeTopology, d.base.Node(i).Labels) {
					slots = append(slots, i)
				}
			}
			at = append(at, slots)
		}
		return c, of, at
	}
	return nil, nil, nil
}

// roomier is a node more like one that has room of its own for volumes, with as much as the claim asks for.
func (d *diagnosis) roomier() (c Change, ok bool) {
	claim, of, at := d.published()
	for k, x := range of {
		if len(at[k]) != 1 || x.NodeTopology == nil || !model(d.base.Node(at[k][0])) {
			continue
		}
		like := d.base.Node(at[k][0])
		size := claim.Spec.Resources.Requests[v1.ResourceStorage]
		text := fmt.Sprintf("with %s for a volume of class %s", size.String(), x.StorageClassName)
		return Change{Kind: AddNode, Object: "Node", Path: ofStorage, From: like.Name, To: d.freeName(like.Name), key: text, make: func(s *cluster.Snapshot, c *Change) {
			c.addNodes(s, like)
			for k := range max(1, c.Count) {
				more := x.DeepCopy()
				more.Name, more.UID, more.Capacity, more.MaximumVolumeSize = c.added(k), "", &size, nil
				more.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelHostname: c.added(k)}}
				must.Do(s.Set(more))
			}
		}}, true
	}
	return c, false
}

// understated is a driver that publishes less room than there is: its capacity object of the largest room says more.
func (d *diagnosis) understated() (c Change, ok bool) {
	claim, of, at := d.published()
	for k, x := range of {
		class, there := cluster.List[*storagev1.StorageClass](d.base).Get("", x.StorageClassName)
		if len(at[k]) == 0 || !there {
			continue
		}
		var names []string
		for _, i := range at[k] {
			names = append(names, d.base.Node(i).Name)
		}
		size := claim.Spec.Resources.Requests[v1.ResourceStorage]
		text := fmt.Sprintf("look at %s, if %s %s room for %s: its CSIStorageCapacity %s says less", class.Provisioner, few(names), verb(len(names), "has", "have"), size.String(), x.Name)
		return Change{Kind: Recover, Object: "CSIStorageCapacity " + x.Namespace + "/" + x.Name, Path: ofStorage, To: text, make: func(s *cluster.Snapshot, _ *Change) {
			right := x.DeepCopy()
			right.Capacity, right.MaximumVolumeSize = &size, nil
			must.Do(s.Set(right))
		}}, true
	}
	return c, false
}

// attachesMore is a driver that reports a lower limit than its machine has.
func (d *diagnosis) attachesMore() (c Change, ok bool) {
	l := d.sought.limit
	if l.driver == "" {
		return c, false
	}
	name := d.base.Node(l.slot).Name
	csi, there := cluster.List[*storagev1.CSINode](d.base).Get("", name)
	if !there {
		return c, false
	}
	at := slices.IndexFunc(csi.Spec.Drivers, func(x storagev1.CSINodeDriver) bool {
		return x.Name == l.driver && x.Allocatable != nil && x.Allocatable.Count != nil
	})
	if at < 0 {
		return c, false
	}
	text := fmt.Sprintf("look at %s on %s, if its machine takes more volumes than the %d that the driver reports", l.driver, name, *csi.Spec.Drivers[at].Allocatable.Count)
	return Change{Kind: Recover, Object: "CSINode " + name, Path: "spec.drivers", To: text, make: func(s *cluster.Snapshot, _ *Change) {
		right, most := csi.DeepCopy(), int32(l.attached+l.more)
		right.Spec.Drivers[at].Allocatable.Count = &most
		must.Do(s.Set(right))
	}}, true
}

// plugin is a device plugin that has told the kubelet nothing of the devices of its machine.
func (d *diagnosis) plugin() (c Change, ok bool) {
	name := v1.ResourceName(d.sought.unoffered.name)
	node, _ := d.sought.machineOf(name)
	if node == "" || d.cause.Found == "" {
		return c, false
	}
	return Change{Kind: Recover, Object: "Node " + node, Path: ofSize, To: fmt.Sprintf("see to the device plugin on %s (it tells the kubelet of %s)", node, name), make: func(s *cluster.Snapshot, _ *Change) {
		editNode(s, node, func(n *v1.Node) {
			if n.Status.Allocatable == nil {
				n.Status.Allocatable = v1.ResourceList{}
			}
			n.Status.Allocatable[name] = quantity(name, max(d.sought.unoffered.wants, resources.Value(name, n.Status.Capacity[name])))
		})
	}}, true
}
