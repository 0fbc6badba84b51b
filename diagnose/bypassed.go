package diagnose

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/volumes"
)

// Bypassed returns why no scheduler tries a pod. A pod with spec.nodeName does not start when a claim with WaitForFirstConsumer is bound for
// the node that a scheduler has chosen. A pod without spec.nodeName waits for its own scheduler when [Input.Profile] is another one's. The remedy is node affinity on the
// name of the node, or the scheduler of the profile, when the pod then gets a node; nil otherwise. The cause is nil for other pods, and for
// those that have started or ended. Cost: one decision. The errors are those of [Relax] about [Input].
func Bypassed(in Input, pod *v1.Pod) (cause *Cause, r *Remedy, err error) {
	defer must.Catch(&err)
	if in.Snapshot == nil {
		return nil, nil, errNoSnapshot
	}
	if pod.Spec.NodeName == "" && !cluster.Finished(pod) {
		return ofOthers(in, pod)
	}
	claim := waitsForConsumer(in.Snapshot, pod)
	if claim == "" {
		return nil, nil, nil
	}
	node, owner := pod.Spec.NodeName, ownerOf(in.Snapshot, pod)
	c := Change{Kind: Mend, Object: owner.String(), Path: "spec.nodeName", From: node, To: "node affinity with metadata.name in place of spec.nodeName", Again: owner.again, pod: pod, edit: func(p *v1.Pod, _ int64) {
		p.Spec.NodeName = ""
		named := v1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node}}
		terms := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{named}}}}
		p.Spec.Affinity = p.Spec.Affinity.DeepCopy()
		if p.Spec.Affinity == nil {
			p.Spec.Affinity = &v1.Affinity{}
		}
		if p.Spec.Affinity.NodeAffinity == nil {
			p.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{}
		}
		if has := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; has != nil {
			terms = has.DeepCopy()
			for i := range terms.NodeSelectorTerms {
				terms.NodeSelectorTerms[i].MatchFields = append(terms.NodeSelectorTerms[i].MatchFields, named)
			}
		}
		p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = terms
	}}
	c.Path = owner.path + c.Path
	cause = &Cause{Type: causeNodeName, Object: owner.String(), Field: c.Path, Wanted: node, Found: claim, Nodes: []string{node},
		Text: fmt.Sprintf("it has spec.nodeName %s and does not run: claim %s (WaitForFirstConsumer) waits for a scheduler that never sees the pod", node, claim)}
	s := in.Snapshot.Fork()
	if s.Pod(pod.Namespace, pod.Name) != nil {
		must.Do(s.Remove(pod))
	}
	edited := pod.DeepCopy()
	c.edit(edited, 0)
	if d := must.Get(placement.New(s, must.Get(profileOf(in)))).Decide(edited, placement.Options{}); d.Placed() {
		r = &Remedy{Changes: []Change{c}, Node: d.Node, Run: 1, Of: 1}
		r.Text = fmt.Sprintf("%s: %s: then it goes to %s", c.object(), c.To, d.Node)
	}
	return cause, r, nil
}

// waitsForConsumer returns the name of the first claim of a pod with spec.nodeName that no scheduler has chosen a node for.
func waitsForConsumer(s *cluster.Snapshot, pod *v1.Pod) string {
	if pod.Spec.NodeName == "" || pod.Status.Phase == v1.PodRunning || cluster.Finished(pod) {
		return ""
	}
	for _, v := range pod.Spec.Volumes {
		name := pod.Name + "-" + v.Name // of an ephemeral volume
		if v.PersistentVolumeClaim != nil {
			name = v.PersistentVolumeClaim.ClaimName
		} else if v.Ephemeral == nil {
			continue
		}
		claim, ok := cluster.List[*v1.PersistentVolumeClaim](s).Get(pod.Namespace, name)
		if !ok || claim.Spec.VolumeName != "" || claim.Annotations[volumes.AnnSelectedNode] != "" || claim.Spec.StorageClassName == nil {
			continue
		}
		class, ok := cluster.List[*storagev1.StorageClass](s).Get("", *claim.Spec.StorageClassName)
		if ok && class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer {
			return name
		}
	}
	return ""
}
