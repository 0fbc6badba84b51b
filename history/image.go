package history

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
)

// imageTotal is the score of ImageLocality in v1.18, 0 to limit: the bytes of the images of the pod's containers on the node, each
// times the share of nodes that have the image, on a scale from 23 MiB to 1000 MiB in all.
func imageTotal(pod *v1.Pod, c placement.Cluster, limit int64) placement.Scorer {
	const least, most = 23 << 20, 1000 << 20
	sums, nodes := make([]int64, c.Len()), 0
	for i := range sums {
		if c.Node(i) != nil {
			nodes++
		}
	}
	for k := range pod.Spec.Containers {
		name := score.NormalizeImage(pod.Spec.Containers[k].Image)
		sizes, have := make([]int64, c.Len()), 0
		for i := range sizes {
			if size, ok := sizeOn(c.Node(i), name); ok {
				sizes[i], have = size, have+1
			}
		}
		for i, size := range sizes {
			sums[i] += int64(float64(size) * (float64(have) / float64(nodes)))
		}
	}
	return scorer(func(i int) int64 { return limit * (min(max(sums[i], least), most) - least) / (most - least) })
}

// sizeOn returns the bytes of an image on a node, and false when the node does not have it.
func sizeOn(n *v1.Node, name string) (sizeBytes int64, ok bool) {
	if n == nil {
		return 0, false
	}
	for j := range n.Status.Images {
		for _, known := range n.Status.Images[j].Names {
			if known == name {
				return n.Status.Images[j].SizeBytes, true
			}
		}
	}
	return 0, false
}
