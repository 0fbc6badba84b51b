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
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/tools/dump"
)

// replacer schedules the new pods of evicted pods, with the drained nodes cordoned. Each new pod sees the new pods before
// it.
type replacer struct {
	snapshot *cluster.Snapshot
	placer   *placement.Placer
	profile  placement.Profile
	gates    *podgroup.Gates        // with which groups count; nil: they do not
	held     *placement.Nominations // of pending pods, which hold room on their nominated nodes
	failures map[*v1.Pod]string
	waits    []*v1.Pod // new pods that no node takes
	why      map[*v1.Pod]*diagnose.Cause
	causes   map[failure]*diagnose.Cause
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
	args := in.args
	args.Devices.Compiler, args.Devices.Templates = cel.NewCompiler(), true
	r := &replacer{profile: args.Profile(), failures: map[*v1.Pod]string{}, why: map[*v1.Pod]*diagnose.Cause{}, causes: map[failure]*diagnose.Cause{}, leftOut: map[*v1.Pod]bool{}, steps: defaultSteps, gates: in.gates}
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

// replaceAll takes pods off their nodes and schedules their replacements, those of a group together. Nobody is preempted for them.
func (r *replacer) replaceAll(pods []*v1.Pod) []disruption.Replacement {
	out := make([]disruption.Replacement, len(pods))
	at := map[*v1.Pod]int{} // by the new pod
	var fresh []*v1.Pod
	if r.gates != nil { // members of a group are decided when all of them are gone
		for _, pod := range pods {
			if r.gone(pod); r.err != nil {
				return out
			}
		}
	}
	for k, pod := range pods {
		if r.gates == nil {
			r.gone(pod)
		}
		if r.err != nil {
			return out
		}
		next, ready := r.next(pod)
		out[k].Ready = ready
		if next == nil {
			continue
		}
		at[next] = k
		if _, member := podgroup.Of(next); member && r.gates != nil {
			fresh = append(fresh, next)
			continue
		}
		r.place(placement.Entry{Pods: []*v1.Pod{next}}, pods, at, out)
	}
	for _, e := range placement.Entries(r.snapshot, fresh, r.gates) {
		r.place(e, pods, at, out)
	}
	return out
}

// gone takes a pod off its node.
func (r *replacer) gone(pod *v1.Pod) {
	if r.err == nil && r.ended != nil {
		r.err = r.ended()
	}
	if r.err == nil {
		r.err = r.snapshot.Remove(pod)
	}
	if r.err == nil {
		r.err = r.release(pod)
	}
}

// next returns the new pod that takes the place of a pod, nil when the scheduler is not asked about it. ready reports whether the pod
// counts as replaced then.
func (r *replacer) next(pod *v1.Pod) (next *v1.Pod, ready bool) {
	if owner := metav1.GetControllerOf(pod); owner.Kind == "DaemonSet" {
		r.failures[pod] = "its DaemonSet is gone"
		return nil, false
	}
	if s := pod.Spec.SchedulerName; s != "" && s != r.profile.SchedulerName {
		return nil, true
	}
	if !r.asks() {
		r.leftOut[pod] = true
		return nil, true
	}
	return r.replacement(pod), false
}

// place decides about new pods and puts them on their nodes.
func (r *replacer) place(e placement.Entry, pods []*v1.Pod, at map[*v1.Pod]int, out []disruption.Replacement) {
	for _, m := range r.placer.DecideEntry(e, placement.GroupOptions{Options: r.held.Options(e.Pods[0], 0), Gates: r.granted()}) {
		k := at[m.Pod]
		if !m.Placed() {
			r.failures[pods[k]] = m.Text
			r.waits = append(r.waits, m.Pod)
			if m.Failure != nil {
				r.why[pods[k]] = r.causeOf(m.Pod, m.Text)
			}
			continue
		}
		if err := r.placer.Assume(m.Pod, m.Decision); err != nil {
			r.err = fmt.Errorf("pod %s: %w", dump.Name(m.Pod), err)
			return
		}
		out[k] = disruption.Replacement{Node: m.Node, Ready: true}
	}
}

// failure is what the pods of one owner have in common that wait for one cause.
type failure struct{ namespace, owner, text string }

// causeOf says why no node takes a new pod. Pods of one owner with one message of the scheduler have one cause, which is looked for once.
func (r *replacer) causeOf(pod *v1.Pod, text string) *diagnose.Cause {
	key := failure{pod.Namespace, dump.Owner(pod), text}
	c, known := r.causes[key]
	if !known {
		c = diagnose.CauseOf(r.placer.Plan, r.snapshot, pod, r.waits...)
		r.causes[key] = c
	}
	return c
}

// granted returns the gates with which groups count.
func (r *replacer) granted() podgroup.Gates {
	if r.gates == nil {
		return podgroup.Gates{}
	}
	return *r.gates
}

// replace is replaceAll for one pod.
func (r *replacer) replace(pod *v1.Pod) (node string, ok bool) {
	if r.err != nil {
		return "", false
	}
	out := r.replaceAll([]*v1.Pod{pod})[0]
	return out.Node, out.Ready
}

// later writes where the new pods of pods that stay go, once they may leave, or why no node takes them. Both are empty for a pod
// without a new pod elsewhere, such as an agent's, and for one that another scheduler places or that -steps or -time leaves out. Pods that
// leave together are replaced together.
func (r *replacer) later(stay []disruption.Blocked, out []blocked) {
	for k := 0; k < len(stay); {
		end := k + 1
		for end < len(stay) && stay[k].Unit != "" && stay[end].Unit == stay[k].Unit {
			end++
		}
		var pods []*v1.Pod
		var places []int
		for i := k; i < end; i++ {
			pod := stay[i].Pod
			if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind != "DaemonSet" && disruption.BudgetAgent(pod) == "" && !cluster.Finished(pod) && pod.DeletionTimestamp == nil {
				pods, places = append(pods, pod), append(places, i)
			}
		}
		if r.err == nil {
			for n, x := range r.replaceAll(pods) {
				out[places[n]].Replacement, out[places[n]].Note, out[places[n]].Why = x.Node, r.failures[pods[n]], r.why[pods[n]]
			}
		}
		k = end
	}
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
			err = r.snapshot.Remove(c)
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
