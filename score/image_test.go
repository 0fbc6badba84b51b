package score_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/score"
)

const mib = 1 << 20

func imagePod(volume string, inits int, images ...string) *v1.Pod {
	p := testkit.Pod("web").Obj()
	p.Spec.Containers = nil
	for i, image := range images {
		c := v1.Container{Image: image}
		if i < inits {
			p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		} else {
			p.Spec.Containers = append(p.Spec.Containers, c)
		}
	}
	if volume != "" {
		p.Spec.Volumes = []v1.Volume{{Name: "data"}, {Name: "model", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: volume}}}}
	}
	return p
}

// indexed adds the image index of a snapshot to a cluster.
type indexed struct{ *testkit.Cluster }

func (c indexed) Image(name string) (sizeBytes int64, nodes int, has func(i int) bool) {
	on := map[int]bool{}
	for i, n := range c.Nodes {
		if n == nil {
			continue
		}
		for _, image := range n.Status.Images {
			for _, own := range image.Names {
				if own != name {
					continue
				}
				if len(on) == 0 {
					sizeBytes = image.SizeBytes
				}
				on[i] = true
			}
		}
	}
	return sizeBytes, len(on), func(i int) bool { return on[i] }
}

func TestImages(t *testing.T) {
	a := testkit.Node("a").Image(40*mib, "gcr.io/40:latest").Image(300*mib, "gcr.io/300:v1", "gcr.io/300@sha256:00").Obj()
	b := testkit.Node("b").Image(250*mib, "gcr.io/250:latest").Image(300*mib, "gcr.io/300:v1").Image(4000*mib, "gcr.io/4000:latest").Obj()
	disagree := testkit.Node("c").Image(999*mib, "gcr.io/300:v1").Obj()
	twice := testkit.Node("d").Image(600*mib, "x:1", "x:1").Image(1*mib, "x:1").Obj()
	both := []*v1.Node{a, nil, b}
	type test struct {
		name  string
		why   string
		nodes []*v1.Node
		pod   *v1.Pod
		want  []int64
	}
	testkit.Run(t, []test{
		{"forty and two hundred fifty", "20 MiB is below 23; 125 MiB of 2000", both, imagePod("", 0, "gcr.io/40", "gcr.io/250"), []int64{0, 0, 5}},
		{"everywhere", "300 MiB of 1000", both, imagePod("", 0, "gcr.io/300:v1"), []int64{28, 0, 28}},
		{"latest is another image", "no node has 300:latest", both, imagePod("", 0, "gcr.io/300"), []int64{0, 0, 0}},
		{"larger than counts", "2000 MiB is cut at 1000", both, imagePod("", 0, "gcr.io/4000"), []int64{0, 0, 100}},
		{"single node", "share 1", []*v1.Node{b}, imagePod("", 0, "gcr.io/300:v1"), []int64{28}},
		{"image volume", "counts, but not as a container", both, imagePod("gcr.io/4000", 0, "gcr.io/none"), []int64{0, 0, 100}},
		{"init container", "counts like a container: 40 and 125 of 2000", both, imagePod("", 1, "gcr.io/250", "gcr.io/none"), []int64{0, 0, 5}},
		{"named twice", "counts twice: 600 MiB of 2000", both, imagePod("", 0, "gcr.io/300:v1", "gcr.io/300:v1"), []int64{29, 0, 29}},
		{"digest", "names are not normalised: half of 300 MiB", both, imagePod("", 0, "gcr.io/300@sha256:00"), []int64{12, 0, 0}},
		{"nodes disagree on the size", "the first node in list order counts: 300 MiB", []*v1.Node{a, disagree}, imagePod("", 0, "gcr.io/300:v1"), []int64{28, 28}},
		{"nodes disagree the other way", "999 MiB", []*v1.Node{disagree, a}, imagePod("", 0, "gcr.io/300:v1"), []int64{99, 99}},
		{"a node lists a name twice", "counted once, the first size", []*v1.Node{twice}, imagePod("", 0, "x:1"), []int64{59}},
		{"no containers", "the API forbids it: the volume counts alone", both, imagePod("gcr.io/4000", 0), []int64{0, 0, 100}},
		{"nil pod", "an empty one", both, nil, []int64{0, 0, 0}},
	}, func(t *testing.T, tc test) {
		cluster := testkit.NewCluster(tc.nodes, nil)
		e := score.CompileImages(tc.pod, release.Current)
		slow, fast := e.On(cluster), e.On(indexed{cluster})
		require.Equal(t, tc.want, raws(len(tc.nodes), slow.Raw))
		require.Equal(t, tc.want, raws(len(tc.nodes), fast.Raw), "with the index")
	})
}

func TestImageZero(t *testing.T) {
	nodes := []*v1.Node{testkit.Node("a").Image(1, "x:1", "y:1").Obj(), testkit.Node("b").Image(1, "y:1").Obj(), testkit.Node("c").Obj()}
	require.False(t, engine.Zero(score.CompileImages(imagePod("", 0, "x:1", "y:1", "z:1"), release.Current).On(testkit.NewCluster(nodes, nil))))
	require.True(t, engine.Zero(score.CompileImages(imagePod("", 0, "z:1"), release.Current).On(testkit.NewCluster(nodes, nil))), "no node has an image of the pod")
}

func TestNormalizeImage(t *testing.T) {
	for in, want := range map[string]string{
		"nginx":             "nginx:latest",
		"gcr.io:5000/x":     "gcr.io:5000/x:latest",
		"gcr.io:5000/x:v1":  "gcr.io:5000/x:v1",
		"x@sha256:abc":      "x@sha256:abc",
		"library/nginx:1.7": "library/nginx:1.7",
		"":                  ":latest",
	} {
		require.Equal(t, want, score.NormalizeImage(in))
	}
}

// No key begins another, so that whatever follows a key cannot make two pods alike.
func TestImagesKeysBeginNoOther(t *testing.T) {
	later := imagePod("a", 0, "x")
	later.Spec.Volumes[0], later.Spec.Volumes[1] = later.Spec.Volumes[1], later.Spec.Volumes[0]
	pods := []*v1.Pod{imagePod("", 0), imagePod("", 0, "x"), imagePod("", 0, "y"), imagePod("", 0, "x", "y"), imagePod("", 1, "z"), imagePod("", 1, "u"), imagePod("a", 0), imagePod("a", 0, "x"), imagePod("b", 1, "x", "y"), later}
	for i, p := range pods {
		for k, q := range pods {
			require.False(t, i != k && bytes.HasPrefix(podkey.Images(nil, q), podkey.Images(nil, p)), "%d and %d", i, k)
		}
	}
}

// The scale has 977 MiB. Each size is the last or the first of a score.
func TestImageScoreAtTheEnds(t *testing.T) {
	for size, want := range map[int64]int64{
		0: 0, 23 * mib: 0, 23*mib + 10_244_587: 0, 23*mib + 10_244_588: 1, 23*mib + 256_114_687: 24, 23*mib + 256_114_688: 25,
		23*mib + 276_603_863: 26, 23*mib + 276_603_864: 27, 1000*mib - 1: 99, 1000 * mib: 100, 2000 * mib: 100,
	} {
		nodes := testkit.NewCluster([]*v1.Node{testkit.Node("n").Image(size, "x:latest").Obj()}, nil)
		require.Equal(t, want, score.CompileImages(imagePod("", 0, "x"), release.Current).On(nodes).Raw(0), "%d bytes", size)
	}
}

// counting is a cluster that counts how often its nodes are asked for.
type counting struct {
	indexed
	asked *int
}

func (c counting) Node(i int) *v1.Node {
	*c.asked++
	return c.indexed.Node(i)
}

// With an index the nodes are only counted, once and only when some node has an image of the pod.
func TestImagesCountNodesOnce(t *testing.T) {
	nodes := []*v1.Node{testkit.Node("a").Image(40*mib, "x:1", "y:1").Obj(), testkit.Node("b").Image(40*mib, "x:1").Obj(), nil}
	type test struct {
		name, why string
		images    []string
		asked     int
	}
	testkit.Run(t, []test{
		{"no containers", "there is no image to look for", nil, 0},
		{"an image of no node", "the share of the nodes is not needed", []string{"z:1"}, 0},
		{"one image", "every slot once", []string{"x:1"}, 3},
		{"two images", "the number is kept", []string{"z:1", "x:1", "y:1"}, 3},
	}, func(t *testing.T, tc test) {
		asked := 0
		score.CompileImages(imagePod("", 0, tc.images...), release.Current).On(counting{indexed{testkit.NewCluster(nodes, nil)}, &asked})
		require.Equal(t, tc.asked, asked)
	})
}
