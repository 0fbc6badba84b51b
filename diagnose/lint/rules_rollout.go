package lint

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/placement"
)

// oneAtATime is the fix of a rollout whose new pods wait for what the old ones hold.
const oneAtATime = "strategy Recreate, or maxSurge 0 with maxUnavailable 1"

// rolloutRules are about the new pod of a rollout, which comes before an old one leaves.
var rolloutRules = []Rule{
	{ID: "rollout-rwop", Severity: Error, Summary: "a rollout starts a new pod while the old one holds a claim that one pod alone may use", work: func(c *checker, w *work) {
		c.surging(w, v1.ReadWriteOncePod, func(path string, k *v1.PersistentVolumeClaim) {
			c.report(path, oneAtATime, "the new pod of a rollout never gets claim %s, which is ReadWriteOncePod, while the old pod runs, and the old pod stays until the new one is ready", k.Name)
		})
	}},
	{ID: "rollout-rwo", Severity: Error, Summary: "a rollout starts a new pod while the old one holds a claim that one node alone may use: an error when the new pod comes to another node", work: func(c *checker, w *work) {
		c.surging(w, v1.ReadWriteOnce, func(path string, k *v1.PersistentVolumeClaim) {
			if from, to := c.nextNode(w); to != "" && from != "" && from != to {
				c.report(path, oneAtATime, "the new pod of a rollout comes to node %s and waits there for claim %s, which is ReadWriteOnce and in use on %s, and the old pod stays until the new one is ready", to, k.Name, from)
				return
			}
			c.report(path, oneAtATime, "the new pod of a rollout does not start on another node while the old pod has claim %s, which is ReadWriteOnce, and the old pod stays until the new one is ready", k.Name)
			c.out[len(c.out)-1].Severity = Warning
		})
	}},
	{ID: "rollout-spread", Severity: Error, Cluster: true, Summary: "a DoNotSchedule constraint leaves no domain for the new pod of a rollout", work: func(c *checker, w *work) {
		any := false
		hard(w, func(_ int, t v1.TopologySpreadConstraint) {
			any = any || !slices.Contains(t.MatchLabelKeys, appsv1.DefaultDeploymentUniqueLabelKey)
		})
		if !any || w.surge == 0 || w.waits() != "" || w.replicas == 0 || !c.fits(w) {
			return
		}
		if c.spreadBlocksExtra(w) {
			c.report(w.path+".topologySpreadConstraints", "matchLabelKeys: [pod-template-hash], or maxSurge 0 with maxUnavailable 1", "a rollout must start a new pod before one of %d stops, and the constraint has no node for it", w.replicas)
		}
	}},
	{ID: "rollout-host-port-ds", Severity: Error, Summary: "a DaemonSet with a host port starts the new pod before the old one stops", work: func(c *checker, w *work) {
		d, is := w.manifest.(*appsv1.DaemonSet)
		if !is || d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType || d.Spec.UpdateStrategy.RollingUpdate == nil || d.Spec.UpdateStrategy.RollingUpdate.MaxSurge == nil {
			return
		}
		path, port := hostPort(w)
		if n, err := intstr.GetScaledValueFromIntOrPercent(d.Spec.UpdateStrategy.RollingUpdate.MaxSurge, 100, true); err == nil && n > 0 && port > 0 {
			c.report("spec.updateStrategy.rollingUpdate.maxSurge", "maxSurge: 0 with maxUnavailable: 1", "the new pod of a node never gets host port %d (%s) while the old one runs", port, path)
		}
	}},
}

// surging calls f for each claim of a mode that the new pod of a rollout of one replica shares with the old pod.
func (c *checker) surging(w *work, mode v1.PersistentVolumeAccessMode, f func(path string, k *v1.PersistentVolumeClaim)) {
	if w.kind != "Deployment" || w.surge == 0 || w.replicas == 0 {
		return
	}
	for i, v := range w.pod.Spec.Volumes {
		if k := c.claim(w, v); k != nil && hasMode(k, mode) && !hasMode(k, v1.ReadWriteMany) {
			f(fmt.Sprintf("%s.volumes[%d]", w.path, i), k)
		}
	}
}

// nextNode returns a node of the pods of a workload, and the node that the new pod of a rollout gets beside them; "" when there is none.
func (c *checker) nextNode(w *work) (from, to string) {
	if c.snap == nil || w.waits() != "" {
		return "", ""
	}
	t := c.try(w, true)
	if t.failed != nil || t.placer == nil {
		return "", ""
	}
	switch old := c.made.hashed[w.object]; {
	case len(t.nodes) > 0:
		from = t.nodes[0]
	case len(old) > 0:
		from = old[0].Spec.NodeName
	default:
		for _, r := range c.made.sets[w.object] {
			for _, p := range c.made.owned["ReplicaSet "+r.Namespace+"/"+r.Name] {
				from = p.Spec.NodeName
			}
		}
	}
	if d := t.placer.Decide(next(w), placement.Options{}); d.Placed() {
		to = d.Node
	}
	return from, to
}

// next returns the new pod of a rollout.
func next(w *work) *v1.Pod {
	pod := w.pod.DeepCopy()
	pod.Name += "-rollout"
	pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
	return pod
}

// spreadBlocksExtra places the replicas and then one pod more, and reports whether that pod has no node with its DoNotSchedule
// constraints, and one without.
func (c *checker) spreadBlocksExtra(w *work) bool {
	t := c.try(w, true)
	if t.failed != nil || t.placer == nil {
		return false
	}
	pod := next(w)
	if t.placer.Decide(pod, placement.Options{}).Placed() {
		return false
	}
	free := pod.DeepCopy()
	for i := range free.Spec.TopologySpreadConstraints {
		free.Spec.TopologySpreadConstraints[i].WhenUnsatisfiable, free.Spec.TopologySpreadConstraints[i].MinDomains = v1.ScheduleAnyway, nil
	}
	return t.placer.Decide(free, placement.Options{}).Placed()
}
