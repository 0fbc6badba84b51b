package spread_test

import (
	"fmt"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/spread"
)

// The documentation's table of zones: zoneA has two pods, zoneB one, and maxSkew is 1. With minDomains 3 there are too few zones,
// so the minimum counts as 0 and no zone takes another pod. An empty zoneC makes three, and takes the pod.
func Example_zonesAndMinDomains() {
	own := map[string]string{"foo": "bar"}
	three := int32(3)
	mypod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mypod", Labels: own}}
	mypod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: own},
	}}
	table := &zones{pods: map[string]int{"node1": 1, "node2": 1, "node3": 1}}
	ask := func(text string) {
		hard, err := spread.CompileHard(mypod, spread.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		state := hard.Count(table)
		fmt.Println(text)
		for i := range table.Len() {
			fmt.Println(" ", table.Node(i).Name, state.Explain(i)[0])
		}
	}
	table.add("node1", "zoneA").add("node2", "zoneA").add("node3", "zoneB").add("node4", "zoneB")
	ask("maxSkew 1")
	mypod.Spec.TopologySpreadConstraints[0].MinDomains = &three
	ask("minDomains 3")
	table.add("node5", "zoneC")
	ask("minDomains 3, with zoneC")
	// Output:
	// maxSkew 1
	//   node1 zone=zoneA: 2 + 1 - 1 = 2 > 1
	//   node2 zone=zoneA: 2 + 1 - 1 = 2 > 1
	//   node3 zone=zoneB: 1 + 1 - 1 = 1 <= 1
	//   node4 zone=zoneB: 1 + 1 - 1 = 1 <= 1
	// minDomains 3
	//   node1 zone=zoneA: 2 + 1 - 0 = 3 > 1
	//   node2 zone=zoneA: 2 + 1 - 0 = 3 > 1
	//   node3 zone=zoneB: 1 + 1 - 0 = 2 > 1
	//   node4 zone=zoneB: 1 + 1 - 0 = 2 > 1
	// minDomains 3, with zoneC
	//   node1 zone=zoneA: 2 + 1 - 0 = 3 > 1
	//   node2 zone=zoneA: 2 + 1 - 0 = 3 > 1
	//   node3 zone=zoneB: 1 + 1 - 0 = 2 > 1
	//   node4 zone=zoneB: 1 + 1 - 0 = 2 > 1
	//   node5 zone=zoneC: 0 + 1 - 0 = 1 <= 1
}

// zones is a Cluster whose nodes have a number of pods with the label foo=bar.
type zones struct {
	list []*v1.Node
	pods map[string]int
}

func (z *zones) add(name, zone string) *zones {
	z.list = append(z.list, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": zone}}})
	return z
}

func (z *zones) Len() int            { return len(z.list) }
func (z *zones) Node(i int) *v1.Node { return z.list[i] }
func (z *zones) Pods(i int) iter.Seq[*v1.Pod] {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Labels: map[string]string{"foo": "bar"}}}
	return slices.Values(slices.Repeat([]*v1.Pod{pod}, z.pods[z.list[i].Name]))
}
