package conformance

import (
	"bytes"
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/tools/dump"
)

// shipped reads a cluster that is shipped with podberth place.
func shipped(t *testing.T, name string) *gen.Cluster {
	t.Helper()
	o, err := dump.Read([]string{"../" + name}, bytes.NewReader(nil), dump.Options{})
	must(t, err)
	c := &gen.Cluster{}
	c.Objects = o.Cluster()
	c.Objects.Pods = nil
	for _, p := range o.Pods {
		corev1.SetObjectDefaults_Pod(p)
		p.UID = types.UID(p.Namespace + "/" + p.Name)
		if p.Spec.NodeName != "" {
			c.Objects.Pods = append(c.Objects.Pods, p)
		} else if len(p.Spec.SchedulingGates) == 0 && len(p.Spec.ResourceClaims) == 0 { // conformance/devices has the pods with claims
			c.Pending = append(c.Pending, p)
		}
	}
	return c
}

// agreed compares a shipped cluster, and returns it.
func agreed(t *testing.T, file string, f check) *gen.Cluster {
	t.Helper()
	c := shipped(t, file)
	s, err := compare.New(context.Background(), defaultProfile(t), nil)
	must(t, err)
	differences, err := f(s, c)
	must(t, err)
	for _, d := range unknown(differences) {
		t.Errorf("%s", d)
	}
	return c
}

// Both sides decide every pending pod of the shipped cluster from the same state.
func TestShippedCluster(t *testing.T) {
	c := agreed(t, "examples/testdata/cluster.yaml", (*compare.Side).Sequence)
	if len(c.Pending) != 19 || len(c.Nodes) != 12 {
		t.Fatalf("%d pods, %d nodes", len(c.Pending), len(c.Nodes))
	}
}

// The same for the cluster with volumes. There each pod finds the volumes that earlier decisions left.
func TestShippedVolumes(t *testing.T) {
	c := agreed(t, "tools/place/testdata/volumes.yaml", (*compare.Side).Reserve)
	if len(c.Pending) != 9 || len(c.Nodes) != 5 || len(c.VolumeAttachments) != 1 {
		t.Fatalf("%d pods, %d nodes, %d attachments", len(c.Pending), len(c.Nodes), len(c.VolumeAttachments))
	}
}
