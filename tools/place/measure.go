package place

import (
	"fmt"
	"math/big"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/tools/internal/must"
	"github.com/podberth/podberth/tools/internal/price"
	"github.com/podberth/podberth/tools/report"
)

// side is the cluster after the run with one configuration.
type side struct {
	File       string    `json:"file"`       // the file; "" for the default configuration
	Summary    summary   `json:"summary"`    // how many pods end how, as "summary" of a Simulation
	NodesInUse int       `json:"nodesInUse"` // nodes with a pod that is not of a DaemonSet
	EmptyNodes int       `json:"emptyNodes"` // the other nodes
	Cost       string    `json:"cost"`       // the sum of the prices of the nodes in use; each costs 1 without --price-label
	Resources  []measure `json:"resources"`  // how full the nodes are, by resource
	// How evenly workloads of two pods or more are spread, by topology key; pods of DaemonSets are left out.
	Spread []skew `json:"spread"`
}

// measure is how full the nodes are, and the largest piece that is free on one node.
type measure struct {
	Resource    string `json:"resource"`     // the resource
	Requested   string `json:"requested"`    // what all pods with a node ask for
	Percent     int64  `json:"percent"`      // of what all nodes offer, rounded down
	InUse       int64  `json:"percentInUse"` // what is asked for on nodes in use, of what these offer, rounded down
	LargestFree string `json:"largestFree"`  // the most that is free on one node
}

// skew is how evenly the pods of one controller are on the domains of a key, for controllers of two pods or more.
type skew struct {
	Key   string `json:"topologyKey"` // the key
	Worst int    `json:"worst"`       // the largest difference between two domains, over all workloads
	Sum   int    `json:"sum"`         // the sum of the largest differences of the workloads
	Of    int    `json:"workloads"`   // how many workloads
}

// side measures the cluster as it is now.
func (x *simulation) side(file string) (out side) {
	out = side{File: file, Summary: x.answer().Summary, Resources: []measure{}, Spread: []skew{}}
	x.w.s.View(func(c *cluster.Snapshot) {
		var used []int
		cost := new(big.Int)
		for _, slot := range c.Order() {
			i := int(slot)
			price := must.Get(x.o.price(c.Node(i)))
			if inUse(c, i) {
				used = append(used, i)
				cost.Add(cost, price)
			}
		}
		out.NodesInUse, out.EmptyNodes, out.Cost = len(used), len(c.Order())-len(used), x.o.cost(cost)
		for column := range c.Schema().Len() {
			if m, ok := measured(c, column, used); ok {
				out.Resources = append(out.Resources, m)
			}
		}
		for _, k := range []string{v1.LabelTopologyZone, v1.LabelHostname} {
			if s := skewOf(c, k); s.Of > 0 {
				out.Spread = append(out.Spread, s)
			}
		}
	})
	return out
}

// price returns the price of a node: 1, or that of -price-label in millionths.
func (o options) price(n *v1.Node) (*big.Int, error) {
	if o.priceLabel == "" {
		return big.NewInt(1), nil
	}
	p, err := price.Of(n, o.priceLabel)
	return big.NewInt(p), err
}

// cost writes a sum of prices.
func (o options) cost(n *big.Int) string {
	if o.priceLabel == "" {
		return n.String()
	}
	return price.Text(n)
}

// inUse reports whether a node has a pod that is not of a DaemonSet.
func inUse(c *cluster.Snapshot, i int) bool {
	for p := range c.Pods(i) {
		if owner := metav1.GetControllerOfNoCopy(p); owner == nil || owner.Kind != "DaemonSet" {
			return true
		}
	}
	return false
}

// measured measures a resource; ok is false when no node offers it and no pod asks for it.
func measured(c *cluster.Snapshot, column int, used []int) (m measure, ok bool) {
	name := string(c.Schema().Name(column))
	all, asked, offeredInUse, askedInUse, largest := new(big.Int), new(big.Int), new(big.Int), new(big.Int), int64(0)
	for _, slot := range c.Order() {
		i := int(slot)
		offered, wanted := c.Allocatable(i).At(column), c.Requested(i).At(column)
		all.Add(all, big.NewInt(offered))
		asked.Add(asked, big.NewInt(wanted))
		if wanted < offered {
			largest = max(largest, offered-max(0, wanted))
		}
		if slices.Contains(used, i) {
			offeredInUse.Add(offeredInUse, big.NewInt(offered))
			askedInUse.Add(askedInUse, big.NewInt(wanted))
		}
	}
	if all.Sign() == 0 && asked.Sign() == 0 {
		return m, false
	}
	return measure{name, amount(name, asked), percentOf(asked, all), percentOf(askedInUse, offeredInUse), amount(name, big.NewInt(largest))}, true
}

// percentOf returns a share rounded down, 0 of nothing.
func percentOf(n, total *big.Int) int64 {
	if total.Sign() == 0 {
		return 0
	}
	return new(big.Int).Div(new(big.Int).Mul(n, big.NewInt(100)), total).Int64()
}

// skewOf measures the spread of the workloads over the domains of a key. Nodes without the key are left out.
func skewOf(c *cluster.Snapshot, topologyKey string) skew {
	domains := map[string]bool{}
	counts, pods := map[string]map[string]int{}, map[string]int{}
	for _, slot := range c.Order() {
		i := int(slot)
		domain, ok := c.Node(i).Labels[topologyKey]
		if !ok {
			continue
		}
		domains[domain] = true
		for p := range c.Pods(i) {
			owner := metav1.GetControllerOfNoCopy(p)
			if owner == nil || owner.Kind == "DaemonSet" {
				continue
			}
			name := owner.Kind + "/" + p.Namespace + "/" + owner.Name
			if counts[name] == nil {
				counts[name] = map[string]int{}
			}
			counts[name][domain]++
			pods[name]++
		}
	}
	s := skew{Key: topologyKey}
	for name, by := range counts {
		if pods[name] < 2 {
			continue
		}
		most, least := 0, 0
		if len(by) == len(domains) {
			least = pods[name]
		}
		for _, n := range by {
			most, least = max(most, n), min(least, n)
		}
		s.Of, s.Sum, s.Worst = s.Of+1, s.Sum+most-least, max(s.Worst, most-least)
	}
	return s
}

// measures returns the rows of a table of both sides.
func measures(a, b side) (rows [][]string) {
	add := func(name string, x, y any) { rows = append(rows, []string{name, fmt.Sprint(x), fmt.Sprint(y)}) }
	add("pods scheduled", a.Summary.Scheduled, b.Summary.Scheduled)
	add("pods unschedulable", a.Summary.Unschedulable, b.Summary.Unschedulable)
	add("victims", a.Summary.Victims, b.Summary.Victims)
	add("nodes in use", a.NodesInUse, b.NodesInUse)
	add("empty nodes", a.EmptyNodes, b.EmptyNodes)
	add("cost of nodes in use", a.Cost, b.Cost)
	for _, m := range a.Resources {
		at := slices.IndexFunc(b.Resources, func(n measure) bool { return n.Resource == m.Resource })
		if at < 0 {
			continue
		}
		n := b.Resources[at]
		if m.Requested == "0" && n.Requested == "0" {
			continue
		}
		add(m.Resource+" requested", fmt.Sprintf("%s (%d%%)", report.Short(m.Requested), m.Percent), fmt.Sprintf("%s (%d%%)", report.Short(n.Requested), n.Percent))
		add(m.Resource+" of nodes in use", fmt.Sprintf("%d%%", m.InUse), fmt.Sprintf("%d%%", n.InUse))
		add("largest free "+m.Resource, report.Short(m.LargestFree), report.Short(n.LargestFree))
	}
	for _, s := range a.Spread {
		if at := slices.IndexFunc(b.Spread, func(n skew) bool { return n.Key == s.Key }); at >= 0 {
			add("worst skew over "+s.Key, s.Worst, b.Spread[at].Worst)
		}
	}
	return rows
}
