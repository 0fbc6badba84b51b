package overhead

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/plainpod"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// The amounts of random pods stay what they are in every release. The file has the hashes of all answers, and the first answers.
func TestAmountsOfRandomPods(t *testing.T) {
	var all, some strings.Builder
	for _, v := range release.Versions() {
		h := fnv.New64a()
		for seed := range uint64(600) {
			d := newDecoder(testkit.RandomBytes(seed, int(seed*37%400)))
			pod, o := d.pod()
			o.Release = v
			text := amountsOf(pod, o)
			fmt.Fprintln(h, text)
			if v == release.V1_36 && seed%60 == 2 && len(text) < 2000 {
				fmt.Fprintln(&some, text)
			}
		}
		fmt.Fprintf(&all, "%s: %x\n", v, h.Sum64())
	}
	testkit.Golden(t, "testdata/amounts.txt", all.String()+"\n"+some.String())
}

// amountsOf returns every answer of the package about a pod, one a line.
func amountsOf(pod *v1.Pod, o Options) string {
	var b strings.Builder
	line := func(name string, parts ...any) { fmt.Fprintln(&b, name+":", fmt.Sprint(parts...)) }
	line("requests", testkit.ShowResources(Requests(pod, o)))
	line("limits", testkit.ShowResources(Limits(pod, o)))
	Each(pod, o, func(name v1.ResourceName, value int64) { line("each", name, " ", value) })
	line("non-zero", fmt.Sprint(NonZero(pod, o.Release)), " ", fmt.Sprint(NonZeroIncoming(pod)))
	for _, p := range Explain(pod, o) {
		line("part", p, " ", p.Step, " ", p.Starting.String(), " ", p.Running.String(), " ", p.PodLevel.String())
	}
	full := Default(pod)
	line("defaults", testkit.ShowResources(Requests(full, Options{})), " ", testkit.ShowResources(Limits(full, Options{})))
	return b.String()
}

// The short way over integers is taken for every pod with whole amounts, few names and no overflow.
func TestShortWayIsTaken(t *testing.T) {
	taken := func(pod *v1.Pod, o Options) bool { return new(sums).pod(pod, o) }
	whole := func(list v1.ResourceList) bool {
		for name, q := range list {
			if v := resources.Value(name, q); v > 1<<40 || v < -1<<40 || q.Cmp(*milli(q.MilliValue())) != 0 || name != "cpu" && q.CmpInt64(q.Value()) != 0 {
				return false
			}
		}
		return true
	}
	few := 0
	for seed := range uint64(4000) {
		pod, o := newDecoder(testkit.RandomBytes(seed, int(seed*37%300))).pod()
		lists := []v1.ResourceList{o.Missing, pod.Spec.Overhead, pod.Status.AllocatedResources}
		for _, r := range []*v1.ResourceRequirements{pod.Spec.Resources, pod.Status.Resources} {
			if r != nil {
				lists = append(lists, r.Requests)
			}
		}
		for _, c := range append(pod.Spec.Containers, pod.Spec.InitContainers...) {
			lists = append(lists, c.Resources.Requests)
		}
		for _, s := range append(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses...) {
			lists = append(lists, s.AllocatedResources)
			if s.Resources != nil {
				lists = append(lists, s.Resources.Requests)
			}
		}
		counts := map[v1.ResourceName]bool{}
		short, missing := true, 0
		for _, list := range lists {
			short = short && whole(list)
			for name := range list {
				if counted(name, nil) {
					counts[name] = true
				}
			}
		}
		for name := range o.Missing {
			if counted(name, nil) {
				missing++
			}
		}
		if short && len(counts) <= 8 && missing <= 4 {
			few++
			require.True(t, taken(pod, o), "%+v", pod)
		}
	}
	require.Greater(t, few, 300)

	// What v1.37 sums in another way has the short way too.
	plain := testkit.Containers("container a requests cpu=1\ninit i requests cpu=2")
	require.True(t, taken(plain, onNode))
	for _, text := range []string{"status a requests cpu=1", "initstatus i requests cpu=1", "wholestatus requests cpu=1", "resize Infeasible"} {
		pod := testkit.Containers("container a requests cpu=1\ninit i requests cpu=2\n" + text)
		for _, o := range []Options{onNode, before, {}} {
			require.True(t, taken(pod, o), text)
		}
	}
	require.False(t, taken(testkit.Containers("container a requests memory=1\nstatus a requests memory=500m"), onNode), "half a byte")
	require.False(t, taken(testkit.Containers("container a requests a/1=1,a/2=1,a/3=1,a/4=1,a/5=1\nstatus a requests b/1=1,b/2=1,b/3=1,b/4=1"), onNode), "nine names in two sums")
}

// An amount is whole in thousandths of cpu and in units of the rest, up to the ends of int64.
func TestWholeUnits(t *testing.T) {
	for _, c := range []struct {
		of    v1.ResourceName
		q     string
		value int64
		whole bool
	}{
		{"cpu", "1", 1000, true}, {"cpu", "1m", 1, true}, {"cpu", "1500u", 2, false}, {"cpu", "-1", -1000, true}, {"cpu", "0", 0, true},
		{"cpu", "9223372036854775", 9223372036854775000, true}, {"cpu", "-9223372036854775", -9223372036854775000, true},
		{"cpu", "9223372036854776", math.MaxInt64, false}, {"cpu", "-9223372036854776", math.MinInt64, false}, {"cpu", "9223372036854775807m", math.MaxInt64, true}, {"cpu", "9223372036854775807", math.MaxInt64, false},
		{"memory", "1", 1, true}, {"memory", "1500m", 2, false}, {"memory", "2000m", 2, true}, {"memory", "1.5Ki", 1536, true}, {"memory", "1.0001Ki", 1025, false},
		{"memory", "9223372036854775807", math.MaxInt64, true},
	} {
		q := resource.MustParse(c.q)
		value, whole := plainpod.Whole(c.of, &q)
		require.Equal(t, c.whole, whole, "%s %s", c.of, c.q)
		if whole {
			require.Equal(t, c.value, value, "%s %s", c.of, c.q)
		}
	}
	for _, c := range []struct {
		a, b  int64
		exact bool
	}{{1, 2, true}, {math.MaxInt64, 0, true}, {math.MaxInt64, 1, false}, {math.MaxInt64 - 1, 1, true}, {math.MinInt64, 0, true}, {math.MinInt64, -1, false}, {math.MinInt64 + 1, -1, true}} {
		sum := c.a
		require.Equal(t, c.exact, plainpod.Plus(&sum, c.b), "%+v", c)
		if c.exact {
			require.Equal(t, c.a+c.b, sum)
		}
	}
}

// There is room for eight names and for four defaults.
func TestRoomOfSums(t *testing.T) {
	for n, want := range map[int]bool{8: true, 9: false} {
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{}}}}}}
		for k := range n {
			pod.Spec.Containers[0].Resources.Requests[v1.ResourceName(fmt.Sprint("example.com/", k))] = resource.MustParse("1")
		}
		require.Equal(t, want, new(sums).pod(pod, Options{}), n)
	}
	for n, want := range map[int]bool{4: true, 5: false} {
		o := Options{Missing: v1.ResourceList{"unknown": resource.MustParse("1")}}
		for k := range n {
			o.Missing[v1.ResourceName(fmt.Sprint("example.com/", k))] = resource.MustParse("1")
		}
		require.Equal(t, want, new(sums).pod(&v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{}}}}, o), n)
	}
	require.False(t, new(sums).pod(&v1.Pod{}, Options{Missing: v1.ResourceList{"cpu": resource.MustParse("1n")}}), "a default that is not whole")
}

// The thresholds of Allocatable at their ends, with the texts of what is wrong.
func TestThresholds(t *testing.T) {
	capacity := v1.ResourceList{"memory": resource.MustParse("1000"), "ephemeral-storage": resource.MustParse("1000"), "hugepages-2Mi": resource.MustParse("100"), "cpu": resource.MustParse("2")}
	for text, want := range map[string]string{
		"10%": "800", "0%": "900", "100%": "900", "100.0%": "0", "99%": "0", "0.1%": "899", "500": "400", "900": "0", "899": "1", "2000": "0", "00%": "900", "1e9999%": "", "12%%": "781",
		"0": "evictionHard[memory.available]: eviction threshold memory.available must be positive: 0", "-1": "evictionHard[memory.available]: eviction threshold memory.available must be positive: -1",
		"101%": "evictionHard[memory.available]: eviction percentage threshold memory.available must be <= 100%: 101%",
		"-1%":  "evictionHard[memory.available]: eviction percentage threshold memory.available must be >= 0%: -1%",
		"NaN%": "evictionHard[memory.available]: eviction percentage threshold memory.available must be >= 0%: NaN%",
		"x%":   `evictionHard[memory.available]: strconv.ParseFloat: parsing "x": invalid syntax`,
	} {
		got, err := Allocatable(capacity, Reservations{EvictionHard: map[string]string{"memory.available": text, "pid.available": "x"}})
		if strings.HasPrefix(want, "evictionHard") {
			require.EqualError(t, err, want, text)
			continue
		}
		if want == "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		memory, storage, cpu := got["memory"], got["ephemeral-storage"], got["cpu"]
		require.Equal(t, []string{want, "1k", "2"}, []string{memory.String(), storage.String(), cpu.String()}, text)
	}
	both := map[string]string{"memory.available": "x%", "nodefs.available": "y%"}
	_, err := Allocatable(capacity, Reservations{EvictionHard: both})
	require.ErrorContains(t, err, "memory.available")
	kept, err := Allocatable(capacity, Reservations{Kube: testkit.Resources("cpu=1,memory=100"), System: testkit.Resources("cpu=500m,pods=1"), EvictionHard: map[string]string{"nodefs.available": "40%"}})
	require.NoError(t, err)
	require.Equal(t, "cpu=500m,ephemeral-storage=600,hugepages-2Mi=100,memory=800", testkit.ShowResources(kept))
}
