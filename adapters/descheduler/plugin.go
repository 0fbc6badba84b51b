package descheduler

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"
)

// Plugin is the plugin. Register makes the descheduler build it.
type Plugin struct {
	args   Args
	follow *follower
	log    klog.Logger
	now    func() time.Time
}

var _ frameworktypes.EvictorPlugin = &Plugin{}

// builder returns a function that builds plugins. Plugins of one informer factory share what they know of the cluster: a descheduler may build
// its plugins again for every cycle. Only the last factory is remembered.
func builder() pluginregistry.PluginBuilder {
	var mu sync.Mutex
	var last *follower
	return func(ctx context.Context, args runtime.Object, handle frameworktypes.Handle) (frameworktypes.Plugin, error) {
		if err := Validate(args); err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		if factory := handle.SharedInformerFactory(); last == nil || last.factory != factory {
			f, err := follow(ctx, factory, handle.ClientSet().Discovery())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", PluginName, err)
			}
			last = f
		}
		return &Plugin{args: *args.(*Args), follow: last, log: klog.FromContext(ctx).WithValues("plugin", PluginName), now: time.Now}, nil
	}
}

// Name returns PluginName.
func (p *Plugin) Name() string { return PluginName }

// Filter returns true: where a pod fits is asked right before its eviction.
func (p *Plugin) Filter(*v1.Pod) bool { return true }

// PreEvictionFilter reports whether the pod may be evicted, by the mode of the arguments. After a yes the pod counts as let go.
func (p *Plugin) PreEvictionFilter(pod *v1.Pod) bool { return p.FitsAmong(pod, nil) }

// FitsAmong is PreEvictionFilter with an answer that is limited to nodes: the whole cluster is known, and the pod has to go to one of them. nil
// allows all nodes. A strategy that evicts pods in favour of some nodes asks with these. Unknown nodes are never the answer.
func (p *Plugin) FitsAmong(pod *v1.Pod, nodes []*v1.Node) bool {
	q := p.question()
	if nodes != nil {
		q.among = map[string]bool{}
		for _, n := range nodes {
			q.among[n.Name] = true
		}
	}
	return p.allows(pod, q)
}

// question is the question of the arguments, about all nodes.
func (p *Plugin) question() question {
	return question{mode: p.args.Mode, leaving: p.args.WhileLeaving, now: p.now()}
}

// allows reports whether the pod may go, and logs why not.
func (p *Plugin) allows(pod *v1.Pod, q question) bool {
	why, err := p.follow.letGo(pod, q)
	switch {
	case err != nil:
		p.log.Error(err, "It is not known where the pod would go", "pod", klog.KObj(pod))
	case why != "":
		p.log.V(2).Info("The pod stays", "pod", klog.KObj(pod), "why", why)
	}
	return err == nil && why == ""
}
