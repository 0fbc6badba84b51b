package place

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/tools/report"
)

const (
	mostNodesInMap = 40 // of a zone, the fullest first, unless -o wide asks for all
	cellsOfBar     = 10
)

// filling is how much of what some nodes offer their pods ask for.
type filling struct {
	name  string
	slots []int
	bars  []bar
}

type bar struct {
	resource v1.ResourceName
	part     float64 // from 0; pods may ask for more than a node offers
}

// fullest returns the part of the resource of which most is asked for.
func (f *filling) fullest() (part float64) {
	for _, b := range f.bars {
		part = max(part, b.part)
	}
	return part
}

// String draws the bars.
func (b bar) String() string {
	full := min(cellsOfBar, int(math.Round(b.part*cellsOfBar)))
	return fmt.Sprintf("%s [%s%s] %3.0f%%", b.resource, strings.Repeat("#", full), strings.Repeat(".", cellsOfBar-full), math.Floor(100*b.part))
}

// fill measures cpu, memory, and every other resource of which a pod on the nodes asks for some.
func fill(c *cluster.Snapshot, name string, slots []int) *filling {
	f := &filling{name: name, slots: slots}
	for column := range c.Schema().Len() {
		resource := c.Schema().Name(column)
		if resource == v1.ResourcePods {
			continue
		}
		var offered, asked float64
		for _, i := range slots {
			offered, asked = offered+float64(c.Allocatable(i).At(column)), asked+float64(c.Requested(i).At(column))
		}
		if offered > 0 && (asked > 0 || resource == v1.ResourceCPU || resource == v1.ResourceMemory) {
			f.bars = append(f.bars, bar{resource, asked / offered})
		}
	}
	return f
}

// writeMap draws how full the zones and their nodes are, the fullest first.
func writeMap(out *bytes.Buffer, c *cluster.Snapshot, most int, layout report.Layout) {
	slots := map[string][]int{}
	for _, i := range c.Order() {
		zone := cmp.Or(c.Node(int(i)).Labels[v1.LabelTopologyZone], "(no zone)")
		slots[zone] = append(slots[zone], int(i))
	}
	var rows [][]string
	row := func(name string, f *filling) {
		var bars []string
		for _, b := range f.bars {
			bars = append(bars, b.String())
		}
		rows = append(rows, []string{name, strings.Join(bars, "  ")})
	}
	for _, zone := range sortedKeys(slots) {
		row(fmt.Sprintf("%s, %s", zone, report.Count(len(slots[zone]), "node")), fill(c, zone, slots[zone]))
		var nodes []*filling
		for _, i := range slots[zone] {
			nodes = append(nodes, fill(c, c.Node(i).Name, []int{i}))
		}
		slices.SortStableFunc(nodes, func(a, b *filling) int {
			return cmp.Or(cmp.Compare(b.fullest(), a.fullest()), strings.Compare(a.name, b.name))
		})
		for k, n := range nodes {
			if k == most {
				rows = append(rows, []string{fmt.Sprintf("  and %s; -o wide has them", report.Count(len(nodes)-k, "more node")), ""})
				break
			}
			row("  "+n.name, n)
		}
	}
	layout.Wrap = true
	table, _ := layout.Columns([]string{"ZONE AND NODE", "REQUESTED OF ALLOCATABLE"}, rows)
	fmt.Fprint(out, "\n", table)
}
