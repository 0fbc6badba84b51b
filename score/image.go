package score

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// Nodes is the part of a cluster that the image score reads: its nodes by slot. Node returns nil for a free slot.
type Nodes interface {
	Len() int
	Node(i int) *v1.Node
}

type imageNodes interface {
	Image(name string) (sizeBytes int64, nodes int, has func(i int) bool)
}

const mebibyte = 1 << 20

// Up to minImageBytes an image sum scores 0. From maxImageBytes per container on it scores 100.
const (
	minImageBytes = 23 * mebibyte
	maxImageBytes = 1000 * mebibyte
)

type imageEvaluator struct {
	wanted     []wanted // distinct names in order of appearance
	room       [2]wanted
	containers int64 // in v1.37 with the image volumes
}

type wanted struct {
	name  string
	times int64
}

// CompileImages prepares the score of ImageLocality for a pod: the images of its containers, init containers and image
// volumes, by the rule of a release (rule L5.2). A nil pod is an empty pod. Rule: documentation, "Scheduler Configuration" (ImageLocality).
//
// Skip is always false. On looks up the images in a cluster. A cluster may have the method
//
//	Image(name string) (sizeBytes int64, nodes int, has func(i int) bool)
//
// It returns the size of an image as the first node that lists the image in status.images has it, the number of nodes that
// list it, and a function that reports whether slot i does. On is O(slots + images) then. Without the method On walks the
// images of all nodes, and the scores are the same. The state describes the nodes at this moment. Call On again when a node
// comes, goes or changes, because the number of nodes is part of every score.
func CompileImages(pod *v1.Pod, v release.Version) Evaluator[Nodes, ImageState] {
	e := &imageEvaluator{}
	if pod == nil {
		return e
	}
	e.wanted = e.room[:0]
	for i := range pod.Spec.InitContainers {
		e.want(pod.Spec.InitContainers[i].Image)
	}
	for i := range pod.Spec.Containers {
		e.want(pod.Spec.Containers[i].Image)
	}
	volumes := int64(0)
	for i := range pod.Spec.Volumes {
		if image := pod.Spec.Volumes[i].Image; image != nil && volumesCount(v) {
			e.want(image.Reference)
			volumes++
		}
	}
	e.containers = int64(len(pod.Spec.Containers)+len(pod.Spec.InitContainers)) + countedVolumes(v, volumes)
	return e
}

func (e *imageEvaluator) want(image string) {
	name := NormalizeImage(image)
	for i := range e.wanted {
		if e.wanted[i].name == name {
			e.wanted[i].times++
			return
		}
	}
	e.wanted = append(e.wanted, wanted{name, 1})
}

// NormalizeImage returns the name under which nodes list an image: it adds ":latest" when the name has neither tag nor
// digest (rule C7.2). It completes nothing else.
func NormalizeImage(name string) string {
	if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
		return name + ":latest"
	}
	return name
}

func (e *imageEvaluator) Skip() bool { return false }

func (e *imageEvaluator) On(nodes Nodes) ImageState {
	s := &imageState{containers: e.containers}
	if index, ok := nodes.(imageNodes); ok {
		for _, w := range e.wanted {
			var f foundImage
			f.size, f.nodes, f.has = index.Image(w.name)
			s.add(w, f, nodes)
		}
		return s
	}
	for k, f := range e.find(nodes) {
		s.add(e.wanted[k], f, nodes)
	}
	return s
}

// add counts an image that some node has.
func (s *imageState) add(w wanted, f foundImage, nodes Nodes) {
	if f.nodes == 0 {
		return
	}
	if s.nodes == 0 { // only now, because this looks at every slot
		s.nodes = countNodes(nodes)
	}
	spread := float64(f.nodes) / float64(s.nodes)
	s.images = append(s.images, image{times(int64(float64(f.size)*spread), w.times), f.has})
}

type foundImage struct {
	size  int64
	nodes int
	has   func(i int) bool
}

// find walks the images of all nodes.
func (e *imageEvaluator) find(nodes Nodes) []foundImage {
	list := make([]foundImage, len(e.wanted))
	at := make(map[string]int, len(e.wanted))
	slots := make([][]bool, len(e.wanted))
	for k, w := range e.wanted {
		at[w.name] = k
	}
	for i := range nodes.Len() {
		n := nodes.Node(i)
		if n == nil {
			continue
		}
		for j := range n.Status.Images {
			for _, name := range n.Status.Images[j].Names {
				k, ok := at[name]
				if !ok || slots[k] != nil && slots[k][i] {
					continue
				}
				if slots[k] == nil {
					slots[k] = make([]bool, nodes.Len())
					list[k].size = n.Status.Images[j].SizeBytes
					list[k].has = func(i int) bool { return i < len(slots[k]) && slots[k][i] }
				}
				slots[k][i] = true
				list[k].nodes++
			}
		}
	}
	return list
}

func countNodes(nodes Nodes) (n int) {
	for i := range nodes.Len() {
		if nodes.Node(i) != nil {
			n++
		}
	}
	return n
}

// ImageState scores the nodes of one cluster as they were at On. It is safe for concurrent use while nobody writes to the
// cluster.
type ImageState interface {
	// Name returns "ImageLocality".
	Name() string
	// Raw returns the score of slot i, 0 to 100; it needs no normalization (rules C7.3 and C7.4). It is the sum over the pod's
	// images on the node of size x share of nodes that have the image, on a scale from 23 MiB (0) to 1000 MiB per container
	// (100). O(images), no allocation.
	Raw(i int) int64
}

type imageState struct {
	images     []image // the images that some node has
	containers int64
	nodes      int // in the cluster; 0: not counted yet
}

type image struct {
	worth int64 // bytes x share of the nodes that have the image, added once for each time the pod names it
	has   func(i int) bool
}

func (s *imageState) Name() string { return "ImageLocality" }

// Zero reports whether every node scores 0 because no node has an image of the pod (rule C7.7).
func (s *imageState) Zero() bool { return len(s.images) == 0 }

func (s *imageState) Raw(i int) int64 {
	if s.containers == 0 {
		return 0
	}
	var sum int64
	for k := range s.images {
		if s.images[k].has(i) {
			sum = resources.Add(sum, s.images[k].worth)
		}
	}
	hi := maxImageBytes * s.containers
	sum = min(max(sum, minImageBytes), hi)
	return MaxScore * (sum - minImageBytes) / (hi - minImageBytes)
}
