package pressure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/report"
)

// input is one observation of a node after reading and checking.
type input struct {
	node        string
	from        string // what messages call the summary
	at          time.Time
	setup       setup
	observation pressure.Observation
	before      pressure.State
	allocatable v1.ResourceList // nil: the node is not in the input
	rank        pressure.Signal

	after    pressure.State // set by observe
	warnings report.Warnings
}

// memory is the file of -state.
type memory struct {
	Node  string         `json:"node"`
	At    time.Time      `json:"at"`
	State pressure.State `json:"state"`
}

// load reads everything that is asked for. Of a file that another flag wants the error names that flag.
func load(o options, stdin io.Reader) (*input, error) {
	in, err := read(o, stdin)
	if err != nil {
		if other := misplaced(o); other != nil {
			return nil, other
		}
	}
	return in, err
}

func read(o options, stdin io.Reader) (*input, error) {
	objects, err := dump.Read(o.Files, stdin, o.Input)
	if err != nil {
		return nil, err
	}
	objects.Absent(dump.Asks{})
	in := &input{rank: o.rank, warnings: objects.Warnings, before: pressure.State{Layout: o.layout}}
	summary, err := in.measured(o, stdin, objects)
	if err != nil {
		return nil, err
	}
	node := in.find(objects)
	if in.setup, err = loadKubelet(o.kubelet, stdin, kubeletOf(objects, in.node), system(node), o.Input); err != nil {
		return nil, err
	}
	for _, text := range in.setup.warnings {
		in.warnings.Add(text)
	}
	if node != nil {
		if in.allocatable, err = overhead.Allocatable(node.Status.Capacity, in.setup.reserved); err != nil {
			return nil, err
		}
	}
	var others []string
	if in.observation.Stats, others = podStats(summary.Pods, in.observation.Pods); len(others) > 0 {
		in.warnings.Add(fmt.Sprintf("%s: %d pod(s) of the summary are not on %s in the input and take no part, the first is %s", in.from, len(others), in.node, others[0]))
	}
	in.observation.Signals = pressure.Measure(nodeStats(&summary.Node))
	if err := in.time(o); err != nil {
		return nil, err
	}
	in.fileSystems(o)
	if texts := in.warnings.Texts(); o.Input.Strict && len(texts) > 0 {
		return nil, errors.New(texts[0])
	}
	return in, nil
}

// find picks the node's pods and returns the node, nil without one. A pod without a UID gets its name for one.
func (in *input) find(objects *dump.Objects) *v1.Node {
	for _, p := range objects.Pods {
		if p.Spec.NodeName != in.node {
			continue
		}
		if p.UID == "" {
			p.UID = types.UID(p.Namespace + "/" + p.Name)
		}
		in.observation.Pods = append(in.observation.Pods, p)
	}
	if len(in.observation.Pods) == 0 {
		in.warnings.Add(fmt.Sprintf("none of the %d pod(s) of the input has spec.nodeName %q", len(objects.Pods), in.node))
	}
	if at := slices.IndexFunc(objects.Nodes, func(n *v1.Node) bool { return n.Name == in.node }); at >= 0 {
		return objects.Nodes[at]
	}
	if len(objects.Nodes) > 0 { // else Absent says so
		in.warnings.Add(fmt.Sprintf("Node %s is not in the input: allocatable is not known", in.node))
	}
	return nil
}

// system returns the operating system of the node, Linux if it is unknown.
func system(n *v1.Node) string {
	if n != nil && (n.Status.NodeInfo.OperatingSystem == string(v1.Windows) || n.Labels[v1.LabelOSStable] == string(v1.Windows)) {
		return "windows"
	}
	return "linux"
}

// time settles when the observation is made, and what was remembered before.
func (in *input) time(o options) error {
	if in.at = o.at; in.at.IsZero() {
		in.at = newest(in.observation.Signals)
	}
	if in.at.IsZero() {
		in.at = time.Now()
	}
	in.at = in.at.UTC()
	if o.state == "" {
		return nil
	}
	var m memory
	unknown, err := dump.ReadFile(o.state, nil, &m, o.Input)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(unknown) > 0:
		return errors.New(unknown[0])
	case m.Node != in.node:
		return fmt.Errorf("%s: node: Invalid value: %q: must be %q, the node of %s", o.state, m.Node, in.node, in.from)
	case in.at.Before(m.At):
		return fmt.Errorf("-at: Invalid value: %q: must not be before %s, the time of %s", in.at.Format(time.RFC3339), m.At.Format(time.RFC3339), o.state)
	case o.layout != "" && o.layout != m.State.Layout:
		return fmt.Errorf("-layout: Invalid value: %q: must be %q, that of %s", o.layout, m.State.Layout, o.state)
	case !slices.Contains(layouts, string(m.State.Layout)):
		return fmt.Errorf("%s: state.layout: Unsupported value: %q: supported values: %q", o.state, m.State.Layout, layouts)
	}
	in.before = m.State
	return nil
}

// fileSystems settles the layout. A kubelet that has just started looks at nothing that follows from it; here it has been
// running.
func (in *input) fileSystems(o options) {
	if in.before.Layout == "" {
		in.before.Layout = "single"
		root, images := in.observation.Signals["nodefs.available"], in.observation.Signals["imagefs.available"]
		if root.Capacity != images.Capacity && root.Capacity > 0 && images.Capacity > 0 {
			in.warnings.Add(fmt.Sprintf("%s: node.fs and node.runtime.imageFs differ in size, but -layout is single: is it imagefs or split?", in.from))
		}
	}
	in.observation.Layout = in.before.Layout
}

// keep writes the file of -state, whole or not at all.
func (in *input) keep(path string) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(memory{in.node, in.at, in.after}, "", "  ")
	if err != nil {
		return err
	}
	return report.WriteText(path, 0o644, string(data)+"\n")
}
