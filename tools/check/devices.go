package check

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/tools/dump"
)

// keepTemplates adds the templates that the input lacks and that claims of the asked pod were made from.
func (in *input) keepTemplates() error {
	for k := range in.asked.Spec.ResourceClaims {
		e := &in.asked.Spec.ResourceClaims[k]
		if e.ResourceClaimTemplateName == nil {
			continue
		}
		if _, ok := cluster.List[*resourcev1.ResourceClaimTemplate](in.snapshot).Get(in.asked.Namespace, *e.ResourceClaimTemplateName); ok {
			continue
		}
		for _, s := range in.asked.Status.ResourceClaimStatuses {
			if s.Name != e.Name || s.ResourceClaimName == nil {
				continue
			}
			claim, ok := cluster.List[*resourcev1.ResourceClaim](in.snapshot).Get(in.asked.Namespace, *s.ResourceClaimName)
			if !ok {
				continue
			}
			template := &resourcev1.ResourceClaimTemplate{Spec: resourcev1.ResourceClaimTemplateSpec{Spec: claim.Spec}}
			template.Namespace, template.Name = in.asked.Namespace, *e.ResourceClaimTemplateName
			if err := in.snapshot.Set(template); err != nil {
				return err
			}
		}
	}
	return nil
}

// another returns a pod like the asked pod that is on no node. Its claims from templates do not exist yet.
func (in *input) another() *v1.Pod {
	more := *in.asked
	more.Name += "-more"
	more.UID = types.UID(dump.Name(&more))
	more.Spec.NodeName, more.Status.NominatedNodeName = "", ""
	more.Status.ResourceClaimStatuses = nil
	return &more
}

// asksForDevices reports whether the pod has claims, or asks for a resource that a device class provides.
func (in *input) asksForDevices(pod *v1.Pod) bool {
	return len(pod.Spec.ResourceClaims) > 0 || tracker.Of(in.snapshot).ExtendedResources().Serve(pod)
}

// onlyNode returns the pod with the demand that its node has this name.
func onlyNode(pod *v1.Pod, node string) *v1.Pod {
	only := *pod
	only.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchFields: []v1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}}
	return &only
}

// roomPlacer returns a placer over a fork of the cluster which looks at resources and devices alone.
func (in *input) roomPlacer() (*placement.Placer, error) {
	profile := placement.Profile{SchedulerName: in.profile.SchedulerName, Sampling: placement.AllNodes()}
	for _, name := range []string{plugins.NodeAffinity, plugins.NodeResourcesFit, plugins.DynamicResources} {
		profile.Filters = append(profile.Filters, in.profile.Filter(name))
	}
	return placement.NewPlacer(in.snapshot.Fork(), profile)
}

// deviceRoom returns how many pods like this one fit on a node, at most n, when all of them go to that node.
func (in *input) deviceRoom(pod *v1.Pod, slots []int, n int) (func(slot int) int, error) {
	placer, err := in.roomPlacer()
	if err != nil {
		return nil, err
	}
	rooms := map[int]int{}
	for _, i := range slots {
		room, err := placer.HowMany(onlyNode(pod, in.snapshot.Node(i).Name), func(placed int) bool { return placed < n })
		if err != nil {
			return nil, err
		}
		rooms[i] = len(room.Nodes)
	}
	return func(slot int) int { return rooms[slot] }, nil
}

// holds places pods like this one on the slots one after the other. It returns an error when the pods of one node take devices
// that pods of another node need, or use a claim that holds all of them on one node: the rooms of the nodes do not add up then.
func (in *input) holds(pod *v1.Pod, slots []int) error {
	placer, err := in.roomPlacer()
	if err != nil {
		return err
	}
	for k, i := range slots {
		only := onlyNode(pod, in.snapshot.Node(i).Name)
		only.Name = fmt.Sprintf("%s-%d", pod.Name, k)
		only.UID = types.UID(dump.Name(only))
		d := placer.Decide(only, placement.Options{})
		if !d.Placed() {
			return fmt.Errorf("-place: Forbidden: pods like %s on several nodes need the same devices or the same claim; fit counts them", dump.Name(in.asked))
		}
		if err := placer.Assume(only, d); err != nil {
			return err
		}
	}
	return nil
}
