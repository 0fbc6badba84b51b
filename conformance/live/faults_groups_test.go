package live

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/podgroup"
)

// Fault schedules with groups of pods: the API server and the replicas have the feature gates.
func TestFaultsOfGroups(t *testing.T) {
	out := runWithGroups(t, "TestFaults", fmt.Sprint("-from=", *faultsFrom), fmt.Sprint("-to=", *faultsTo), fmt.Sprint("-seed=", *faultsSeed), "-crowd=1000")
	t.Log(out[max(0, len(out)-600):])
}

// gang is a group of a schedule. All of its pods ask for the same, so that one order of placing them is as good as another.
type gang struct {
	name    string
	cpu     string
	high    bool
	members int  // that were made
	touched bool // a member went, or may have lost its node
}

// groupGates returns the gates of the schedule's replicas; nil: without groups.
func (s *schedule) groupGates() *podgroup.Gates {
	if !*withGroups {
		return nil
	}
	return &groupGates
}

// stepOfGroups does one thing to groups.
func (s *schedule) stepOfGroups() {
	ctx := context.Background()
	switch k := s.rng.IntN(10); {
	case k < 5 || len(s.gangs) == 0:
		s.createGang()
	case k < 7: // one pod more
		s.createMember(s.gangs[s.rng.IntN(len(s.gangs))])
	case k < 9: // a member goes
		g := s.gangs[s.rng.IntN(len(s.gangs))]
		if g.members == 0 {
			return
		}
		name := fmt.Sprintf("%s-%d", g.name, s.rng.IntN(g.members))
		g.touched = true
		err := s.api.CoreV1().Pods(s.space).Delete(ctx, name, now())
		s.note("delete %s: %v", name, err)
	default: // the minimum changes
		g := s.gangs[s.rng.IntN(len(s.gangs))]
		g.touched = true
		patch := fmt.Sprintf(`{"spec":{"schedulingPolicy":{"gang":{"minCount":%d}}}}`, 1+s.rng.IntN(4))
		_, err := s.api.SchedulingV1beta1().PodGroups(s.space).Patch(ctx, g.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		s.note("minimum of %s: %s: %v", g.name, patch, err)
	}
}

// createGang makes a group and its pods, in either order; some lack a pod.
func (s *schedule) createGang() {
	g := &gang{name: fmt.Sprintf("g%d", len(s.gangs)), cpu: []string{"250m", "500m", "1", "1500m"}[s.rng.IntN(4)], high: s.rng.IntN(4) == 0}
	s.gangs = append(s.gangs, g)
	object := &v1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: s.space, Name: g.name}}
	minimum := 1 + s.rng.IntN(4)
	object.Spec.SchedulingPolicy = v1beta1.PodGroupSchedulingPolicy{Gang: &v1beta1.GangSchedulingPolicy{MinCount: int32(minimum)}}
	if g.high {
		highGroup(object)
	}
	if s.rng.IntN(4) == 0 {
		object.Spec.DisruptionMode = &v1beta1.DisruptionMode{All: &v1beta1.AllDisruptionMode{}}
	}
	pods, late := minimum+s.rng.IntN(2), s.rng.IntN(3) == 0
	if s.rng.IntN(6) == 0 {
		pods = minimum - 1
	}
	create := func() {
		_, err := s.api.SchedulingV1beta1().PodGroups(s.space).Create(context.Background(), object, metav1.CreateOptions{})
		s.note("create group %s of at least %d: %v", g.name, minimum, err)
	}
	if !late {
		create()
	}
	for range pods {
		s.createMember(g)
	}
	if late {
		create()
	}
}

func (s *schedule) createMember(g *gang) {
	p := newPod(fmt.Sprintf("%s-%d", g.name, g.members), g.cpu, in(g.name))
	g.members++
	p.Namespace = s.space
	if g.high {
		high(p)
	}
	_, err := s.api.CoreV1().Pods(s.space).Create(context.Background(), p, metav1.CreateOptions{})
	s.note("create %s: %v", p.Name, err)
}

// wrongGang returns the first thing that a cluster at rest must not show of groups. free is what is left of the nodes.
func (s *schedule) wrongGang(pods []v1.Pod, free map[string]int64) string {
	for _, g := range s.gangs {
		object, err := s.api.SchedulingV1beta1().PodGroups(s.space).Get(context.Background(), g.name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		minimum, bound, waits, request := int(object.Spec.SchedulingPolicy.Gang.MinCount), 0, 0, int64(0)
		for k := range pods {
			p := &pods[k]
			if name, _ := podgroup.Of(p); name != g.name || p.Status.Phase == v1.PodSucceeded {
				continue
			}
			request = p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
			if p.Spec.NodeName != "" {
				bound++
			} else {
				waits++
			}
		}
		if waits == 0 {
			continue
		}
		room := 0
		for name, left := range free {
			if name != elsewhere {
				room += int(max(left, 0) / request)
			}
		}
		if need := max(minimum-bound, 1); waits >= need && room >= need {
			return fmt.Sprintf("group %s of at least %d has %d pods on nodes, %d wait, and %d fit", g.name, minimum, bound, waits, room)
		}
		if all := s.members(pods, g); len(all) == g.members && bound > 0 && bound < minimum && !g.touched && !s.shaken && s.bindings.sentTo(all) < minimum {
			return fmt.Sprintf("group %s of at least %d was bound in part: %d pods", g.name, minimum, bound)
		}
	}
	return ""
}

// members returns the pods of a group by UID.
func (s *schedule) members(pods []v1.Pod, g *gang) map[types.UID]bool {
	out := map[types.UID]bool{}
	for k := range pods {
		if name, _ := podgroup.Of(&pods[k]); name == g.name {
			out[pods[k].UID] = true
		}
	}
	return out
}

// cleanGangs removes the groups of the schedule.
func (s *schedule) cleanGangs() {
	groups := s.api.SchedulingV1beta1().PodGroups(s.space)
	for _, g := range s.gangs {
		_, err := groups.Patch(context.Background(), g.name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		require.NoError(s.t, err)
		require.NoError(s.t, groups.Delete(context.Background(), g.name, metav1.DeleteOptions{}))
	}
}
