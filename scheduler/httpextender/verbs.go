package httpextender

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/podberth/podberth/score"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

// Answer is the answer of an extender about nodes.
type Answer struct {
	rules.Filtered
	// Objects are the node objects of the answer: with Options.ReplaceView and an extender that takes objects, v1.37
	// continues with these. They need not be among the nodes of the request.
	Objects []*v1.Node
}

// Filter asks which nodes stay. The names of an answer count with nodeCacheCapable alone. Its objects count when its names do not, whatever
// was sent. An answer without names and objects leaves no node.
func (c *Client) Filter(ctx context.Context, pod *v1.Pod, nodes []*v1.Node) (Answer, error) {
	if !c.Offers(Filter) {
		return Answer{Filtered: rules.Filtered{Nodes: namesOf(nodes)}}, nil
	}
	var result extenderv1.ExtenderFilterResult
	if err := c.send(ctx, Filter, c.args(pod, nodes), &result); err != nil {
		return Answer{}, err
	}
	if result.Error != "" {
		return Answer{}, errors.New(result.Error)
	}
	answer := rules.FilterAnswer{
		FailedNodes: result.FailedNodes, FailedAndUnresolvableNodes: result.FailedAndUnresolvableNodes,
	}
	capable := rules.NotCacheCapable
	if c.config.NodeCacheCapable {
		capable = rules.CacheCapable
	}
	if result.NodeNames != nil {
		answer.NodeNames = append([]string{}, *result.NodeNames...)
	}
	byName := c.config.NodeCacheCapable && result.NodeNames != nil
	var objects []*v1.Node
	if result.Nodes != nil {
		for k := range result.Nodes.Items {
			objects = append(objects, &result.Nodes.Items[k])
			answer.Nodes = append(answer.Nodes, result.Nodes.Items[k].Name)
		}
	}
	asked := namesOf(nodes)
	replaced := c.options.ReplaceView && !byName
	if replaced {
		asked = answer.Nodes // the objects are not checked
	}
	filtered, err := rules.ApplyFilter(c.Name(), capable, asked, answer)
	if err != nil {
		return Answer{}, err
	}
	out := Answer{Filtered: filtered}
	if replaced {
		out.Objects = objects
	}
	return out, nil
}

// Prioritize asks for the scores of nodes. Without the verb there are no scores, and the weight is 0.
func (c *Client) Prioritize(ctx context.Context, pod *v1.Pod, nodes []*v1.Node) (score.Column, error) {
	out := score.Column{Plugin: c.Name()}
	if !c.Offers(Prioritize) {
		return out, nil
	}
	var result extenderv1.HostPriorityList
	if err := c.send(ctx, Prioritize, c.args(pod, nodes), &result); err != nil {
		return out, err
	}
	if c.options.StrictScores {
		if err := c.checkScores(result, nodes); err != nil {
			return out, err
		}
	}
	out.Weight = c.config.Weight
	for _, s := range result {
		out.Hosts, out.Scores = append(out.Hosts, s.Host), append(out.Scores, s.Score)
	}
	return out, nil
}

// checkScores returns the first violation of Options.StrictScores, nil when there is none. O(scores + nodes).
func (c *Client) checkScores(list extenderv1.HostPriorityList, nodes []*v1.Node) error {
	left := make(map[string]bool, len(nodes)) // by host of the request: it has no score yet
	for _, n := range nodes {
		left[n.Name] = true
	}
	for _, s := range list {
		first, asked := left[s.Host]
		switch {
		case !asked:
			return fmt.Errorf("extender %s scores host %q, which it was not asked about", c.Name(), s.Host)
		case !first:
			return fmt.Errorf("extender %s scores host %q twice", c.Name(), s.Host)
		case s.Score < extenderv1.MinExtenderPriority || s.Score > extenderv1.MaxExtenderPriority:
			return fmt.Errorf("extender %s scores host %q with %d, which is not in valid range [%d-%d]",
				c.Name(), s.Host, s.Score, extenderv1.MinExtenderPriority, extenderv1.MaxExtenderPriority)
		}
		left[s.Host] = false
	}
	return nil
}

// Victims are the pods that would leave one node, and how many violations of disruption budgets that makes.
type Victims struct {
	Pods       []*v1.Pod
	Violations int64
}

// MetaVictims is the answer of an extender about one node: the victims by UID.
type MetaVictims struct {
	UIDs       []types.UID
	Violations int64
}

// Preempt shows an extender the victims by node name and returns its answer. Null entries in the answer are nodes without
// victims. [preemption.Extender] applies the answer: it finds the pods, on any node of the cluster, and replaces the
// candidates.
func (c *Client) Preempt(ctx context.Context, pod *v1.Pod, victims map[string]Victims) (map[string]MetaVictims, error) {
	if !c.Offers(Preempt) {
		return nil, errors.New("preempt verb is not defined for extender " + c.Name() + " but run into ProcessPreemption")
	}
	request := &extenderv1.ExtenderPreemptionArgs{Pod: pod}
	if c.config.NodeCacheCapable {
		request.NodeNameToMetaVictims = map[string]*extenderv1.MetaVictims{}
		for node, v := range victims {
			meta := &extenderv1.MetaVictims{NumPDBViolations: v.Violations}
			for _, p := range v.Pods {
				meta.Pods = append(meta.Pods, &extenderv1.MetaPod{UID: string(p.UID)})
			}
			request.NodeNameToMetaVictims[node] = meta
		}
	} else {
		request.NodeNameToVictims = map[string]*extenderv1.Victims{}
		for node, v := range victims {
			request.NodeNameToVictims[node] = &extenderv1.Victims{Pods: v.Pods, NumPDBViolations: v.Violations}
		}
	}
	var result extenderv1.ExtenderPreemptionResult
	if err := c.send(ctx, Preempt, request, &result); err != nil {
		return nil, err
	}
	out := make(map[string]MetaVictims, len(result.NodeNameToMetaVictims))
	for _, node := range slices.Sorted(maps.Keys(result.NodeNameToMetaVictims)) {
		var m MetaVictims
		if v := result.NodeNameToMetaVictims[node]; v != nil {
			m.Violations = v.NumPDBViolations
			for _, p := range v.Pods {
				if p == nil {
					return nil, errors.New("extender " + c.Name() + " names a null victim on node " + node) // v1.37 crashes
				}
				m.UIDs = append(m.UIDs, types.UID(p.UID))
			}
		}
		out[node] = m
	}
	return out, nil
}

// Bind asks the extender to bind a pod to a node.
func (c *Client) Bind(ctx context.Context, pod *v1.Pod, node string) error {
	if !c.Offers(Bind) {
		return errors.New("unexpected empty bindVerb in extender")
	}
	request := &extenderv1.ExtenderBindingArgs{PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: pod.UID, Node: node}
	var result extenderv1.ExtenderBindingResult
	if err := c.send(ctx, Bind, request, &result); err != nil {
		return err
	}
	if result.Error != "" {
		return errors.New(result.Error)
	}
	return nil
}
