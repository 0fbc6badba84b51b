package situation

import (
	"errors"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/placement"
)

// Snapshot returns the cluster of the situation.
func (s *Situation) Snapshot() (*cluster.Snapshot, error) {
	snapshot, err := cluster.New(cluster.Objects{Nodes: s.Nodes, Pods: s.Running, PodGroups: s.Groups, CompositePodGroups: s.Composites})
	if err != nil {
		return nil, err
	}
	err = snapshot.Set(Class())
	for _, x := range s.Slices {
		err = errors.Join(err, snapshot.Set(x))
	}
	for _, c := range s.Claims {
		err = errors.Join(err, snapshot.Set(c))
	}
	return snapshot, err
}

// Profile is the default profile with the gates of the situation.
func (s *Situation) Profile() placement.Profile {
	return placement.PluginArgs{Devices: tracker.Options{GroupClaims: s.Gates.Claims}}.Profile()
}
