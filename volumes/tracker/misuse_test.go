package tracker_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/volumes"
	"github.com/podberth/podberth/volumes/tracker"
)

// Nil, zero and extreme arguments give an error or the zero answer, but for clusters and pods that must not be nil.
func TestMisuse(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Obj()}})
	if err != nil {
		t.Fatal(err)
	}
	const object = "snapshots must not be nil, nor pods that a decision is about"
	decision := volumes.Decision{Provision: []*v1.PersistentVolumeClaim{{}}}
	testkit.Misuse(t, map[string]any{
		"New":     tracker.New,
		"Of":      tracker.Of,
		"Tracker": func() *tracker.Tracker { return tracker.New(s, tracker.Of(s)) },
	}, map[string]string{"Of": object, "Tracker.Assume": object, "Tracker.Reserve": object}, &v1.Pod{}, testkit.Pod("p").Obj(), decision)
}
