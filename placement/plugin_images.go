package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/score"
)

// newImageLocality returns the score of that name, by the rule of a release.
func newImageLocality(v release.Version) *Plugin {
	return &Plugin{
		Name: plugins.ImageLocality,
		Keep: KeepByNodeAndPods, AppendKey: podkey.Images, AppendRowKey: appendKnownImages(v), ReadsOfOthers: []string{"images"},
		Score: func(pod *v1.Pod, c Cluster) (Scorer, error) {
			return imageScore{ImageState: score.CompileImages(pod, v).On(c)}, nil
		},
	}
}

type imageScore struct {
	score.ImageState
	inRange
}

// Zero reports whether every node scores 0.
func (s imageScore) Zero() bool { return engine.Zero(s.ImageState) }

// NodeAlone says that the score follows from the images of the node; those of other nodes stay while groups are tried.
func (imageScore) NodeAlone() bool { return true }

// appendKnownImages returns a function that appends the pod's images if some node has one of them. Otherwise every node scores 0, whatever the images.
func appendKnownImages(v release.Version) func(dst []byte, pod *v1.Pod, c Cluster) []byte {
	return func(dst []byte, pod *v1.Pod, c Cluster) []byte {
		zero := engine.Zero(score.CompileImages(pod, v).On(c))
		dst = key.Flag(dst, zero)
		if !zero {
			dst = podkey.Images(dst, pod)
		}
		return dst
	}
}
