package plugintest

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
)

// ErrNothing means that [Check] got no pod or no node.
var ErrNothing = errors.New("plugintest needs at least one pod and one node")

// Check changes every field of the pods and nodes and returns the first promise of the plugin that does not hold; nil when all hold. The
// package comment lists the promises and says which pods and nodes to give. The names of the nodes must differ. The error is
// [ErrNothing] without pods or nodes, the error of [placement.New] for a plugin that is not valid, and that of [cluster.New] for nodes that
// the cluster refuses. O(fields of the pods and nodes x words x nodes).
func Check(p *placement.Plugin, pods []*v1.Pod, nodes []*v1.Node) error {
	if len(pods) == 0 || len(nodes) == 0 {
		return ErrNothing
	}
	for _, pod := range pods {
		for k := range nodes {
			c, err := newChecker(p, nodes, k)
			if err != nil {
				return err
			}
			for _, x := range []any{pods, nodes} {
				c.collect(reflect.ValueOf(x))
			}
			c.words = append(c.words, "", "x", "0", "1", "7", "100")
			checks := []func(*v1.Pod) error{c.appends, c.node, c.company}
			if k == 0 {
				checks = append(checks, c.pod)
			}
			if err := each(checks, func(check func(*v1.Pod) error) error { return check(pod) }); err != nil {
				return fmt.Errorf("plugin %s: %w", p.Name, err)
			}
		}
	}
	return nil
}

// checker checks one plugin over a cluster that has a node twice.
type checker struct {
	alterer
	plugin  *placement.Plugin
	profile placement.Profile
	cluster *cluster.Snapshot
	kept    *placement.Plan
	node0   int      // slot of the node
	twin    int      // slot of the copy
	copy    *v1.Node // the copy's object
	last    string   // all answers at the latest decision
}

// twinName is the end of the name of the copy.
const twinName = "-copy"

func newChecker(p *placement.Plugin, nodes []*v1.Node, k int) (*checker, error) {
	c := &checker{plugin: p, profile: placement.Profile{Sampling: placement.AllNodes()}, copy: nodes[k].DeepCopy()}
	if p != nil && p.Filter != nil {
		c.profile.Filters = []*placement.Plugin{p}
	}
	if p == nil || p.Score != nil || p.Filter == nil {
		c.profile.Scores = []placement.Weighted{{Plugin: p, Weight: 1}}
	}
	c.copy.Name += twinName
	var o cluster.Objects
	for _, n := range append(nodes[:len(nodes):len(nodes)], c.copy) {
		o.Nodes = append(o.Nodes, n.DeepCopy())
	}
	var err error
	if c.cluster, err = cluster.New(o); err != nil {
		return nil, err
	}
	c.node0, c.twin = c.cluster.Slot(nodes[k].Name), c.cluster.Slot(c.copy.Name)
	c.kept, err = placement.New(c.cluster, c.profile)
	return c, err
}

// bare is a cluster over which a plan keeps nothing.
type bare struct{ s *cluster.Snapshot }

func (b bare) Len() int                     { return b.s.Len() }
func (b bare) Node(i int) *v1.Node          { return b.s.Node(i) }
func (b bare) Pods(i int) iter.Seq[*v1.Pod] { return b.s.Pods(i) }

// decide compares the decision of the plan that keeps work with that of a plan that keeps nothing. It does nothing when the answers are
// those of the decision before.
func (c *checker) decide(pod *v1.Pod, now answers, path string) error {
	if now.all == c.last {
		return nil
	}
	c.last = now.all
	fresh, err := placement.New(placement.Rows(bare{c.cluster}), c.profile)
	if err != nil {
		return err
	}
	pod = pod.DeepCopy() // the plan may keep the pod
	want := text(fresh.Decide(pod, placement.Options{}))
	for range 2 {
		if got := text(c.kept.Decide(pod, placement.Options{})); got != want {
			return fmt.Errorf("kept answers are wrong after the change %s: %s, without kept answers %s", path, got, want)
		}
	}
	return nil
}

func text(d placement.Decision) string {
	if d.Placed() {
		return fmt.Sprintf("node %s with %d of %d feasible", d.Node, d.Total, d.Feasible)
	}
	return d.Failure.Text()
}

// appends asks whether the plugin keeps what stands before its keys: a plan whose keys are overwritten answers anything.
func (c *checker) appends(pod *v1.Pod) error {
	for _, k := range c.keys(pod) {
		if k.err != nil {
			return k.err
		}
	}
	return nil
}

// pod changes every field of a pod. Pods with equal keys must have equal answers.
func (c *checker) pod(base *v1.Pod) error {
	pod := base.DeepCopy()
	keys, before := map[string][]byte{}, c.answers(base)
	for _, k := range c.keys(base) {
		keys[k.name] = k.key
	}
	c.try = func(path string) error {
		after := c.answers(pod)
		for _, now := range c.keys(pod) {
			if now.err != nil {
				return now.err
			}
			if was, known := keys[now.name]; known && bytes.Equal(now.key, was) && before.all != after.all {
				return fmt.Errorf("%s forgets %s: pods with equal keys have other answers", now.name, path)
			}
		}
		if strings.HasPrefix(path, ".Status") { // the plan itself reads some of the status
			return nil
		}
		return c.decide(pod, after, path)
	}
	return each([]part{{&pod.ObjectMeta, ""}, {&pod.Spec, ".Spec"}, {&pod.Status, ".Status"}}, c.part)
}

// part is a part of an object that is changed.
type part struct {
	pointer any
	path    string
}

func (c *checker) part(x part) error {
	return c.alter(reflect.ValueOf(x.pointer).Elem(), x.path, 0)
}

// node changes every field of the copy of a node. A copy that the plugin describes like the node must have the node's answers.
func (c *checker) node(pod *v1.Pod) error {
	base := c.answers(pod)
	node := c.copy
	name := node.Name
	set := func() (now answers, ok bool) {
		if node.Name != name { // that would be another node
			return answers{}, false
		}
		if err := c.cluster.Set(node.DeepCopy()); err != nil { // no cluster has such a node
			return answers{}, false
		}
		return c.answers(pod), true
	}
	describes := func(path string) error {
		now, ok := set()
		if !ok {
			return nil
		}
		if c.plugin.Keep == placement.KeepByNode || c.plugin.Keep == placement.KeepByNodeAndPods {
			if len(c.plugin.ReadsOfOthers) == 0 && !now.weighs {
				for i, was := range base.node {
					if i != c.twin && now.node[i] != was {
						return fmt.Errorf("the answer about node %s changes with %s of node %s, which Group and Reads do not say: from %q to %q", c.cluster.Node(i).Name, path, name, was, now.node[i])
					}
				}
			}
		}
		for k := range now.described {
			d := &now.described[k]
			if d.same(c) && d.answers[c.node0] != d.answers[c.twin] {
				return fmt.Errorf("%s of the %s forgets %s of nodes: %q differs from %q", d.method, d.what, path, d.answers[c.twin], d.answers[c.node0])
			}
		}
		return nil
	}
	decides := func(path string) error {
		if now, ok := set(); ok {
			return c.decide(pod, now, path+" of a node")
		}
		return nil
	}
	for _, c.try = range []func(path string) error{describes, decides} { // a description names the field better
		if err := c.try(".Name"); err != nil {
			return err
		}
		if err := each([]part{{&node.ObjectMeta, ""}, {&node.Spec, ".Spec"}, {&node.Status, ".Status"}}, c.part); err != nil {
			return err
		}
	}
	return c.cluster.Set(node.DeepCopy())
}

// company puts a pod on each node in turn. Only answers of a plugin that says so may change.
func (c *checker) company(pod *v1.Pod) error {
	before := c.answers(pod)
	for i := range c.cluster.Len() {
		other := pod.DeepCopy()
		other.Name, other.UID = "plugintest-other", "plugintest-other"
		other.Spec.NodeName = ""
		if err := c.cluster.Assume(other, i); err != nil {
			return err
		}
		now := c.answers(pod)
		err := c.decide(pod, now, "of the pods of node "+c.cluster.Node(i).Name)
		for j, was := range before.node {
			reads := c.plugin.Keep == placement.KeepByNode || c.plugin.Keep == placement.KeepByNodeAndPods && j != i
			if reads && !now.weighs && now.node[j] != was {
				err = fmt.Errorf("the answer about node %s changes with the pods of node %s, which Group does not say: from %q to %q", c.cluster.Node(j).Name, c.cluster.Node(i).Name, was, now.node[j])
			}
		}
		if err := errors.Join(err, c.cluster.Remove(other)); err != nil {
			return err
		}
	}
	return nil
}
