package diagnose

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/diagnose"
)

// The documentation's two constraints, on zone and on hostname, replica by replica in kube-scheduler: it places five replicas on
// three nodes of two zones and not the sixth, and it places the sixth with each relaxation and with no part of one.
func TestSixthReplica(t *testing.T) {
	k := kube(t)
	c := &gen.Cluster{}
	for i, zone := range []string{"a", "a", "b"} {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i+1)}}
		n.Labels = map[string]string{v1.LabelHostname: n.Name, v1.LabelTopologyZone: zone}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("110")}
		c.Nodes = append(c.Nodes, n)
	}
	labels := map[string]string{"app": "web"}
	for i := range 6 {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("web-%d", i+1), UID: types.UID(fmt.Sprint(i)), Labels: labels}}
		p.Spec.Containers = []v1.Container{{Name: "web", Image: "web:1"}}
		for _, key := range []string{v1.LabelTopologyZone, v1.LabelHostname} {
			p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}})
		}
		p, err := gen.Admit(p)
		must(t, err)
		s, err := cluster.New(c.Objects)
		must(t, err)
		load(t, k, c, s)
		know(t, k, p)
		r, err := k.Schedule(p)
		if i < 5 {
			must(t, err)
			p.Spec.NodeName = r.SuggestedHost
			c.Pods = append(c.Pods, p)
			continue
		}
		if err == nil {
			t.Fatalf("kube-scheduler places the sixth replica on %s", r.SuggestedHost)
		}
		d, err := diagnose.Relax(diagnose.Input{Snapshot: s}, p, diagnose.Options{Size: 2})
		must(t, err)
		if want := []string{"spec.topologySpreadConstraints[0]", "spec.topologySpreadConstraints[1]"}; len(d.Conflicts) != 1 || !slices.Equal(d.Conflicts[0], want) {
			t.Errorf("conflicts %q, want %q", d.Conflicts, want)
		}
		for _, r := range d.Relaxations {
			if !place(t, k, c, s, p, r.Changes) {
				t.Errorf("kube-scheduler does not place the sixth replica with: %s", r.Text())
			}
			for j := range r.Changes {
				if len(r.Changes) > 1 && place(t, k, c, s, p, r.Changes[j:j+1]) {
					t.Errorf("a part is enough of: %s", r.Text())
				}
			}
		}
		if len(d.Relaxations) < 5 {
			t.Errorf("%d relaxations", len(d.Relaxations))
		}
	}
}
