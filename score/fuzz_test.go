package score_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/score"
)

// source has the choices of this package. Bytes of 0 give the smallest case: one pod and one node without resources.
type source struct{ *testkit.Bytes }

// amount returns zero, small, nearly equal and large amounts and the end of int64.
func (s source) amount() int64 {
	switch s.Below(8) {
	case 0:
		return 0
	case 1:
		return math.MaxInt64 - int64(s.Below(3))
	case 2:
		return int64(s.Next()) << 30
	case 3:
		return math.MaxInt64/100 + int64(s.Below(3)) - 1
	}
	return int64(s.Below(40))
}

var names = []string{"cpu", "memory", "ephemeral-storage", foo, "hugepages-2Mi", "pods", "CPU", "nobody.has/this"}

func (s source) list() v1.ResourceList {
	l := v1.ResourceList{}
	for range s.Below(5) {
		name := v1.ResourceName(names[s.Below(len(names))])
		n := s.amount()
		if name == "cpu" {
			l[name] = *resource.NewMilliQuantity(n, resource.DecimalSI)
		} else {
			l[name] = *resource.NewQuantity(n, resource.DecimalSI)
		}
	}
	return l
}

func (s source) pod() *v1.Pod {
	p := testkit.Pod("p").Obj()
	p.Spec.Containers[0].Resources.Requests = s.list()
	switch s.Below(5) {
	case 0:
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{})
	case 1:
		p.Spec.Overhead = s.list()
	case 2:
		p.Spec.Resources = &v1.ResourceRequirements{Requests: s.list()}
	}
	return p
}

func (s source) rows() *rows {
	var nodes []*v1.Node
	for range 1 + s.Below(3) {
		n := testkit.Node("n").Obj()
		n.Status.Allocatable = s.list()
		if s.Below(4) > 0 {
			for _, name := range []v1.ResourceName{"cpu", "memory"} {
				n.Status.Allocatable[name] = *resource.NewQuantity(int64(1+s.Below(40)), resource.DecimalSI)
			}
		}
		nodes = append(nodes, n)
	}
	r := newRows(nodes...)
	for i := range nodes {
		for range s.Below(3) {
			r.run(i, s.pod())
		}
	}
	return r
}

func (s source) resources() []score.Resource {
	var list []score.Resource
	for range s.Below(4) {
		list = append(list, score.Resource{Name: names[s.Below(len(names))], Weight: int64(s.Below(101))})
	}
	return list
}

func (s source) strategy() score.Strategy {
	st := score.Strategy{Type: testkit.Pick(s.Bytes, score.LeastAllocated, score.MostAllocated, score.RequestedToCapacityRatio), Resources: s.resources()}
	if st.Type == score.RequestedToCapacityRatio {
		st.RequestedToCapacityRatio = &score.Ratio{Shape: s.shape()}
	}
	return st
}

func (s source) shape() []score.Point {
	at := map[int32]bool{}
	for range 1 + s.Below(4) {
		at[int32(s.Below(101))] = true
	}
	var list []score.Point
	for u := int32(0); u <= 100; u++ {
		if at[u] {
			list = append(list, score.Point{Utilization: u, Score: int32(s.Below(11))})
		}
	}
	return list
}

func checkResources(t *testing.T, data []byte) {
	s := source{testkit.NewBytes(data)}
	p, st, r := s.pod(), s.strategy(), s.rows()
	a := fit(t, p, st, r)
	for i := range r.nodes {
		got := a.Raw(i)
		require.Equal(t, slow(p, st, r, i), got)
		require.True(t, got >= 0 && got <= 100)
		cpuMilli, memoryBytes := r.NonZero(i)
		require.Equal(t, got, a.(engine.Allocation).RawOf(i, r.Allocatable(i), cpuMilli, memoryBytes))
		sum, weights := int64(0), int64(0)
		for _, part := range a.Explain(i) {
			if part.Counted {
				sum, weights = sum+part.Weight*part.Score, weights+part.Weight
			}
		}
		if st.Type != score.RequestedToCapacityRatio && weights > 0 {
			require.Equal(t, sum/weights, got)
		}
	}
	seen := map[string]bool{}
	var list []score.Resource
	for _, res := range s.resources() {
		if !seen[res.Name] {
			list = append(list, score.Resource{Name: res.Name})
		}
		seen[res.Name] = true
	}
	if len(list) == 0 || s.Below(2) == 0 {
		list = weighted("cpu", 1, "memory", 1)
	}
	b := balanceOf(t, p, list, r)
	for i := range r.nodes {
		got := b.Raw(i)
		require.Equal(t, slowBalance(p, list, r, i), got)
		require.True(t, got >= 50 && got <= 100)
	}
}

func balanceOf(t *testing.T, p *v1.Pod, list []score.Resource, r score.Rows) score.BalanceState {
	e, err := score.CompileBalance(p, score.BalanceArgs{Resources: list})
	require.NoError(t, err)
	return e.On(r)
}

func FuzzResources(f *testing.F) {
	f.Add([]byte{3, 0, 5, 1, 9, 2, 200, 4, 4, 4})
	f.Fuzz(checkResources)
}

func TestResourcesOracle(t *testing.T) { manySeeds(t, 4000, 160, checkResources) }

func manySeeds(t *testing.T, rounds, size int, check func(*testing.T, []byte)) {
	for seed := range rounds {
		data := testkit.RandomBytes(uint64(seed), size)
		check(t, data[:seed%(size+1)])
	}
}

// The laws of totals and choice.
func checkLaws(t *testing.T, data []byte) {
	s := source{testkit.NewBytes(data)}
	n := 1 + s.Below(6)
	nodes := []string{"a", "b", "c", "d", "e", "f"}[:n]
	columns := []score.Column{}
	for k := range s.Below(4) {
		c := score.Column{Plugin: names[k], Weight: int64(s.Below(5)), Scores: make([]int64, n)}
		for i := range c.Scores {
			c.Scores[i] = int64(s.Below(101))
		}
		columns = append(columns, c)
	}
	totals, err := score.Totals(nodes, columns, nil)
	require.NoError(t, err)

	twice := slices.Clone(columns)
	for k := range twice {
		twice[k].Weight *= 2
	}
	doubled, err := score.Totals(nodes, twice, nil)
	require.NoError(t, err)
	for i := range totals {
		require.Equal(t, 2*totals[i], doubled[i], "doubled weights double the totals")
	}
	part := score.Column{Plugin: "extender", Weight: int64(s.Below(5)), Hosts: nodes, Scores: make([]int64, n)}
	for i := range part.Scores {
		part.Scores[i] = int64(s.Below(11))
	}
	more, err := score.Totals(nodes, columns, []score.Column{part})
	require.NoError(t, err)
	for i := range totals {
		require.Equal(t, totals[i]+10*part.Weight*part.Scores[i], more[i], "an extender's scores count tenfold")
	}
	best := score.Best(totals, nil)
	require.Equal(t, best, score.Best(doubled, nil))
	require.Equal(t, totals[best], slices.Max(totals))

	turn := s.Below(n) // a rotation of the nodes rotates the totals and keeps the name of the winner
	turned := append(slices.Clone(nodes[turn:]), nodes[:turn]...)
	moved := slices.Clone(columns)
	for k := range moved {
		moved[k].Scores = append(slices.Clone(moved[k].Scores[turn:]), moved[k].Scores[:turn]...)
	}
	again, err := score.Totals(turned, moved, nil)
	require.NoError(t, err)
	require.Equal(t, nodes[score.Best(totals, lowestName(nodes))], turned[score.Best(again, lowestName(turned))])

	x, err := score.Explain(nodes, columns, nil, best)
	require.NoError(t, err)
	require.Equal(t, totals[best], x.Total)
	var lead int64
	for k, p := range x.Parts {
		lead += p.Weighted - p.RunnerUp
		nearest := bruteFlip(nodes, columns, k, best)
		if p.Winner == "" {
			require.Negative(t, nearest, "no weight from 0 to 2000 makes another node win")
			continue
		}
		require.Equal(t, nearest, max(p.Flip-p.Weight, p.Weight-p.Flip))
	}
	if n > 1 {
		require.Equal(t, x.Lead, lead, "the parts add up to the lead")
	}
}

// bruteFlip tries all weights of one column and returns the smallest change with which another node wins, -1 when there is
// none.
func bruteFlip(nodes []string, columns []score.Column, k, best int) int64 {
	own := slices.Clone(columns)
	for change := int64(1); change <= 2000; change++ {
		for _, w := range []int64{columns[k].Weight - change, columns[k].Weight + change} {
			if w < 0 {
				continue
			}
			own[k].Weight = w
			totals, err := score.Totals(nodes, own, nil)
			if err == nil && slices.Max(totals) > totals[best] {
				return change
			}
		}
	}
	return -1
}

func FuzzLaws(f *testing.F) {
	f.Add([]byte{3, 4, 5, 5, 5, 2, 1, 50, 60, 70, 2, 90, 1, 30})
	f.Fuzz(checkLaws)
}

func TestLaws(t *testing.T) { manySeeds(t, 300, 60, checkLaws) }

// Image scores of a plain cluster and of a cluster with an index are equal, and do not depend on the order of the images of
// a node.
func checkImages(t *testing.T, data []byte) {
	s := source{testkit.NewBytes(data)}
	var nodes, reversed []*v1.Node
	image := func() string { return testkit.Pick(s.Bytes, "a", "b:1", "c.io:80/x", "d@sha256:00") }
	sizes := map[string]int64{}
	for range 1 + s.Below(4) {
		if s.Below(5) == 0 {
			nodes, reversed = append(nodes, nil), append(reversed, nil)
			continue
		}
		b, c := testkit.Node("n"), testkit.Node("n")
		for range s.Below(4) {
			name := score.NormalizeImage(image())
			if _, ok := sizes[name]; !ok {
				sizes[name] = int64(s.Next()) << 23
			}
			b.Image(sizes[name], name)
		}
		images := slices.Clone(b.Obj().Status.Images)
		slices.Reverse(images)
		c.Obj().Status.Images = images
		nodes, reversed = append(nodes, b.Obj()), append(reversed, c.Obj())
	}
	p := imagePod("", 0)
	for range 1 + s.Below(3) {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Image: image()})
	}
	e := score.CompileImages(p, release.Current)
	slow, fast, other := e.On(testkit.NewCluster(nodes, nil)), e.On(indexed{testkit.NewCluster(nodes, nil)}), e.On(testkit.NewCluster(reversed, nil))
	for i := range nodes {
		got := slow.Raw(i)
		require.True(t, got >= 0 && got <= 100)
		require.Equal(t, got, fast.Raw(i))
		require.Equal(t, got, other.Raw(i))
	}
}

// Pods whose keys are equal have the same images in the same places.
func checkImageKeys(t *testing.T, data []byte) {
	s := source{testkit.NewBytes(data)}
	var pods []*v1.Pod
	for range 2 {
		p := testkit.Pod("p").Obj()
		p.Spec.Containers = nil
		for range s.Below(3) {
			p.Spec.InitContainers = append(p.Spec.InitContainers, v1.Container{Image: testkit.Pick(s.Bytes, "", "a", "aa")})
		}
		for range s.Below(3) {
			p.Spec.Containers = append(p.Spec.Containers, v1.Container{Image: testkit.Pick(s.Bytes, "", "a", "aa")})
		}
		for range s.Below(3) {
			v := v1.Volume{}
			if s.Below(2) == 1 {
				v.Image = &v1.ImageVolumeSource{Reference: testkit.Pick(s.Bytes, "", "a", "aa")}
			}
			p.Spec.Volumes = append(p.Spec.Volumes, v)
		}
		pods = append(pods, p)
	}
	images := func(p *v1.Pod) (containers []string, volumes []string) {
		for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			containers = append(containers, c.Image)
		}
		for i := range p.Spec.Volumes {
			if image := p.Spec.Volumes[i].Image; image != nil {
				volumes = append(volumes, fmt.Sprint(i, image.Reference))
			}
		}
		return containers, volumes
	}
	one, volumes := images(pods[0])
	other, others := images(pods[1])
	require.Equal(t, slices.Equal(one, other) && slices.Equal(volumes, others),
		bytes.Equal(podkey.Images(nil, pods[0]), podkey.Images(nil, pods[1])))
}

func FuzzImageKeys(f *testing.F) {
	f.Add([]byte{1, 1, 1, 2, 0, 1, 1})
	f.Fuzz(checkImageKeys)
}

func TestImageKeys(t *testing.T) { manySeeds(t, 2000, 30, checkImageKeys) }

func FuzzImages(f *testing.F) {
	f.Add([]byte{2, 1, 2, 0, 100, 1, 30})
	f.Fuzz(checkImages)
}

func TestImagesOracle(t *testing.T) { manySeeds(t, 1500, 40, checkImages) }

func TestPure(t *testing.T) {
	p, r := packing()
	testkit.Unchanged(t, func() {
		fit(t, p, ratio(seedWeights, 0, 0, 100, 10), r).Raw(0)
		balance(t, p, score.BalanceArgs{}, r).Raw(0)
		score.CompileImages(p, release.Current).On(r).Raw(0)
	}, p)
	testkit.Unchanged(t, func() { score.CompileImages(p, release.Current).On(r).Raw(1) }, r.nodes...)
}
