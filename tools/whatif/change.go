package whatif

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/planning/workload"
	"github.com/podberth/podberth/taints"
	"github.com/podberth/podberth/taints/edit"
	"github.com/podberth/podberth/tools/drain"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
)

// change is one change as the command line has it.
type change struct{ verb, text string }

func (c change) String() string { return c.verb + " " + c.text }

// Verbs are the changes, as flags name them.
var Verbs = []string{"cordon", "taint", "untaint", "label", "scale", "request", "remove-node", "add-node-like", "evict"}

// verb is a kind of change.
type verb struct {
	usage string
	make  func(w *world, text string) error
}

var verbs = map[string]verb{
	"cordon":        {"cordon this `NODE`", (*world).cordon},
	"taint":         {"taint a node: `NODE=KEY=VALUE:EFFECT`; NoExecute makes pods leave", (*world).taint},
	"untaint":       {"remove taints of a node: `NODE=KEY` or NODE=KEY:EFFECT", (*world).untaint},
	"label":         {"label a node: `NODE=KEY=VALUE`, or NODE=KEY- to remove the label", (*world).label},
	"scale":         {"give a workload so many replicas: `KIND/NAMESPACE/NAME=N`", (*world).scale},
	"request":       {"let the pods of a workload ask for this: `KIND/NAMESPACE/NAME=RESOURCE=AMOUNT`; all its pods are made again", (*world).request},
	"remove-node":   {"remove this `NODE` with its pods", (*world).removeNode},
	"add-node-like": {"add a node like this one, or N of them: `NODE` or NODE=N", (*world).addNodeLike},
	"evict":         {"evict this pod, `NAMESPACE/NAME`, if the Eviction API allows it", (*world).evict},
}

// mostNodes is how many nodes one change adds at most.
const mostNodes = 1000

// mostReplicas is how many replicas a change gives a workload at most.
const mostReplicas = 100_000

// world is the cluster that changes.
type world struct {
	ctx     context.Context
	o       *dump.Objects
	moved   map[string]string // the nodes that pods have left
	made    map[string]bool   // pods that are new
	gone    []gone
	refused []refused
	count   int
	options admission.Options
}

func (w *world) node(name string) (*v1.Node, error) {
	var names []string
	for _, n := range w.o.Nodes {
		if n.Name == name {
			return n, nil
		}
		names = append(names, n.Name)
	}
	err := program.CheckNode("", name, names)
	return nil, errors.New(strings.TrimPrefix(err.Error(), ": "))
}

// of parts a value of a change: what is changed, and how.
func of(text, form string) (on, to string, err error) {
	on, to, found := strings.Cut(text, "=")
	if !found || on == "" || to == "" {
		return "", "", bad("Invalid value", "%q: must be %s", text, form)
	}
	return on, to, nil
}

func (w *world) cordon(name string) error {
	n, err := w.node(name)
	if err == nil {
		n.Spec.Unschedulable = true
	}
	return err
}

func (w *world) taint(text string) error {
	const form = "NODE=KEY=VALUE:EFFECT"
	name, spec, err := of(text, form)
	if err != nil {
		return err
	}
	n, err := w.node(name)
	if err != nil {
		return err
	}
	t, removal, err := edit.ParseOne(spec)
	if err != nil || removal {
		return bad("Invalid value", "%q: must be %s", text, form)
	}
	n.Spec.Taints = edit.AddOrUpdate(n.Spec.Taints, t)
	if t.Effect != v1.TaintEffectNoExecute {
		return nil
	}
	alone := &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{t}}}
	return w.leave(func(p *v1.Pod) bool {
		return p.Spec.NodeName == name && taints.Untolerated(alone, p.Spec.Tolerations, w.options.Tolerations) != nil
	})
}

func (w *world) untaint(text string) error {
	name, spec, err := of(text, "NODE=KEY or NODE=KEY:EFFECT")
	if err != nil {
		return err
	}
	n, err := w.node(name)
	if err != nil {
		return err
	}
	key, effect, _ := strings.Cut(spec, ":")
	key, _, _ = strings.Cut(key, "=")
	kept := slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t v1.Taint) bool {
		return t.Key == key && (effect == "" || string(t.Effect) == effect)
	})
	if len(kept) == len(n.Spec.Taints) {
		return bad("Not found", "%q: node %s has no such taint", spec, name)
	}
	n.Spec.Taints = kept
	return nil
}

func (w *world) label(text string) error {
	const form = "NODE=KEY=VALUE or NODE=KEY-"
	name, spec, err := of(text, form)
	if err != nil {
		return err
	}
	n, err := w.node(name)
	if err != nil {
		return err
	}
	n.Labels = maps.Clone(n.Labels)
	key, value, set := strings.Cut(spec, "=")
	if !set {
		gone, removal := strings.CutSuffix(key, "-")
		if !removal {
			return bad("Invalid value", "%q: must be %s", text, form)
		}
		delete(n.Labels, gone)
		return nil
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[key] = value
	if list := dump.Invalid(n, w.options); len(list) > 0 {
		return fmt.Errorf("node %s: %w", name, list.ToAggregate())
	}
	return nil
}

func (w *world) removeNode(name string) error {
	n, err := w.node(name)
	if err != nil {
		return err
	}
	w.o.Nodes = slices.DeleteFunc(w.o.Nodes, func(x *v1.Node) bool { return x == n })
	return w.leave(func(p *v1.Pod) bool { return p.Spec.NodeName == name })
}

func (w *world) addNodeLike(text string) error {
	name, number, several := strings.Cut(text, "=")
	n, err := w.node(name)
	if err != nil {
		return err
	}
	count := 1
	if several {
		if count, err = strconv.Atoi(number); err != nil || count < 1 || count > mostNodes {
			return bad("Invalid value", "%q: must be a number from 1 to %d", number, mostNodes)
		}
	}
	taken := map[string]bool{}
	for _, x := range w.o.Nodes {
		taken[x.Name] = true
	}
	var daemons []*v1.Pod
	for _, p := range w.o.Pods {
		if c := metav1.GetControllerOf(p); p.Spec.NodeName == name && c != nil && c.Kind == "DaemonSet" && !cluster.Finished(p) {
			daemons = append(daemons, p)
		}
	}
	for k := 1; count > 0; k++ {
		next := fmt.Sprintf("%s-new-%d", name, k)
		if taken[next] {
			continue
		}
		made, ok := diagnose.Like(n, next)
		if !ok {
			return bad("Invalid value", "%q: its provider makes such nodes for pods of its own, and nobody adds one", name)
		}
		w.o.Nodes = append(w.o.Nodes, made)
		for _, p := range daemons {
			c := w.again(p)
			c.Name, c.Spec.NodeName, c.Status = p.Name+"-"+next, next, p.Status
			w.o.Pods = append(w.o.Pods, c)
		}
		count--
	}
	return nil
}

// evict asks the Eviction API, and lets the pod leave when it says yes.
func (w *world) evict(name string) error {
	p, err := w.pod(name)
	if err != nil {
		return err
	}
	var out, errs bytes.Buffer
	if code := drain.Run(w.ctx, []string{"-f=-", "-o=json", "-evict=" + name}, dump.Hold(w.o), &out, &errs); code != program.OK {
		return fmt.Errorf("%s", strings.TrimSpace(errs.String()))
	}
	var answer struct {
		Allowed  bool
		Message  string
		Cause    string
		Remedies []string
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return err
	}
	if !answer.Allowed {
		w.refused = append(w.refused, refused{Pod: name, Message: answer.Message, Cause: answer.Cause, Remedies: append([]string{}, answer.Remedies...)})
		return nil
	}
	return w.leave(func(x *v1.Pod) bool { return x == p })
}

func (w *world) pod(name string) (*v1.Pod, error) {
	for _, p := range w.o.Pods {
		if p.Namespace+"/"+p.Name == name {
			return p, nil
		}
	}
	return nil, bad("Not found", "%q: no pod of that namespace and name", name)
}

// leave lets pods leave. Those that a controller makes again wait for a node; the pods of DaemonSets belong to the node and go with it.
func (w *world) leave(leaves func(p *v1.Pod) bool) error {
	var next []*v1.Pod
	kept := make([]*v1.Pod, 0, len(w.o.Pods))
	for _, p := range w.o.Pods {
		if !leaves(p) {
			kept = append(kept, p)
			continue
		}
		w.release(p)
		c := metav1.GetControllerOf(p)
		switch {
		case cluster.Finished(p):
		case c == nil:
			w.gone = append(w.gone, gone{Pod: name(p), Node: p.Spec.NodeName, Why: "no controller makes it again"})
		case c.Kind == "DaemonSet" || c.Kind == "Node":
			w.gone = append(w.gone, gone{Pod: name(p), Node: p.Spec.NodeName, Why: "it belongs to the node"})
		default:
			next = append(next, w.replacement(p))
		}
	}
	w.o.Pods = append(kept, next...)
	_, err := w.o.ExpandOf(workload.Objects{})
	return err
}

// replacement is the pod that a controller makes in place of another one. It keeps the name here, so that a reader finds the pod again.
func (w *world) replacement(p *v1.Pod) *v1.Pod {
	c := w.again(p)
	if p.Spec.NodeName != "" {
		w.moved[name(c)] = p.Spec.NodeName
	}
	return c
}

// again returns a pod like another one, as it comes.
func (w *world) again(p *v1.Pod) *v1.Pod {
	w.count++
	c := p.DeepCopy()
	c.UID = types.UID(fmt.Sprintf("what-if-%d", w.count))
	c.Spec.NodeName, c.DeletionTimestamp, c.DeletionGracePeriodSeconds = "", nil, nil
	c.Status = v1.PodStatus{Phase: v1.PodPending}
	return c
}

// release does what the controllers of claims do when a pod is gone.
func (w *world) release(p *v1.Pod) {
	kept := w.o.ResourceClaims[:0:0]
	for _, c := range w.o.ResourceClaims {
		mine := metav1.IsControlledBy(c, p)
		for _, r := range c.Status.ReservedFor {
			mine = mine || r.UID == p.UID
		}
		if mine {
			if c = devices.Abandoned(c, p); c == nil {
				continue
			}
		}
		kept = append(kept, c)
	}
	w.o.ResourceClaims = kept
}

func name(p *v1.Pod) string { return p.Namespace + "/" + p.Name }

// bad returns an error in the form of the API server's: what kind of mistake, then what is wrong.
func bad(kind, format string, args ...any) error {
	return errors.New(kind + ": " + fmt.Sprintf(format, args...))
}
