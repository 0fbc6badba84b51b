package drain

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/dump"
)

// replacer schedules the new pods of evicted pods, with the drained nodes cordoned. Each new pod sees the new pods before
// it.
type replacer struct {
	snapshot *cluster.Snapshot
	placer   *placement.Placer
	profile  placement.Profile
	held     *placement.Nominations // of pending pods, which hold room on their nominated nodes
	failures map[*v1.Pod]string
	warnings []string
	made     int
	err      error
	ended    func() error // the error of an end that the caller wants; nil: none

	steps   int         // how many pods may still be placed
	stop    func() bool // ends the placing; nil: never
	untried int         // pods that were left out since
	leftOut map[*v1.Pod]bool
}

// defaultSteps is how many pods a drain places at most.
const defaultSteps = 100_000

func newReplacer(in *input, nodes []string) (*replacer, error) {
	args := placement.PluginArgs{Devices: tracker.Options{Compiler: cel.NewCompiler(), Templates: true}}
	r := &replacer{profile: args.Profile(), failures: map[*v1.Pod]string{}, leftOut: map[*v1.Pod]bool{}, steps: defaultSteps}
	r.profile.Sampling = placement.AllNodes()
	objects := in.objects.Cluster()
	objects.Nodes = slices.Clone(objects.Nodes)
	for i, n := range objects.Nodes {
		if slices.Contains(nodes, n.Name) {
			objects.Nodes[i] = cordoned(n)
		}
	}
	var err error
	if r.snapshot, err = cluster.New(objects); err != nil {
		return nil, err
	}
	r.held = placement.NewNominations(r.snapshot, slices.DeleteFunc(slices.Clone(in.objects.Pods), func(pod *v1.Pod) bool {
		return !dump.Pending(pod) || cluster.Finished(pod) || !r.profile.Schedules(pod)
	}))
	r.placer, err = placement.NewPlacer(r.snapshot, r.profile)
	return r, err
}

// cordoned returns the node as the first step of a drain leaves it.
func cordoned(n *v1.Node) *v1.Node {
	n = n.DeepCopy()
	n.Spec.Unschedulable = true
	taint := v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}
	if !slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) }) {
		n.Spec.Taints = append(n.Spec.Taints, taint)
	}
	return n
}

// replace takes the pod off its node and schedules its replacement. Nobody is preempted for it.
func (r *replacer) replace(pod *v1.Pod) (node string, ok bool) {
	if r.err == nil && r.ended != nil {
		r.err = r.ended()
	}
	if r.err != nil {
		return "", false
	}
	if r.err = r.snapshot.Unset(pod); r.err != nil {
		return "", false
	}
	if r.err = r.release(pod); r.err != nil {
		return "", false
	}
	if owner := metav1.GetControllerOf(pod); owner.Kind == "DaemonSet" {
		r.failures[pod] = "its DaemonSet is gone"
		return "", false
	}
	if s := pod.Spec.SchedulerName; s != "" && s != r.profile.SchedulerName {
		return "", true
	}
	if !r.asks() {
		r.leftOut[pod] = true
		return "", true
	}
	next := r.replacement(pod)
	d := r.placer.Decide(next, r.held.Options(next, 0))
	if !d.Placed() {
		r.failures[pod] = d.Failure.Text()
		return "", false
	}
	if r.err = r.placer.Assume(next, d); r.err != nil {
		r.err = fmt.Errorf("pod %s: %w", dump.Name(pod), r.err)
		return "", false
	}
	return d.Node, true
}

// later returns the node of the new pod of a pod that stays, once it may leave, or why no node takes the new pod. Both are empty for a pod
// without a new pod elsewhere, such as an agent's, and for one that another scheduler places or that -steps or -time leaves out.
func (r *replacer) later(pod *v1.Pod) (node, note string) {
	if owner := metav1.GetControllerOf(pod); owner == nil || owner.Kind == "DaemonSet" || disruption.BudgetAgent(pod) != "" || cluster.Finished(pod) || pod.DeletionTimestamp != nil {
		return "", ""
	}
	node, _ = r.replace(pod)
	return node, r.failures[pod]
}

// release does what the controllers of claims do when a pod is gone.
func (r *replacer) release(pod *v1.Pod) error {
	var mine []*resourcev1.ResourceClaim
	for c := range cluster.List[*resourcev1.ResourceClaim](r.snapshot).In(pod.Namespace) {
		if slices.ContainsFunc(c.Status.ReservedFor, func(x resourcev1.ResourceClaimConsumerReference) bool { return x.UID == pod.UID }) || metav1.IsControlledBy(c, pod) {
			mine = append(mine, c)
		}
	}
	for _, c := range mine {
		var err error
		if left := devices.Abandoned(c, pod); left != nil {
			err = r.snapshot.Set(left)
		} else {
			err = r.snapshot.Unset(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// asks takes one of the steps, and reports whether there was one and the time is not over.
func (r *replacer) asks() bool {
	if r.untried > 0 || r.steps == 0 || r.stop != nil && r.stop() {
		r.untried++
		return false
	}
	r.steps--
	return true
}

// fits reports whether a pending pod finds a node, and puts it there. Pods of other schedulers may find one, and those that -steps and -time
// leave out.
func (r *replacer) fits(pod *v1.Pod) (bool, error) {
	if s := pod.Spec.SchedulerName; s != "" && s != r.profile.SchedulerName {
		return true, nil
	}
	if len(pod.Spec.SchedulingGates) > 0 {
		return false, nil
	}
	if !r.asks() {
		return true, nil
	}
	d := r.placer.Decide(r.held.Of(pod), r.held.Options(pod, 0))
	if !d.Placed() {
		if !r.held.WaitsForVictims(r.placer, pod, d.Failure, time.Time{}) {
			r.held.Nominate(pod, "")
		}
		return false, nil
	}
	r.held.Nominate(pod, "")
	if err := r.placer.Assume(pod, d); err != nil {
		return false, fmt.Errorf("pod %s: %w", dump.Name(pod), err)
	}
	return true, nil
}

// replacement is the new pod of the same controller. Those of a StatefulSet keep their name, others get one of their own.
func (r *replacer) replacement(pod *v1.Pod) *v1.Pod {
	next := pod.DeepCopy()
	r.made++
	if metav1.GetControllerOf(pod).Kind != "StatefulSet" {
		next.Name = fmt.Sprintf("%s-replacement-%d", pod.Name, r.made)
	}
	next.UID = types.UID(fmt.Sprintf("replacement-%d", r.made))
	next.Spec.NodeName, next.Spec.EphemeralContainers = "", nil
	next.Status = v1.PodStatus{Phase: v1.PodPending}
	return next
}
