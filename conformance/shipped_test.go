package conformance

import (
	"bytes"
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/examples/dump"
)

// The cluster that is shipped with simulate: every pending pod decided by both from the same state.
func TestShippedCluster(t *testing.T) {
	o, err := dump.Read([]string{"../examples/simulate/testdata/cluster.yaml"}, bytes.NewReader(nil))
	must(t, err)
	c := &gen.Cluster{}
	c.Objects = o.Cluster()
	c.Objects.Pods = nil
	for _, p := range o.Pods {
		corev1.SetObjectDefaults_Pod(p)
		p.UID = types.UID(p.Namespace + "/" + p.Name)
		if p.Spec.NodeName != "" {
			c.Objects.Pods = append(c.Objects.Pods, p)
		} else if len(p.Spec.SchedulingGates) == 0 {
			c.Pending = append(c.Pending, p)
		}
	}
	s, err := compare.New(context.Background(), defaultProfile(t), seen)
	must(t, err)
	differences, err := s.Sequence(c)
	must(t, err)
	if len(c.Pending) != 19 || len(c.Nodes) != 12 {
		t.Fatalf("%d pods, %d nodes", len(c.Pending), len(c.Nodes))
	}
	for _, d := range unknown(differences) {
		t.Errorf("%s", d)
	}
}
