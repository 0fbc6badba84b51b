package lint

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/workload"
	"github.com/podberth/podberth/volumes"
)

// trial is what becomes of the pods of one manifest, alone on the cluster with the pods that run: they are made, admitted, and placed
// one after the other; pods of lower priority give way.
type trial struct {
	made   *workload.Made    // nil: the manifest is broken
	pods   []*v1.Pod         // that the API server admits
	want   int               // pods to place, those beyond mostReplicas too, which are counted and not made
	nodes  []string          // of the pods that got one, in their order
	room   int               // of a crowd without room, of which no pod was made: how many have room
	failed *v1.Pod           // the first pod without a node; nil when there is none
	cause  string            // why it has none
	broken error             // the API server refuses the manifest
	refuse error             // the API server refuses a pod
	placer *placement.Placer // with keep: over a fork of the cluster with the pods that got nodes
	placed bool              // the pods were placed: nodes and failed are known
}

// waits says who must act before a scheduler looks at the pods: "" when nobody must.
func (w *work) waits() string {
	switch s := &w.pod.Spec; {
	case len(s.SchedulingGates) > 0:
		return "a controller"
	case s.SchedulerName != "" && s.SchedulerName != v1.DefaultSchedulerName:
		return "scheduler " + s.SchedulerName
	case s.NodeName != "":
		return "kubelet"
	}
	return ""
}

// runs reports whether the pods of a workload come one after the other when room is little: it finishes later.
func (w *work) runs() bool { return w.kind == "Job" || w.kind == "CronJob" }

// asked returns the trial of a workload with its pods, which may not be placed yet.
func (c *checker) asked(w *work) *trial {
	if w.trial == nil {
		w.trial = c.ask(w)
	}
	return w.trial
}

// tried returns the trial of a workload with its pods placed. Without nodes nothing is known.
func (c *checker) tried(w *work) *trial {
	t := c.asked(w)
	if !t.placed {
		c.place(w, t, false)
	}
	return t
}

// fits reports whether the replicas that do not run yet all get nodes, alone or beside the pods of the other manifests; of a Job, whether
// one of them does. Without a cluster nothing is known, and no rule that asks has fired. The pods of all manifests are placed together
// first: a workload whose pods all get nodes there needs no trial alone.
func (c *checker) fits(w *work) bool {
	if c.snap == nil {
		return false
	}
	t := c.asked(w)
	if t.crowded() {
		return w.runs() && t.room > 0
	}
	if !c.alone && t.broken == nil && t.refuse == nil && len(c.works) > 1 {
		if got, short := c.together()[w]; !short || w.runs() && got > 0 {
			return true
		}
	}
	c.tried(w)
	switch {
	case t.broken != nil || t.refuse != nil && t.count() == 0:
		return false
	case t.failed == nil:
		return t.refuse == nil || w.runs()
	case w.runs() && t.count() > 0:
		return true
	case len(c.works) == 1 || t.refuse != nil:
		return false
	}
	got, short := c.together()[w] // it may need a pod of another manifest
	return !short || w.runs() && got > 0
}

// count returns how many pods get nodes.
func (t *trial) count() int { return max(len(t.nodes), t.room) }

// crowded reports that the pods are a crowd without room, of which none was made.
func (t *trial) crowded() bool { return t.made == nil && t.failed != nil }

// try plays a workload. With keep the answer has the placer, and the cause.
func (c *checker) try(w *work, keep bool) *trial {
	t := c.ask(w)
	c.place(w, t, keep)
	return t
}

// ask makes the pods of a workload and admits them.
func (c *checker) ask(w *work) *trial {
	t := &trial{}
	if w.crowd() && w.waits() == "" && w.refusal == nil {
		if room := c.roomFor(w); room < w.replicas {
			t.room, t.want, t.failed, t.cause = room, w.replicas, w.pod, "the nodes that they can use have no room for more"
			return t
		}
	}
	made, err := c.made.of(w)
	if err != nil {
		t.broken = err
		return t
	}
	pods, refuse := c.admitted(w, made.Pods)
	t.made, t.pods, t.refuse, t.want = made, pods, refuse, len(pods)
	if w.waits() == "" && t.want > 0 && w.kind != "DaemonSet" && refuse == nil {
		t.want += max(0, w.replicas-mostReplicas)
	}
	return t
}

// place places the pods of a workload, alone.
func (c *checker) place(w *work, t *trial, keep bool) {
	if t.placed = true; t.broken != nil || t.crowded() || w.waits() != "" || len(t.pods) == 0 && !keep {
		return
	}
	if !keep && len(t.made.Claims)+len(t.made.ResourceClaims) == 0 && c.plain(t, t.pods) {
		return
	}
	c.whole(t, t.pods, t.made, keep)
}

// takes reports whether a workload gets nodes for so many replicas. Without nodes nothing is known, and it does.
func (c *checker) takes(w *work, replicas int) bool {
	more, n := *w, int32(replicas)
	more.replicas, more.trial, more.scaler = replicas, nil, nil
	switch x := w.manifest.(type) {
	case *appsv1.Deployment:
		x = copied(x, x.Namespace)
		x.Spec.Replicas, more.manifest = &n, x
	case *appsv1.ReplicaSet:
		x = copied(x, x.Namespace)
		x.Spec.Replicas, more.manifest = &n, x
	case *appsv1.StatefulSet:
		x = copied(x, x.Namespace)
		x.Spec.Replicas, more.manifest = &n, x
	case *v1.ReplicationController:
		x = copied(x, x.Namespace)
		x.Spec.Replicas, more.manifest = &n, x
	default:
		return false
	}
	if c.snap == nil {
		return true
	}
	t := c.try(&more, false)
	return t.broken == nil && t.refuse == nil && t.failed == nil
}

// plain places pods without claims on the cluster itself and takes them back. It reports false when pods of lower priority may give way.
func (c *checker) plain(t *trial, pods []*v1.Pod) bool {
	placer := c.placer()
	defer c.snap.Rollback(c.snap.Mark())
	for _, p := range pods {
		d := placer.Decide(p, placement.Options{})
		if !d.Placed() {
			if c.preempts(p) {
				t.nodes = nil
				return false
			}
			t.failed = p
			return true
		}
		must.Do(placer.Assume(p, d))
		t.nodes = append(t.nodes, d.Node)
	}
	return true
}

// preempts reports whether a pod that runs has a lower priority than p.
func (c *checker) preempts(p *v1.Pod) bool {
	if n := p.Spec.PreemptionPolicy; n != nil && *n == v1.PreemptNever {
		return false
	}
	if c.lowest == nil {
		lowest := int32(math.MaxInt32)
		for _, o := range c.in.Cluster.Pods {
			if counts(o, math.MinInt32) {
				lowest = min(lowest, podinfo.Priority(o))
			}
		}
		c.lowest = &lowest
	}
	return *c.lowest < podinfo.Priority(p)
}

// whole places pods with their claims on a fork of the cluster.
func (c *checker) whole(t *trial, pods []*v1.Pod, made *workload.Made, keep bool) {
	s := c.snap.Fork()
	for _, claim := range made.Claims {
		must.Do(s.Set(c.withClass(claim)))
	}
	for _, claim := range made.ResourceClaims {
		must.Do(s.Set(claim))
	}
	placer := must.Get(placement.NewPlacer(s, c.profile()))
	if keep {
		t.placer = placer
	}
	for _, p := range pods {
		d := placer.Decide(p, placement.Options{})
		if !d.Placed() && d.Failure.Err == nil {
			if r := placer.Preempt(p, d.Failure, placement.Options{}, placement.PreemptOptions{}); r.Slot >= 0 {
				for _, v := range r.Victims {
					must.Do(s.Remove(v.Pod))
				}
				d = placer.Decide(p, placement.Options{})
			}
		}
		if !d.Placed() {
			t.failed = p
			if keep {
				t.cause = causeOf(placer, s, p, d.Failure)
			}
			return
		}
		must.Do(placer.Assume(p, d))
		bind(s, d.Volumes)
		t.nodes = append(t.nodes, d.Node)
	}
}

// bind plays the controllers that bind claims and make volumes, at once, as place does: a volume can be reached from the zone of the node for which it
// is made, or from that node alone.
func bind(s *cluster.Snapshot, d volumes.Decision) {
	bound := func(claim *v1.PersistentVolumeClaim, volume string) {
		c := claim.DeepCopy()
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, volumes.AnnSelectedNode, d.Node)
		c.Spec.VolumeName, c.Status.Phase = volume, v1.ClaimBound
		must.Do(s.Set(c))
	}
	existing, _ := d.Objects()
	for _, pv := range existing {
		must.Do(s.Set(pv))
	}
	for _, m := range d.Bind {
		bound(m.Claim, m.Volume.Name)
	}
	for _, claim := range d.Provision {
		pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + claim.Namespace + "-" + claim.Name}}
		pv.Spec.Capacity, pv.Spec.AccessModes, pv.Spec.VolumeMode = claim.Spec.Resources.Requests, claim.Spec.AccessModes, claim.Spec.VolumeMode
		pv.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
		pv.Status.Phase = v1.VolumeBound
		if name := claim.Spec.StorageClassName; name != nil {
			pv.Spec.StorageClassName = *name
			if class, ok := cluster.List[*storagev1.StorageClass](s).Get("", *name); ok {
				pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: class.Provisioner, VolumeHandle: pv.Name}
			}
		}
		key := v1.LabelTopologyZone
		node := s.Node(s.Slot(d.Node))
		if node.Labels[key] == "" {
			key = v1.LabelHostname
		}
		if value, ok := node.Labels[key]; ok {
			pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}},
			}}}}
		}
		must.Do(s.Set(pv))
		bound(claim, pv.Name)
	}
}

// causeOf returns the sentence that says why a pod has no node.
func causeOf(placer *placement.Placer, s *cluster.Snapshot, p *v1.Pod, f *placement.Failure) string {
	if f.Err != nil {
		return f.Err.Error()
	}
	if cause := diagnose.CauseOf(placer.Plan, s, p); cause != nil {
		return cause.Text
	}
	return f.Text()
}

// profile is the profile of the trials: that of the default scheduler, over all nodes.
func (c *checker) profile() placement.Profile {
	args := c.in.Plugins
	args.Devices.Compiler = c.in.Compiler
	profile := args.Profile()
	profile.Sampling = placement.AllNodes()
	return profile
}

// placer returns the placer over the cluster itself.
func (c *checker) placer() *placement.Placer {
	if c.shared == nil || c.alone {
		c.shared = must.Get(placement.NewPlacer(c.snap, c.profile()))
	}
	return c.shared
}
