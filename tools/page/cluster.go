package page

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/tools/report"
)

// model is the data in the file. Nodes and pods are named by their places in the lists.
type model struct {
	Resources []string       `json:"resources"` // of the utilisation
	Zones     []string       `json:"zones"`
	Pools     []string       `json:"pools"`
	Nodes     []node         `json:"nodes"`
	Texts     []string       `json:"texts"` // that pods share: states, requests and messages
	Pods      pods           `json:"pods"`
	Verdicts  []verdict      `json:"verdicts"`
	Of        map[int]int    `json:"of"` // the verdict of a pod
	Selected  int            `json:"selected"`
	Timeline  *timeline      `json:"timeline"`
	index     map[string]int // of nodes
	pod       map[string]int
}

type node struct {
	Name  string `json:"name"`
	Zone  int    `json:"zone"`
	Pool  int    `json:"pool"`
	Use   []use  `json:"use"`   // in the order of the resources; 0 of 0 where the node offers none
	Marks string `json:"marks"` // "cordoned, not ready, taint a=b:NoSchedule"
}

// use is how much of a resource the pods of a node ask for.
type use struct {
	Percent int    `json:"percent"` // -1: the node offers none
	Text    string `json:"text"`    // "3500m of 4"
}

// pods has a column for each property, because 50,000 objects with names of fields would be several times as large.
type pods struct {
	Name    []string    `json:"name"`
	Node    []int       `json:"node"`  // -1: none
	State   []int       `json:"state"` // a text
	Ask     []int       `json:"ask"`   // a text
	Message map[int]int `json:"message"`
}

func (p *Page) model() *model {
	m := &model{Zones: []string{}, Pools: []string{}, Nodes: []node{}, Verdicts: []verdict{}, Of: map[int]int{}, Selected: -1, index: map[string]int{}, pod: map[string]int{}}
	asked := p.requests()
	m.cluster(p.nodes, asked)
	texts := map[string]int{}
	text := func(s string) int {
		k, ok := texts[s]
		if !ok {
			k = len(m.Texts)
			texts[s] = k
			m.Texts = append(m.Texts, s)
		}
		return k
	}
	m.Pods = pods{Name: []string{}, Node: []int{}, State: []int{}, Ask: []int{}, Message: map[int]int{}}
	add := func(name, on, asks string, said Pod) {
		k := len(m.Pods.Name)
		at, ok := m.index[on]
		if !ok {
			at = -1
		}
		m.pod[name] = k
		m.Pods.Name, m.Pods.Node = append(m.Pods.Name, name), append(m.Pods.Node, at)
		m.Pods.State, m.Pods.Ask = append(m.Pods.State, text(said.State)), append(m.Pods.Ask, text(asks))
		if said.Message != "" {
			m.Pods.Message[k] = text(said.Message)
		}
		if v := p.verdicts[name]; v != nil {
			m.Of[k] = len(m.Verdicts)
			m.Verdicts = append(m.Verdicts, v.in(m.index))
			if m.Selected < 0 {
				m.Selected = k
			}
		}
		if name == p.Select {
			m.Selected = k
		}
	}
	objects := map[string]*v1.Pod{}
	for _, pod := range p.pods {
		objects[pod.Namespace+"/"+pod.Name] = pod
	}
	for _, name := range p.order {
		on, asks := "", ""
		if pod := objects[name]; pod != nil {
			on, asks = pod.Spec.NodeName, asksOf(pod)
		}
		add(name, on, asks, p.told[name])
	}
	for _, pod := range p.pods {
		name := pod.Namespace + "/" + pod.Name
		if _, told := p.told[name]; told || p.Shows != nil && !p.Shows(pod.Namespace) {
			continue
		}
		add(name, pod.Spec.NodeName, asksOf(pod), Pod{State: stateOf(pod)})
	}
	if m.Selected < 0 && len(p.order) > 0 {
		m.Selected = 0
	}
	if p.Timeline != nil && len(p.Timeline.Lanes) > 0 {
		m.Timeline = p.Timeline.in(m.index, m.pod)
	}
	return m
}

// stateOf returns the state of a pod about which the answer says nothing.
func stateOf(pod *v1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil:
		return "Terminating"
	case pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed:
		return string(pod.Status.Phase)
	case pod.Spec.NodeName == "":
		return "Pending"
	}
	return "Running"
}

// asksOf returns the requests of a pod in words: "cpu 100m, memory 1Gi".
func asksOf(pod *v1.Pod) string {
	var parts []string
	for name, q := range overhead.Requests(pod, overhead.Options{UseStatus: pod.Spec.NodeName != ""}) {
		parts = append(parts, fmt.Sprintf("%s %s", name, q.String()))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// requests adds up what the pods of each node ask for.
func (p *Page) requests() map[string]map[v1.ResourceName]int64 {
	out := map[string]map[v1.ResourceName]int64{}
	for _, pod := range p.pods {
		on := pod.Spec.NodeName
		if on == "" || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
			continue
		}
		if out[on] == nil {
			out[on] = map[v1.ResourceName]int64{}
		}
		for name, q := range overhead.Requests(pod, overhead.Options{UseStatus: true}) {
			out[on][name] = resources.Add(out[on][name], resources.Value(name, q))
		}
		out[on][v1.ResourcePods] = resources.Add(out[on][v1.ResourcePods], 1)
	}
	return out
}

const (
	noZone = "no zone"
	noPool = "no pool"
)

// cluster adds the nodes: by zone, in the order of their names. The pools of a page are those that labels of nodes name.
func (m *model) cluster(nodes []*v1.Node, asked map[string]map[v1.ResourceName]int64) {
	names := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourcePods}
	for _, n := range nodes {
		for name := range n.Status.Allocatable {
			if asked[n.Name][name] > 0 && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if zone := zoneOf(n); !slices.Contains(m.Zones, zone) {
			m.Zones = append(m.Zones, zone)
		}
		if pool := poolOf(n); !slices.Contains(m.Pools, pool) {
			m.Pools = append(m.Pools, pool)
		}
	}
	slices.Sort(names[3:])
	slices.Sort(m.Zones)
	slices.Sort(m.Pools)
	for _, name := range names {
		m.Resources = append(m.Resources, string(name))
	}
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b *v1.Node) int {
		return cmp.Or(strings.Compare(zoneOf(a), zoneOf(b)), strings.Compare(a.Name, b.Name))
	})
	for k, n := range nodes {
		m.index[n.Name] = k
		zone, _ := slices.BinarySearch(m.Zones, zoneOf(n))
		pool, _ := slices.BinarySearch(m.Pools, poolOf(n))
		out := node{Name: n.Name, Zone: zone, Pool: pool, Use: []use{}, Marks: marks(n)}
		for _, name := range names {
			out.Use = append(out.Use, useOf(name, asked[n.Name][name], n.Status.Allocatable))
		}
		m.Nodes = append(m.Nodes, out)
	}
}

func useOf(name v1.ResourceName, asked int64, offered v1.ResourceList) use {
	total := resources.Value(name, offered[name])
	amount := func(n int64) string { return report.Amount(name, big.NewInt(n)) }
	if total <= 0 {
		if asked == 0 {
			return use{Percent: -1}
		}
		return use{Percent: 100, Text: amount(asked) + " of 0"}
	}
	const most = 999 // percent that are drawn and told
	return use{Percent: int(min(most, 100*(float64(asked)/float64(total)))), Text: amount(asked) + " of " + amount(total)}
}

func zoneOf(n *v1.Node) string { return cmp.Or(n.Labels[v1.LabelTopologyZone], noZone) }

func poolOf(n *v1.Node) string { return cmp.Or(diagnose.PoolOf(n), noPool) }

// marks returns what is unusual about a node.
func marks(n *v1.Node) string {
	var out []string
	if n.Spec.Unschedulable {
		out = append(out, "cordoned")
	}
	for _, c := range n.Status.Conditions {
		if c.Type == v1.NodeReady && c.Status != v1.ConditionTrue {
			out = append(out, "not ready")
		}
	}
	for _, t := range n.Spec.Taints {
		out = append(out, "taint "+t.ToString())
	}
	return strings.Join(out, ", ")
}
