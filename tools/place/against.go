package place

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/tools/internal/must"
	"github.com/podberth/podberth/tools/page"
	"github.com/podberth/podberth/tools/report"
)

// comparison is what two configurations do with the same pods.
type comparison struct {
	report.Head
	Pods     int       `json:"pods"` // that are in one of the answers, of the printed namespaces
	Config   outcome   `json:"config"`
	Against  outcome   `json:"against"`
	Differ   []differs `json:"differ"`
	nodes    []*v1.Node
	everyPod []*v1.Pod
}

// outcome is what one configuration comes to. Shares are thousandths, rounded down.
type outcome struct {
	File      string `json:"file"`
	Scheduled int    `json:"scheduled"`
	Waiting   int    `json:"waiting"`
	Victims   int    `json:"victims"`
	Nodes     int    `json:"nodes"` // that run a pod at the end
	CPU       int64  `json:"cpu"`   // requested of what the nodes with pods offer
	Memory    int64  `json:"memory"`
	Fullest   int64  `json:"fullest"` // the largest share of the cpu of a node
	Uneven    int64  `json:"uneven"`  // pods of the fullest zone less those of the emptiest
}

// differs is a pod with another end.
type differs struct {
	Pod     string `json:"pod"`
	Config  string `json:"config"` // the node, or the outcome of a pod without one
	Against string `json:"against"`
}

// compareConfigs plays the same input with both configurations. Ties are broken alike: by -seed, or by the order of nodes.
func compareConfigs(out *bytes.Buffer, o options, stdin io.Reader, stderr io.Writer) (v verdict) {
	var data []byte
	if slices.Contains(o.files, "-") {
		data = must.Get(io.ReadAll(stdin))
	}
	c := &comparison{Head: report.HeadOf("Comparison"), Differ: []differs{}}
	play := func(config string) (map[string]podState, []string, outcome) {
		one := o
		one.config = config
		with, warnings, err := optionsOf(one, stderr)
		must.Do(err)
		for _, text := range warnings {
			report.Textf(stderr, "warning: %s\n", text)
		}
		w := must.Get(load(one, with.Profiles, nil, bytes.NewReader(data), stderr))
		x := must.Get(newSimulation(w, one, nil, with, stderr))
		must.Do(x.run(context.Background()))
		a := x.answer()
		r := outcome{File: config, Scheduled: a.Summary.Scheduled, Waiting: len(a.Pods) - a.Summary.Scheduled, Victims: a.Summary.Victims}
		w.s.View(func(s *cluster.Snapshot) { r.measure(s) })
		c.nodes, c.everyPod = w.objects.Nodes, w.objects.Pods
		last, names := map[string]podState{}, []string{}
		for _, p := range a.Pods {
			last[p.Pod] = p
			names = append(names, p.Pod)
		}
		return last, names, r
	}
	a, names, one := play(o.config)
	b, others, two := play(o.against)
	c.Config, c.Against = one, two
	for _, name := range others {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	c.Pods = len(names)
	for _, name := range names {
		if x, y := endOf(a, name), endOf(b, name); x != y {
			c.Differ = append(c.Differ, differs{name, x, y})
		}
	}
	if o.output == page.Form {
		c.page(out, o)
	} else {
		out.Write(must.Get(report.Render(o.output, c, func(b *strings.Builder) { c.table(b, o.tables.Layout) })))
	}
	v.unplaced = two.Waiting > 0
	return v
}

// endOf returns the node of a pod, the outcome without one, and "as before" for a pod that an answer does not have: it runs where it ran.
func endOf(last map[string]podState, name string) string {
	p, ok := last[name]
	switch {
	case !ok:
		return "as before"
	case p.Outcome == outcomeScheduled:
		return p.Node
	}
	return p.Outcome
}

// measure reads how full the nodes are that run pods, and how unevenly the pods are over zones.
func (r *outcome) measure(s *cluster.Snapshot) {
	var wanted, offered [2]int64
	zones := map[string]int64{}
	for _, at := range s.Order() {
		i, running := int(at), int64(0)
		for range s.Pods(i) {
			running++
		}
		if zone := s.Node(i).Labels[v1.LabelTopologyZone]; zone != "" {
			zones[zone] += running
		}
		if running == 0 {
			continue
		}
		r.Nodes++
		for k, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			column, ok := s.Schema().Column(name)
			if !ok {
				continue
			}
			has, of := s.Requested(i).At(column), s.Allocatable(i).At(column)
			wanted[k], offered[k] = resources.Add(wanted[k], has), resources.Add(offered[k], of)
			if k == 0 {
				r.Fullest = max(r.Fullest, thousandths(has, of))
			}
		}
	}
	r.CPU, r.Memory = thousandths(wanted[0], offered[0]), thousandths(wanted[1], offered[1])
	first := true
	var least, most int64
	for _, n := range zones {
		if first {
			least, first = n, false
		}
		least, most = min(least, n), max(most, n)
	}
	r.Uneven = most - least
}

func thousandths(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return int64(float64(part) / float64(whole) * 1000)
}

func percent(n int64) string { return fmt.Sprintf("%d.%d%%", n/10, n%10) }

func (c *comparison) String() string {
	change := "pods end otherwise"
	if len(c.Differ) == 1 {
		change = "pod ends otherwise"
	}
	return fmt.Sprintf("%d of %d %s; %d wait instead of %d, %s instead of %d", len(c.Differ), c.Pods, change, c.Against.Waiting, c.Config.Waiting, report.Count(c.Against.Victims, "victim"), c.Config.Victims)
}

func (c *comparison) table(b *strings.Builder, l report.Layout) {
	if !l.NoHeaders {
		b.WriteString(l.Text("", c.String()))
	}
	x, y := &c.Config, &c.Against
	row := func(name string, a, b any) []string { return []string{name, fmt.Sprint(a), fmt.Sprint(b)} }
	l.Section(b, "", []string{"", "CONFIG", "AGAINST"}, [][]string{
		row("pods scheduled", x.Scheduled, y.Scheduled), row("pods waiting", x.Waiting, y.Waiting), row("victims", x.Victims, y.Victims),
		row("nodes with pods", x.Nodes, y.Nodes), row("cpu requested of these", percent(x.CPU), percent(y.CPU)),
		row("memory requested of these", percent(x.Memory), percent(y.Memory)), row("cpu of the fullest node", percent(x.Fullest), percent(y.Fullest)),
		row("pods more in the fullest zone", x.Uneven, y.Uneven),
	})
	var rows [][]string
	for _, d := range c.Differ {
		rows = append(rows, []string{d.Pod, d.Config, d.Against})
	}
	l.Section(b, "", []string{"POD", "CONFIG", "AGAINST"}, rows)
}

func (c *comparison) page(out *bytes.Buffer, o options) {
	p := page.New("Two configurations", c.nodes, c.everyPod)
	p.Shows, p.Summary = o.tables.Shows, c.String()
	var b strings.Builder
	c.table(&b, page.Layout())
	p.Text = b.String()
	for _, d := range c.Differ {
		p.Tell(page.Pod{Name: d.Pod, State: "Differs", Message: d.Config + " with the one configuration, " + d.Against + " with the other"})
	}
	out.Write(must.Get(p.Bytes()))
}
